"""A Scrapy crawl whose pages are chosen by Turnstone: scheduler and spider middleware in one.

The frontier (`turnstone serve DIR --frontier ADDR`) keeps what is known, decides what is asked next and how long a
host rests. Scrapy fetches and reads pages. Several Scrapy processes may share one frontier; one that is killed loses
nothing, for what it was lent comes back when its loan ends.

    SCHEDULER = "turnstone_frontier.Scheduler"
    SPIDER_MIDDLEWARES = {"turnstone_frontier.Links": 1000}
    TURNSTONE_FRONTIER = "127.0.0.1:7071"

The requests that a spider yields become links of its page: the frontier is told page and links in one message
(`PutPages`), so its policy sees the links, and the requests are not made until it lends them. Needs grpcio and
grpcio-tools, and the .proto files of Turnstone (TURNSTONE_PROTO, their folder).
"""

import hashlib
import logging
import os
import sys
import time

import grpc
from scrapy import Request
from scrapy.core.scheduler import BaseScheduler

logger = logging.getLogger(__name__)

HERE = os.path.dirname(os.path.abspath(__file__))
PROTO = os.path.join(HERE, "..", "..", "crates", "urlfrontier", "proto")


class Frontier:
    """What the frontier is asked and told. One for each crawler process."""

    def __init__(self, settings):
        folder = settings.get("TURNSTONE_PROTO", PROTO)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        self.api, calls = grpc.protos_and_services("urlfrontier.proto")
        self.more, pages = grpc.protos_and_services("turnstone.proto")
        channel = grpc.insecure_channel(settings.get("TURNSTONE_FRONTIER", "127.0.0.1:7071"))
        self.calls = calls.URLFrontierStub(channel)
        self.pages = pages.PagesStub(channel)
        self.crawl = settings.get("TURNSTONE_CRAWL", "DEFAULT")
        self.queues = settings.getint("TURNSTONE_QUEUES", 16)
        self.per_queue = settings.getint("TURNSTONE_PER_QUEUE", 8)
        self.loan = settings.getint("TURNSTONE_LOAN", 300)

    def discover(self, url):
        info = self.api.URLInfo(url=url, crawlID=self.crawl)
        item = self.api.URLItem(discovered=self.api.DiscoveredURLItem(info=info))
        [ack] = list(self.calls.PutURLs(iter([item])))
        return ack.status == self.api.AckMessage.OK

    def lend(self):
        params = self.api.GetParams(
            crawlID=self.crawl,
            max_queues=self.queues,
            max_urls_per_queue=self.per_queue,
            delay_requestable=self.loan,
        )
        return list(self.calls.GetURLs(params))

    def tell(self, info, status, links=(), digest=b"", size=0, again=0):
        page = self.more.Page(
            info=info,
            status=status,
            links=links,
            digest=digest,
            body_bytes=size,
            refetchable_from_date=again,
        )
        batch = self.more.PageBatch(ID=info.url, pages=[page])
        [ack] = list(self.pages.PutPages(iter([batch])))
        if list(ack.statuses) != [self.api.AckMessage.OK]:
            logger.warning("the frontier did not keep what came of %s", info.url)

    def pending(self):
        params = self.api.QueueWithinCrawlParams(crawlID=self.crawl)
        return self.calls.GetStats(params).size


class Scheduler(BaseScheduler):
    """Asks the frontier for pages when Scrapy has room for them."""

    #: How long to wait after an empty answer, and between looks at what is left, in seconds.
    PAUSE = 0.2

    def __init__(self, crawler):
        self.frontier = Frontier(crawler.settings)
        self.retry = crawler.settings.getint("TURNSTONE_RETRY", 600)
        self.lent = []
        self.local = []
        self.asked = self.looked = 0.0
        self.left = 1
        crawler.turnstone_frontier = self.frontier

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def enqueue_request(self, request):
        # Retries and redirects are Scrapy's own; everything else goes to the frontier.
        if "turnstone" in request.meta:
            self.local.append(request)
            return True
        self.left = 1
        return self.frontier.discover(request.url)

    def next_request(self):
        if self.local:
            return self.local.pop()
        now = time.monotonic()
        if not self.lent and now - self.asked >= self.PAUSE:
            self.asked = now
            self.lent = self.frontier.lend()
        if not self.lent:
            return None
        info = self.lent.pop(0)
        return Request(
            info.url, dont_filter=True, errback=self.failed, meta={"turnstone": info}
        )

    def failed(self, failure):
        info = failure.request.meta["turnstone"]
        self.frontier.tell(info, 0, again=int(time.time()) + self.retry)

    def has_pending_requests(self):
        if self.lent or self.local:
            return True
        now = time.monotonic()
        if now - self.looked >= self.PAUSE:
            self.looked = now
            self.left = self.frontier.pending()
        return self.left > 0


class Links:
    """Tells the frontier what came of a page, and what it links to."""

    def __init__(self, crawler):
        self.crawler = crawler
        # For a page that is to be asked for again: after so many seconds; 0 for never.
        self.again = crawler.settings.getint("TURNSTONE_AGAIN", 0)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_spider_output_async(self, response, result, spider=None):
        links = []
        async for item in result:
            if isinstance(item, Request) and "turnstone" not in item.meta:
                links.append(item.url)
            else:
                yield item
        self.tell(response, links)

    def process_spider_output(self, response, result, spider=None):
        links = []
        for item in result:
            if isinstance(item, Request) and "turnstone" not in item.meta:
                links.append(item.url)
            else:
                yield item
        self.tell(response, links)

    def process_spider_exception(self, response, exception, spider=None):
        self.tell(response, [])

    def tell(self, response, links):
        info = response.meta.get("turnstone")
        if info is None:
            return
        again = int(time.time()) + self.again if self.again else 0
        digest = hashlib.sha1(response.body).digest()
        self.crawler.turnstone_frontier.tell(
            info, response.status, links, digest, len(response.body), again
        )
