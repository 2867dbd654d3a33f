"""The page where people get the extension: for everybody, and for these two files alone."""

import hashlib

from tests.server.dashboard.served import offer_packages
from tests.server.dashboard.test_pages import assert_well_made


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


def test_no_other_file_can_be_reached(make_site, tmp_path):
    offer_packages(tmp_path)
    (tmp_path / "secret.txt").write_text("secret")
    stranger = make_site(empty=True, downloads=tmp_path / ".").browser()
    for name in ("secret.txt", "..%2Fsecret.txt", "%2e%2e/secret.txt", "eitr-chrome.zip%00", "eitr-opera.zip"):
        answer = stranger.get(f"/extension/{name}")
        assert answer.status_code == 404, name
        assert b"secret" not in answer.content
