"""The page where people get the extension: for everybody, and for these two files alone."""

import hashlib
import json
from pathlib import Path

from eitr.server.web.packages import packaged
from tests.server.dashboard.served import offer_packages
from tests.server.dashboard.test_pages import assert_well_made

MESSAGES = Path(__file__).parents[3] / "extension" / "src" / "_locales" / "en" / "messages.json"


def test_anybody_can_download_the_packages_and_compare_their_hashes(make_site, tmp_path):
    offer_packages(tmp_path)
    stranger = make_site(empty=True, downloads=tmp_path).browser()
    page = stranger.get("/extension")
    assert_well_made(page.text, "/extension")
    for name in ("eitr-chrome.zip", "eitr-firefox.zip"):
        answer = stranger.get(f"/extension/{name}")
        assert answer.status_code == 200
        assert answer.content == (tmp_path / name).read_bytes()
        assert answer.headers["content-type"] == "application/zip"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert f'filename="{name}"' in answer.headers["content-disposition"]
        assert hashlib.sha256(answer.content).hexdigest() in page.text


def test_without_packages_the_page_says_so(make_site, tmp_path):
    stranger = make_site(empty=True, downloads=tmp_path / "nowhere").browser()
    page = stranger.get("/extension")
    assert_well_made(page.text, "/extension")
    assert "make extension" in page.text
    assert stranger.get("/extension/eitr-chrome.zip").status_code == 404


def test_operators_keep_their_navigation_there(site, browser):
    assert browser.page("/extension").xpath("//nav//a[@href='/rounds']")
    assert "<nav" not in site.browser().get("/extension").text


def test_no_other_file_can_be_reached(make_site, tmp_path):
    offer_packages(tmp_path)
    (tmp_path / "secret.txt").write_text("secret")
    stranger = make_site(empty=True, downloads=tmp_path / ".").browser()
    for name in ("secret.txt", "..%2Fsecret.txt", "%2e%2e/secret.txt", "eitr-chrome.zip%00", "eitr-opera.zip"):
        answer = stranger.get(f"/extension/{name}")
        assert answer.status_code == 404, name
        assert b"secret" not in answer.content


def test_packages_inside_an_installed_package_come_before_those_of_a_checkout(tmp_path):
    package = tmp_path / "src" / "eitr"
    assert packaged(package) == tmp_path / "dist"
    (package / "assets" / "extension").mkdir(parents=True)
    assert packaged(package) == package / "assets" / "extension"


def test_without_a_setting_the_packages_of_the_package_are_offered(make_site, tmp_path, monkeypatch):
    offer_packages(tmp_path)
    monkeypatch.setattr("eitr.server.web.packages.packaged", lambda: tmp_path)
    stranger = make_site(empty=True).browser()
    assert hashlib.sha256((tmp_path / "eitr-firefox.zip").read_bytes()).hexdigest() in stranger.get("/extension").text
    assert stranger.get("/extension/eitr-chrome.zip").content == (tmp_path / "eitr-chrome.zip").read_bytes()


def test_everybody_reads_how_this_server_trains(make_site):
    private, paper = (
        make_site(empty=True, training=training).browser().get("/extension").text for training in ("private", "paper")
    )
    assert "right in at most 60 of 100 cases" in private
    assert "was guessed 29 percentage points more" in private
    assert "give away" not in private
    assert "you give away words of your pages" in paper
    assert "60 of 100" not in paper
    option = json.loads(MESSAGES.read_text("utf-8"))["options_all_layers"]["message"]
    assert f"unless you switch on “{option}”" in paper
    assert_well_made(paper, "/extension")
    careful = make_site(empty=True, noise=8).browser().get("/extension").text
    assert "right in at most 55 of 100 cases" in careful


def test_the_operator_is_warned_of_the_papers_training(make_site):
    private, paper = (make_site(training=training).signed_in().get("/").text for training in ("private", "paper"))
    assert "private: last layers, cover pages, noise" in private
    assert "give away" not in private
    assert "The updates give away which words" in paper
    assert_well_made(paper, "/")
