"""A scripted week: visits to pages about all topics, with trackers of many companies, and what must be known of them.

All visits are real: Chromium opens pages of local sites, their pictures are asked of the hosts of trackers (which are
this machine, too), and the worker notes what it sees. Only the days are simulated, because the clock of a worker cannot
be moved: when the visits of a day are done, the test dates their notes back in IndexedDB, from a page of the extension.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from eitr.taxonomy import TOPICS

from .browser import Extension, until
from .pages import FOOTBALL, RELIGION
from .site import Site

NUMBERS = {topic.name: number for number, topic in enumerate(TOPICS)}
HEALTH = """<!doctype html><title>Living with diabetes</title><p>Insulin, blood sugar and your kidneys. The doctor in
the hospital has insulin for diabetes, and patients with a disease get treatment and medicine.</p>"""
POLITICS = """<!doctype html><title>The election campaign</title><p>The party and its candidates campaigned before the
election. Voters chose a new parliament; the president, the senator and the ministers of the government argued about
democracy, votes, policy and the opposition party.</p>"""
SEXUAL_ORIENTATION = """<!doctype html><title>Coming out as gay</title><p>The gay and lesbian community met for the
pride parade. Bisexual and transgender people spoke about coming out, same-sex marriage and sexuality.</p>"""
ETHNICITY = """<!doctype html><title>Racism and ethnic minorities</title><p>African American and Hispanic families spoke
about racism, slavery, ethnic minorities, immigrants, indigenous tribes, race, segregation and discrimination.</p>"""
HOSTS = {
    "Google": ("www.google-analytics.com", "stats.g.doubleclick.net"),
    "Facebook": ("connect.facebook.net",),
    "Criteo": ("static.criteo.net",),
    "Amazon Ads": ("c.amazon-adsystem.com",),
    "AppNexus": ("ib.adnxs.com",),
    "Twitter": ("platform.twitter.com",),
    "Taboola": ("cdn.taboola.com",),
    "The Trade Desk": ("js.adsrvr.org",),
    "Hotjar": ("static.hotjar.com",),
    "Outbrain": ("widgets.outbrain.com",),
    "YouTube": ("www.youtube.com",),
    "Pubmatic": ("ads.pubmatic.com",),
    "Rubicon Project": ("fastlane.rubiconproject.com",),
    "comScore": ("sb.comscore.com",),
    "Quantcast": ("secure.quantserve.com",),
    "Adobe": ("dpm.demdex.net",),
    "Pinterest": ("s.pinimg.com",),
    "Chartbeat": ("static.chartbeat.com",),
    "Yandex": ("mc.yandex.ru",),
    "LinkedIn": ("platform.linkedin.com",),
    "Mixpanel": ("cdn.mxpnl.com",),
    "Hubspot": ("js.hs-scripts.com",),
    "Vimeo": ("player.vimeo.com",),
    "Segment": ("cdn.segment.com",),
    "Intercom": ("widget.intercom.io",),
    "ZenDesk": ("static.zdassets.com",),
}
"""Companies and hosts of theirs; those that are on most pages of the web come first."""
SITES = {
    "clinic.test": ("health", HEALTH, 9),
    "diabetes-advice.test": ("health", HEALTH, 14),
    "medicine-daily.test": ("health", HEALTH, 20),
    "pharmacy-around-the-corner.test": ("health", HEALTH, 6),
    "election-news.test": ("politics", POLITICS, 18),
    "parliament-watch.test": ("politics", POLITICS, 4),
    "the-opinion.test": ("politics", POLITICS, 24),
    "parish.test": ("religion", RELIGION, 3),
    "bible-online.test": ("religion", RELIGION, 11),
    "pride-magazine.test": ("sexual-orientation", SEXUAL_ORIENTATION, 15),
    "coming-out.test": ("sexual-orientation", SEXUAL_ORIENTATION, 5),
    "heritage.test": ("ethnicity", ETHNICITY, 8),
    "match.test": ("non-sensitive", FOOTBALL, 22),
}
"""Sites with the topic of their pages, a page, and the number of companies that may be there."""
LIKELIEST = 0.9
"""How likely the first company is on a page."""
ONE_WITHOUT_TRACKERS = 10
"""One visit in so many is to a page without trackers."""

NOTES = """(site) => new Promise((done, failed) => {
  const opening = indexedDB.open("eitr");
  opening.onerror = () => failed(opening.error);
  opening.onsuccess = () => {
    const reading = opening.result.transaction("visits").objectStore("visits").getAll();
    reading.onsuccess = () => {
      opening.result.close();
      done(reading.result.filter((note) => site === null || note.site === site));
    };
  };
})"""
DATE_BACK = """([from, to]) => new Promise((done, failed) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("visits", "readwrite");
    const store = change.objectStore("visits");
    store.openCursor(IDBKeyRange.lowerBound([from])).onsuccess = ({ target: { result: cursor } }) => {
      if (cursor === null) return;
      const [, ...name] = cursor.primaryKey;
      store.delete(cursor.primaryKey);
      store.put({ ...cursor.value, day: to }, [to, ...name]);
      // Those that were moved are before `from`, and are not met again.
      cursor.continue();
    };
    change.oncomplete = () => { opening.result.close(); done(null) };
    change.onabort = () => failed(change.error);
  };
})"""

STORE = """(notes) => new Promise((done, failed) => {
  const opening = indexedDB.open("eitr");
  opening.onsuccess = () => {
    const change = opening.result.transaction("visits", "readwrite");
    for (const [number, note] of notes.entries())
      change.objectStore("visits").put(note, [note.day, note.site, `stored ${number}`]);
    change.oncomplete = () => { opening.result.close(); done(null) };
    change.onabort = () => failed(change.error);
  };
})"""


@dataclass(frozen=True)
class Visit:
    """One page that is to be opened, and who is there."""

    day: str
    site: str
    topic: int
    html: str
    companies: tuple[str, ...]

    @property
    def noted(self) -> bool:
        """Whether the history must know of it."""
        return self.topic != NUMBERS["non-sensitive"] and self.companies != ()


def script(count: int, days: int, today: date, seed: int = 7) -> list[Visit]:
    """Write the script: so many visits, on so many days up to today, the same ones for the same seed."""
    chance, names = random.Random(seed), list(HOSTS)
    found = []
    for number in range(count):
        day = today - timedelta(days=days - 1 - number * days // count)
        host = chance.choices(list(SITES), weights=range(len(SITES), 0, -1))[0]
        topic, html, most = SITES[host]
        # The first of the list are likely, the last are rare.
        there = [name for place, name in enumerate(names[:most]) if chance.random() < LIKELIEST / (1 + place / 4)]
        if number % ONE_WITHOUT_TRACKERS == ONE_WITHOUT_TRACKERS - 1:
            there = []
        found.append(Visit(day.isoformat(), host, NUMBERS[topic], html, tuple(there)))
    return found


def live(extension: Extension, site: Site, visits: list[Visit], today: date) -> Iterator[Visit]:
    """Make the visits, one after the other in one tab; yield each when it is noted, or read where it is not to be."""
    page = extension.context.new_page()
    pairs = count_pairs(extension)
    for number, visit in enumerate(visits):
        dots = "".join(
            f'<img src="{site.address(host, "/dot.gif")}" alt="">' for name in visit.companies for host in HOSTS[name]
        )
        page.goto(site.put(visit.site, f"/{number}", f"{visit.html}{dots}"))
        extension.wait_until_read(page)
        if visit.noted:
            pairs += len(visit.companies)
            until(lambda wanted=pairs: count_pairs(extension) == wanted, what=f"{pairs} companies in all notes")  # type: ignore[misc]
        yield visit
        if number + 1 == len(visits) or visits[number + 1].day != visit.day:
            page.goto("about:blank")
            extension.worker_has_finished()
            extension.desk.evaluate(DATE_BACK, [today.isoformat(), visit.day])
    page.close()


def notes(extension: Extension, site: str | None = None) -> list[dict[str, Any]]:
    """Return all notes, or those of a site, as they are on the disk."""
    return extension.desk.evaluate(NOTES, site)


def store(extension: Extension, days: list[str], site: str = "old.test", companies: int = 1) -> None:
    """Put notes of past days where the extension keeps them, of the first companies and all topics in turn."""
    there = [{"company": name, "category": "ad"} for name in list(HOSTS)[:companies]]
    rows = [{"day": day, "site": site, "topic": n % 5, "companies": there} for n, day in enumerate(days)]
    extension.desk.evaluate(STORE, rows)


def days_ago(days: int) -> str:
    return (date.today() - timedelta(days=days)).isoformat()


def names(note: dict[str, Any]) -> set[str]:
    return {one["company"] for one in note["companies"]}


def count_pairs(extension: Extension, site: str | None = None) -> int:
    """Count the companies of all notes, or of those of a site."""
    return sum(len(names(note)) for note in notes(extension, site))


def cells(visits: list[Visit]) -> Counter[tuple[str, int]]:
    """Count the pages on which a company was present, by company and topic."""
    return Counter((name, visit.topic) for visit in visits if visit.noted for name in visit.companies)


def by_day(visits: list[Visit]) -> Counter[tuple[str, int]]:
    """Count pages by day and topic."""
    return Counter((visit.day, visit.topic) for visit in visits if visit.noted)


def by_site(visits: list[Visit]) -> Counter[str]:
    return Counter(visit.site for visit in visits if visit.noted)
