"""The crawl of bench/crawl.py as Scrapy spiders: one reads the links of given pages, one crawls.

    scrapy_crawl.py list URLS          fetches the URLs of a file and reads their links
    scrapy_crawl.py crawl SEED PAGES   follows links from SEED as robots.txt allows, in a job folder
                                       that survives a stop, until it has so many pages

Prints how many pages came.
"""
import sys
import tempfile

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

SETTINGS = {
    "LOG_ENABLED": False,
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "TELNETCONSOLE_ENABLED": False,
    "COOKIES_ENABLED": False,
}


class Listed(scrapy.Spider):
    name = "listed"
    extractor = LinkExtractor()
    custom_settings = SETTINGS | {"ROBOTSTXT_OBEY": False}

    async def start(self):
        with open(sys.argv[2]) as urls:
            for url in urls:
                yield scrapy.Request(url.strip(), callback=self.read)

    def read(self, response):
        yield {"title": response.css("title::text").get(), "links": len(self.extractor.extract_links(response))}


class Crawled(CrawlSpider):
    name = "crawled"
    rules = [Rule(LinkExtractor(), callback="read", follow=True)]
    custom_settings = SETTINGS | {"ROBOTSTXT_OBEY": True}

    def read(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}


def run(spider, **arguments):
    process = CrawlerProcess()
    crawler = process.create_crawler(spider)
    process.crawl(crawler, **arguments)
    process.start()
    stats = crawler.stats.get_stats()
    print(stats.get("response_received_count", 0) - stats.get("robotstxt/response_count", 0))


if sys.argv[1] == "list":
    run(Listed)
else:
    with tempfile.TemporaryDirectory() as job:
        Crawled.custom_settings |= {"JOBDIR": job, "CLOSESPIDER_PAGECOUNT": int(sys.argv[3])}
        run(Crawled, start_urls=[sys.argv[2]])
