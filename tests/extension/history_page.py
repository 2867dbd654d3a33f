"""What the page "Who could know what" shows, read from the page and compared with a script of visits."""

from collections import Counter
from datetime import date, timedelta

from playwright.sync_api import Page

from .browser import Extension
from .week import Visit, by_day, by_site, cells

SENSITIVE = 5
MATRIX = """() => [...document.querySelectorAll("#matrix tbody tr")].map((row) => [
  row.querySelector("th").firstChild.textContent,
  [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent)),
])"""
PERIODS = """() => [...document.querySelectorAll("#periods tbody tr")].map((row) =>
  [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent)))"""
BARS = """() => [...document.querySelectorAll(".bars")].map((row) =>
  [...row.children].map((place) => Number(place.title.match(/: (\\d*)/)[1])))"""
SITES = """() => [...document.querySelectorAll("#sites li, #more-sites li")].map((line) =>
  [line.querySelector("strong").textContent, Number(line.querySelector(".faint").textContent.match(/\\d+/)[0])])"""


def switch_on(extension: Extension) -> None:
    """Switch the history on; nothing is to stop or change the visits of a test."""
    extension.asking("options")({"kind": "change", "settings": {"history": True, "warnings": False, "blocking": False}})


def check_picture(page: Page, visits: list[Visit]) -> None:
    """Compare every number of the page with the script: totals, matrix, order, days and sites."""
    wanted, shown = cells(visits), page.evaluate(MATRIX)
    pages = sum(visit.noted for visit in visits)
    assert [len(row) for _, row in shown] == [SENSITIVE] * len(shown)
    found = {(name, topic): number for name, row in shown for topic, number in enumerate(row) if number > 0}
    assert found == dict(wanted)
    totals = [sum(row) for _, row in shown]
    assert totals == sorted(totals, reverse=True)
    texts = {name: page.text_content(f"#total-{name}") for name in ("pages", "companies", "sites")}
    assert texts == {"pages": str(pages), "companies": str(len(shown)), "sites": str(len(by_site(visits)))}
    assert Counter(dict(page.evaluate(SITES))) == by_site(visits)
    check_days(page, visits)


def check_days(page: Page, visits: list[Visit]) -> None:
    """Compare bars and table of the last 14 days, which is what the page shows of shorter times."""
    days = by_day(visits)
    topics = sorted({topic for _, topic in days})
    last = date.fromisoformat(visits[-1].day)
    fortnight = [(last - timedelta(days=ago)).isoformat() for ago in range(13, -1, -1)]
    assert page.evaluate(BARS) == [[days[day, topic] for day in fortnight] for topic in topics]
    busy = [day for day in fortnight if any(days[day, topic] for topic in topics)]
    assert page.evaluate(PERIODS) == [[days[day, topic] for topic in topics] for day in busy]
