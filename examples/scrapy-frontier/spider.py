"""Follows every link of one site or several, a page's order being the frontier's.

    scrapy runspider spider.py -a start=http://127.0.0.1:8000/ -s TURNSTONE_FRONTIER=127.0.0.1:7071
"""

import os
import sys

import scrapy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # where turnstone_frontier is


class SiteSpider(scrapy.Spider):
    name = "site"
    custom_settings = {
        "SCHEDULER": "turnstone_frontier.Scheduler",
        "SPIDER_MIDDLEWARES": {"turnstone_frontier.Links": 1000},
        "ROBOTSTXT_OBEY": False,
        "HTTPERROR_ALLOW_ALL": True,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
    }

    async def start(self):
        for url in self.start_url.split(","):
            yield scrapy.Request(url, dont_filter=True)

    def __init__(self, start, **options):
        super().__init__(**options)
        self.start_url = start

    def parse(self, response):
        if response.status == 200:
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link)
