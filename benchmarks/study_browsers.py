"""People of a study who sit before Chromium with the extension: they join, label and take part by clicks."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from playwright.sync_api import Page, sync_playwright

from benchmarks.study_server import COPY, SLUG, StudyServer
from eitr.errors import InputError
from eitr.lab.simulation.study import Person
from tests.extension.browser import Extension, chromium_with_extension, unfold, until

SENT = "learning_sent"


class Window:
    """One person's browser."""

    def __init__(self, extension: Extension, person: Person) -> None:
        self._extension, self._person = extension, person

    def join(self, server: StudyServer, code: str) -> None:
        """Paste the link of the study and agree: to studies, and to contribute."""
        page = self._extension.open("welcome")
        unfold(page, "#invited")
        page.fill("#link", f"{server.address}/join#invitation={code}&study={SLUG}")
        page.press("#link", "Tab")
        until(lambda: page.input_value("#invitation") == code, what="the code")
        for choice in ("#classifying", "#contributing", "#studies"):
            page.check(choice)
        page.click("#save")
        until(self._study, what="the study")
        page.close()
        # Or it would refuse servers that train as the paper does.
        self._extension.asking("options")({"kind": "change", "settings": {"allLayers": True}})
        # The benchmark says when to take part.
        self._extension.desk.evaluate("chrome.alarms.create('learn', { delayInMinutes: 100000 })")

    def label_all(self, first_page: int) -> None:
        """Open every task by the popup, and choose what the person says about the page."""
        first = self._extension.open("popup", "?tab=-1")
        with self._extension.context.expect_page() as opened:
            first.click("#task-open")
        page = opened.value
        page.wait_for_url(COPY)
        first.close()
        popup = self._extension.popup(page)
        tasks = len(self._person.pages)
        for place, (wanted, label) in enumerate(zip(self._person.pages, self._person.labels.tolist(), strict=True)):
            self._extension.wait_until_read(page)
            shown = COPY.search(page.url)
            if shown is None or int(shown[1]) - first_page != wanted:
                raise InputError(f"task {place + 1} shows {page.url}, not page {wanted}")
            self._choose(popup, label)
            if place + 1 < tasks:
                popup.click("#task-next")
                following = f"**/copies/{self._person.pages[place + 1] + first_page}"
                page.wait_for_url(following)
        popup.close()

    def learn(self) -> None:
        """Take part in the open round."""
        last = until(lambda: self._extension.learn()["learning"]["last"], what="an answer")
        if last != SENT:
            raise InputError(f"the browser of person {self._person.number} did not send: {last}")

    def _study(self) -> object:
        return self._extension.asking("popup")({"kind": "popup", "tab": -1})["study"]

    @staticmethod
    def _choose(popup: Page, label: int) -> None:
        until(lambda: popup.is_visible("#topic"), what="the choice of a class")
        popup.select_option("#topic", str(label))
        popup.click("#correct")
        until(lambda: "Thank you" in (popup.text_content("#status") or ""), what="thanks")


@contextmanager
def chromium_windows(server: StudyServer, people: Sequence[Person], first_page: int) -> Iterator[list[Window]]:
    """Open a window for each person, with a profile of its own, and let them join and label."""
    with ExitStack() as stack:
        playwright = stack.enter_context(sync_playwright())
        windows = []
        for person in people:
            extension = stack.enter_context(chromium_with_extension(playwright))
            window = Window(extension, person)
            window.join(server, server.codes[person.number])
            window.label_all(first_page)
            windows.append(window)
        yield windows
