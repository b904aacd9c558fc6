"""The crawl of bench/crawl.py as a Scrapy spider: fetches the URLs of a file and reads their links.

    scrapy_crawl.py URLS
"""
import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class Pages(scrapy.Spider):
    name = "pages"
    extractor = LinkExtractor()
    custom_settings = {
        "LOG_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
        "DOWNLOAD_DELAY": 0,
        "TELNETCONSOLE_ENABLED": False,
        "COOKIES_ENABLED": False,
    }

    async def start(self):
        with open(sys.argv[1]) as urls:
            for url in urls:
                yield scrapy.Request(url.strip(), callback=self.read)

    def read(self, response):
        yield {"title": response.css("title::text").get(), "links": len(self.extractor.extract_links(response))}


process = CrawlerProcess()
process.crawl(Pages)
process.start()
