"""Getting in and out: the first password, signing in, sessions, and who is kept out."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from sqlalchemy import delete, select

from eitr.server.dashboard.application import PARTS
from eitr.server.dashboard.attempts import (
    KNOWN_DAYS,
    MOST,
    MOST_OF_NETWORK,
    MOST_WHERE_KNOWN,
    SECONDS,
    Attempts,
)
from eitr.server.dashboard.guard import local_path
from eitr.server.db.connection import Database
from eitr.server.db.tables import LimitRow, OperatorRow
from eitr.server.domain import clock as time_source
from eitr.server.domain import operators
from eitr.server.domain.errors import BusyError, InvalidInputError, LimitReachedError
from eitr.server.domain.keys import Key
from eitr.server.domain.operators import set_password, setup_link
from tests.server.dashboard.conftest import HERE, MakeSite, Site
from tests.server.dashboard.example import OPERATOR, PASSWORD
from tests.server.dashboard.pages import paths

NEW = "a long new password"


def cookies(answer):
    jar = SimpleCookie()
    for line in answer.headers.get_list("set-cookie"):
        jar.load(line)
    return jar


FOR_EVERYBODY = {"/extension", "/extension/{file}"}
"""Where people get the extension."""


def test_every_page_needs_somebody_who_is_signed_in(site):
    exports = [f"/export/{name}.csv" for name in ("participants", "rounds", "observations", "models", "audit")]
    stranger = site.browser()
    for path in {*paths(site.example).values(), "/live", *exports} - FOR_EVERYBODY:
        answer = stranger.get(path)
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/login"), path
        assert answer.text == ""


def test_every_action_needs_somebody_who_is_signed_in(site):
    before = site.audit()
    actions = ["/rounds/open", "/rounds/9/close", "/rounds/9/abandon", "/models/1/rollback", "/invitations", "/logout"]
    for path in [*actions, f"/invitations/{'0' * 64}/revoke"]:
        answer = site.browser().post(path, {"csrf": "0" * 64, "reason": "x", "count": "1"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/login"), path
    assert site.audit() == before


def test_every_route_of_the_dashboard_was_thought_of(site):
    # A new page must be in one of the lists above, or be meant for everybody.
    ours = {(method, route.path) for part in PARTS for route in part.router.routes for method in route.methods}
    assert len(ours) >= 22
    entry = {("GET", "/login"), ("POST", "/login"), ("GET", "/setup"), ("POST", "/setup")}
    for method, path in ours - entry - {("GET", path) for path in FOR_EVERYBODY}:
        id = "0" * 32 if "participant" in path else "1"
        filled = path.format(id=id, version="1", hash="0" * 64, name="rounds", action="mute", slug="covid")
        stranger = site.browser()
        answer = stranger.get(filled) if method == "GET" else stranger.post(filled, {"csrf": "0"})
        assert answer.status_code == 303, (method, path)
        assert answer.headers["location"].startswith("/login"), (method, path)


def test_who_signs_in_gets_where_they_wanted_to_go(site):
    browser = site.browser()
    led = browser.get("/participants?sort=rounds&order=down")
    assert led.headers["location"] == "/login?next=/participants%3Fsort%3Drounds%26order%3Ddown"
    assert 'value="/participants?sort=rounds&amp;order=down"' in browser.get(led.headers["location"]).text
    answer = browser.sign_in(next="/participants?sort=rounds&order=down")
    assert answer.headers["location"] == "/participants?sort=rounds&order=down"
    assert browser.get("/participants").status_code == 200


@pytest.mark.parametrize(
    "next",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "javascript:alert(1)",
        "evil.example",
        "",
        "/" + "a" * 1000,
        "/%0a\r\nSet-Cookie: a=b",
    ],
)
def test_nobody_is_led_to_another_site(site, next):
    assert local_path(next) == "/"
    assert site.browser().sign_in(next=next).headers["location"] == "/"


def test_a_wrong_password_and_an_unknown_name_look_alike(site):
    wrong = site.browser().sign_in(password="not the password")
    unknown = site.browser().sign_in(name="nobody", password="not the password")
    assert wrong.status_code == unknown.status_code == 400
    said = "The name or the password is wrong."
    assert said in wrong.text
    assert said in unknown.text
    assert "eitr_session" not in cookies(wrong)


def test_after_ten_attempts_from_a_strange_network_even_the_right_password_waits(site):
    browser = site.browser()
    for _ in range(10):
        assert browser.sign_in(password="wrong password").status_code == 400
    answer = browser.sign_in()
    assert answer.status_code == 429
    assert 800 < int(answer.headers["retry-after"]) <= 901
    assert "Too many attempts" in answer.text


class TestAttempts:
    """Who may try how often, on each kind of database."""

    @pytest.fixture
    def attempts(self, address: str, tmp_path: Path) -> Iterator[Attempts]:
        database = Database(address)
        yield Attempts(database, Key.of(tmp_path))
        database.close()

    def refused(self, attempts: Attempts, network: str, name: str) -> int:
        """Return how long somebody has to wait."""
        with pytest.raises(LimitReachedError, match="too-many-requests") as error:
            attempts.count(network, name)
        assert error.value.retry_after is not None
        return error.value.retry_after

    def test_a_name_is_never_locked_by_attempts_from_elsewhere(self, attempts):
        for network in range(1, 6):
            for _ in range(MOST):
                attempts.count(f"192.0.2.{network}", "ada")
        self.refused(attempts, "192.0.2.1", "ada")
        assert attempts.count("192.0.2.99", "ada") is False

    def test_a_network_may_try_several_names_but_not_endlessly(self, attempts):
        for name in ("a", "b", "c"):
            for _ in range(MOST):
                attempts.count("2001:db8:1:2::1", name)
        assert MOST_OF_NETWORK == 3 * MOST
        self.refused(attempts, "2001:db8:1:2::99", "d")  # the same /64
        attempts.count("2001:db8:1:3::1", "d")

    def test_attempts_are_forgotten_in_time_and_by_success(self, attempts, clock):
        for _ in range(MOST):
            attempts.count("192.0.2.1", "ada")
        clock.forward(SECONDS / 2)
        wait = self.refused(attempts, "192.0.2.1", "ada")
        clock.forward(wait)
        for _ in range(MOST - 1):
            attempts.count("192.0.2.1", "ada")
        attempts.succeeded("192.0.2.1", "ada")
        assert attempts.count("192.0.2.1", "ada") is True

    def test_where_an_operator_was_before_strangers_cannot_keep_them_out(self, attempts, clock):
        attempts.succeeded("192.0.2.1", "ada")
        for name in ("a", "b", "c"):
            for _ in range(MOST):
                attempts.count("192.0.2.1", name)
        self.refused(attempts, "192.0.2.1", "grace")
        for _ in range(MOST_WHERE_KNOWN):
            assert attempts.count("192.0.2.1", "ada") is True
        self.refused(attempts, "192.0.2.1", "ada")  # nor may they guess for ever
        clock.forward(KNOWN_DAYS * 86400 + 1)
        assert attempts.count("192.0.2.1", "ada") is False

    def test_processes_count_together_and_a_restart_forgets_nothing(self, attempts, address, tmp_path):
        second = Database(address)
        other = Attempts(second, Key.of(tmp_path))
        for _ in range(MOST // 2):
            attempts.count("192.0.2.1", "ada")
            other.count("192.0.2.1", "ada")
        self.refused(attempts, "192.0.2.1", "ada")
        self.refused(other, "192.0.2.1", "ada")
        second.close()

    def test_many_at_once_are_all_counted(self, attempts):
        def tried(_: int) -> bool:
            try:
                attempts.count("192.0.2.1", "ada")
            except LimitReachedError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(tried, range(3 * MOST))) == MOST

    def test_neither_names_nor_networks_are_stored(self, attempts):
        attempts.count("192.0.2.1", "ada")
        attempts.succeeded("192.0.2.1", "ada")
        with attempts._database.reading() as session:
            rows = session.scalars(select(LimitRow)).all()
        assert rows
        assert all(len(row.key) == 32 and b"ada" not in row.key for row in rows)

    def test_strangers_who_wait_for_their_turn_do_not_take_that_of_operators(self, attempts, monkeypatch):
        monkeypatch.setattr("eitr.server.dashboard.attempts.WAIT_SECONDS", 0.01)
        with attempts.hashing(known=False), attempts.hashing(known=False):
            with pytest.raises(BusyError), attempts.hashing(known=False):
                pass
            with attempts.hashing(known=True), pytest.raises(BusyError), attempts.hashing(known=True):
                pass


def test_wrong_passwords_from_anywhere_do_not_lock_the_operator_out(site):
    site.signed_in()
    for network in range(1, 4):  # their own among them
        attacker = site.browser(network=f"192.0.2.{network}")
        for _ in range(12):
            attacker.sign_in(password="wrong password")
    assert attacker.sign_in().status_code == 429
    assert site.browser().sign_in().status_code == 303
    assert site.browser(network="198.51.100.1").sign_in().status_code == 303  # and in a new place


def test_a_new_link_lets_in_who_had_too_many_attempts(site):
    browser = site.browser()
    for number in range(11):
        browser.sign_in(password="wrong password")
        TestSetup().send(browser, f"guess {number}")
    assert browser.sign_in().status_code == 429
    assert TestSetup().send(browser, "another guess").status_code == 429
    code = setup_link(site.services.database, again=True)
    assert TestSetup().send(browser, code, name=OPERATOR).status_code == 303
    assert browser.sign_in(password=NEW).status_code == 303


def test_a_server_that_starts_second_leaves_the_link_of_the_first(make_site: MakeSite):
    site = make_site(empty=True)
    with site.services.database.writing() as session:
        session.execute(delete(OperatorRow))
    first, second, third = (setup_link(site.services.database) for _ in range(3))
    assert TestSetup().send(site.browser(), first).status_code == 303
    assert site.browser().sign_in("grace", NEW).status_code == 303
    # Now that there is an operator, the others would be keys under the mat.
    assert setup_link(site.services.database) is None
    for link in (second, third):
        assert "The link was used" in TestSetup().send(site.browser(), link, name="mallory").text


def test_a_link_is_used_once_though_two_use_it_at_the_same_moment(address: str):
    database = Database(address)
    code = setup_link(database, again=True)
    assert code is not None

    def use(name: str) -> bool:
        try:
            set_password(database, code, name, NEW)
        except InvalidInputError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, [f"name {number}" for number in range(8)])) == 1
    database.close()


def test_the_cookie_of_a_session_is_not_for_scripts_nor_for_other_sites(site):
    for address, secure in ((HERE, False), ("https://eitr.test", True)):
        cookie = cookies(site.browser(address).sign_in())["eitr_session"]
        assert cookie["httponly"]
        assert cookie["samesite"] == "strict"
        assert cookie["path"] == "/"
        assert bool(cookie["secure"]) is secure
        assert cookie["domain"] == ""
        assert int(cookie["max-age"]) == 12 * 3600


def test_where_the_public_address_is_https_cookies_are_secure_whatever_the_proxy_says(make_site: MakeSite):
    site = make_site(public_address="https://eitr.test")
    browser = site.browser()  # the proxy asks by http, and sends no X-Forwarded-Proto
    form = browser.get("/login")
    assert cookies(form)["eitr_form"]["secure"]
    csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', form.text)
    browser.client.cookies.set("eitr_form", cookies(form)["eitr_form"].value)  # the browser's connection is secure
    answer = browser.post("/login", {"csrf": csrf[1], "name": OPERATOR, "password": PASSWORD})
    assert answer.status_code == 303
    assert cookies(answer)["eitr_session"]["secure"]


@pytest.mark.parametrize("path", ["/login", "/nothing", "/api/v2/model", "/healthz", "/static/style.css"])
def test_browsers_are_told_to_use_https_where_the_public_address_does(make_site: MakeSite, path):
    told = make_site(empty=True, public_address="https://eitr.test").browser().get(path)
    assert told.headers["strict-transport-security"] == "max-age=31536000"
    assert "strict-transport-security" not in make_site(empty=True).browser("https://eitr.test").get(path).headers


def test_a_session_ends_by_itself(site, monkeypatch):
    browser = site.signed_in()
    assert browser.get("/").status_code == 200
    real = time_source.now
    monkeypatch.setattr(operators, "now", lambda: real() + timedelta(hours=11.9))
    assert browser.get("/").status_code == 200
    monkeypatch.setattr(operators, "now", lambda: real() + timedelta(hours=12.1))
    assert browser.get("/").status_code == 303


def test_who_signs_out_is_out_even_with_the_old_cookie(site):
    browser = site.signed_in()
    token = browser.client.cookies["eitr_session"]
    answer = browser.act("/logout")
    assert answer.headers["location"] == "/login?notice=out"
    assert "eitr_session" not in browser.client.cookies
    browser.client.cookies.set("eitr_session", token)
    assert browser.get("/").status_code == 303
    assert (OPERATOR, "signed out", {}) in site.audit()


def test_a_made_up_cookie_is_nobody(site):
    for token in (b"", b"x", "é".encode(), b"\xff", b"a" * 5000):
        answer = site.browser().client.get("/", headers={b"Cookie": b"eitr_session=" + token})
        assert answer.status_code == 303, token


def test_signing_in_again_ends_the_session_before(site):
    browser = site.signed_in()
    old = browser.client.cookies["eitr_session"]
    other = site.browser()
    csrf = other.token("/login")
    other.client.cookies.set("eitr_session", old)
    other.post("/login", {"csrf": csrf, "name": OPERATOR, "password": PASSWORD})
    assert browser.get("/").status_code == 303


class TestForms:
    def test_a_sign_in_form_of_another_site_is_refused(self, site):
        browser = site.browser()
        fields = {"csrf": browser.token("/login"), "name": OPERATOR, "password": PASSWORD}
        for headers in (
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "none"},
        ):
            assert browser.post("/login", fields, headers).status_code == 403, headers
        assert browser.post("/login", fields).status_code == 303

    @pytest.mark.parametrize(
        ("origin", "status"), [(HERE, 303), ("http://evil.test", 403), ("null", 403), ("http://eitr.test:81", 403)]
    )
    def test_a_browser_without_fetch_metadata_says_where_the_form_comes_from(self, site, origin, status):
        browser = site.browser()
        fields = {"csrf": browser.token("/login"), "name": OPERATOR, "password": PASSWORD}
        assert browser.client.post("/login", data=fields, headers={"Origin": origin}).status_code == status

    def test_a_form_from_nowhere_is_refused(self, site):
        browser = site.browser()
        fields = {"csrf": browser.token("/login"), "name": OPERATOR, "password": PASSWORD}
        assert browser.client.post("/login", data=fields).status_code == 403

    def test_the_public_address_counts_as_here(self, make_site: MakeSite):
        site = make_site(public_address="https://public.example")
        browser = site.browser("https://eitr.test")
        fields = {"csrf": browser.token("/login"), "name": OPERATOR, "password": PASSWORD}
        answer = browser.client.post("/login", data=fields, headers={"Origin": "https://public.example"})
        assert answer.status_code == 303

    def test_a_sign_in_form_needs_the_cookie_that_came_with_it(self, site):
        browser, other = site.browser(), site.browser()
        stolen = other.token("/login")
        browser.get("/login")
        for csrf in (stolen, "", "0" * 64, "é"):
            answer = browser.post("/login", {"csrf": csrf, "name": OPERATOR, "password": PASSWORD})
            assert answer.status_code == 403, csrf
        without = site.browser()
        assert without.post("/login", {"csrf": stolen, "name": OPERATOR, "password": PASSWORD}).status_code == 403

    @pytest.mark.parametrize(
        ("body", "kind", "status"),
        [
            (b"csrf=1&csrf=2", "application/x-www-form-urlencoded", 400),
            (b"a=%ff", "application/x-www-form-urlencoded", 400),
            (b"\xff\xfe", "application/x-www-form-urlencoded", 400),
            (b"&".join(b"a%d=1" % n for n in range(50)), "application/x-www-form-urlencoded", 400),
            (b'{"csrf": "1"}', "application/json", 400),
            (b"csrf=1", "text/plain", 400),
        ],
    )
    def test_what_is_no_form_is_refused(self, site, body, kind, status):
        answer = site.browser().client.post("/login", content=body, headers={"Content-Type": kind})
        assert answer.status_code == status
        assert answer.headers["content-type"].startswith("text/html")

    def test_an_endless_form_without_a_length_is_not_read_to_its_end(self, site):
        read = []

        def endless():
            for _ in range(1000):
                read.append(1)
                yield b"a" * 10_000

        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        assert site.browser().client.post("/login", content=endless(), headers=headers).status_code == 413


class TestSetup:
    def code(self, site: Site) -> str:
        code = setup_link(site.services.database, again=True)
        assert code is not None
        return code

    def send(self, browser, link, **fields):
        given = {
            "csrf": browser.token(f"/setup?code={link}"),
            "code": link,
            "name": "grace",
            "password": NEW,
            "again": NEW,
        }
        return browser.post("/setup", {**given, **fields})

    def test_a_link_makes_an_operator_once(self, site):
        code = self.code(site)
        answer = self.send(site.browser(), code)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login?notice=password")
        assert site.signed_in("grace", NEW).get("/").status_code == 200
        again = self.send(site.browser(), code, name="mallory")
        assert again.status_code == 400
        assert "The link was used" in again.text

    def test_a_new_password_ends_the_old_sessions(self, site):
        browser = site.signed_in()
        assert self.send(site.browser(), self.code(site), name=OPERATOR).status_code == 303
        assert browser.get("/").status_code == 303
        assert site.browser().sign_in().status_code == 400

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"again": "another password"}, "not the same"),
            ({"password": "short", "again": "short"}, "12 characters"),
            ({"name": ""}, "1 to 100 characters"),
            ({"name": "a\nb"}, "1 to 100 characters"),
            ({"code": "made up"}, "The link was used"),
        ],
    )
    def test_what_is_wrong_is_said_and_the_code_can_still_be_used(self, site, fields, said):
        code = self.code(site)
        answer = self.send(site.browser(), code, **fields)
        assert answer.status_code == 400
        assert said in answer.text
        assert self.send(site.browser(), code).status_code == 303

    def test_a_form_of_another_site_is_refused(self, site):
        browser, code = site.browser(), self.code(site)
        fields = {
            "csrf": browser.token(f"/setup?code={code}"),
            "code": code,
            "name": "m",
            "password": NEW,
            "again": NEW,
        }
        assert browser.post("/setup", fields, {"Sec-Fetch-Site": "cross-site"}).status_code == 403

    def test_codes_cannot_be_tried_out(self, site):
        browser = site.browser()
        answers = [self.send(browser, f"guess {number}").status_code for number in range(11)]
        assert answers == [400] * 10 + [429]

    def test_without_a_code_the_page_says_how_to_get_one(self, site):
        assert "eitr operator" in site.browser().get("/setup").text
