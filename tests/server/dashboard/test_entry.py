"""Getting in and out: the first password, signing in, sessions, and who is kept out."""

from datetime import timedelta
from http.cookies import SimpleCookie

import pytest

from eitr.server.dashboard.application import PARTS
from eitr.server.dashboard.attempts import Attempts
from eitr.server.dashboard.guard import local_path
from eitr.server.domain import clock, operators
from eitr.server.domain.errors import LimitReachedError
from eitr.server.domain.operators import setup_link
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
        filled = path.format(id=id, version="1", hash="0" * 64, name="rounds", action="mute")
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


def test_after_ten_attempts_even_the_right_password_waits(site):
    browser = site.browser()
    for _ in range(10):
        assert browser.sign_in(password="wrong password").status_code == 400
    answer = browser.sign_in()
    assert answer.status_code == 429
    assert 800 < int(answer.headers["retry-after"]) <= 901
    assert "Too many attempts" in answer.text


def test_attempts_count_by_name_whatever_the_address_and_by_address_whatever_the_name():
    attempts = Attempts(most=3, seconds=60)
    for number in range(3):
        attempts.count(f"192.0.2.{number}", "ada")
    with pytest.raises(LimitReachedError, match="too-many-requests"):
        attempts.count("192.0.2.99", "ada")
    attempts.count("192.0.2.99", "grace")
    for name in ("a", "b"):
        attempts.count("192.0.2.99", name)
    with pytest.raises(LimitReachedError, match="too-many-requests"):
        attempts.count("192.0.2.99", "c")


def test_attempts_are_forgotten_in_time_and_by_success(monkeypatch):
    moment = [1000.0]
    monkeypatch.setattr("eitr.server.dashboard.attempts.time.monotonic", lambda: moment[0])
    attempts = Attempts(most=2, seconds=60)
    attempts.count("192.0.2.1", "ada")
    attempts.count("192.0.2.1", "ada")
    moment[0] += 61
    attempts.count("192.0.2.1", "ada")
    attempts.succeeded("192.0.2.1", "ada")
    attempts.count("192.0.2.1", "ada")
    attempts.count("192.0.2.1", "ada")
    with pytest.raises(LimitReachedError, match="too-many-requests"):
        attempts.count("192.0.2.1", "ada")


def test_the_cookie_of_a_session_is_not_for_scripts_nor_for_other_sites(site):
    for address, secure in ((HERE, False), ("https://eitr.test", True)):
        cookie = cookies(site.browser(address).sign_in())["eitr_session"]
        assert cookie["httponly"]
        assert cookie["samesite"] == "strict"
        assert cookie["path"] == "/"
        assert bool(cookie["secure"]) is secure
        assert cookie["domain"] == ""
        assert int(cookie["max-age"]) == 12 * 3600


def test_a_session_ends_by_itself(site, monkeypatch):
    browser = site.signed_in()
    assert browser.get("/").status_code == 200
    real = clock.now
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
        browser = site.browser()
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
