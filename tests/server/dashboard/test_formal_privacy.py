"""What operators, and whoever monitors the server, are told about noise on published models."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from eitr.model.published_noise import epsilon
from eitr.server.db.tables import RoundRow, RoundStatus
from eitr.server.domain.clock import now
from eitr.server.operations import operations_application
from tests.server.dashboard.conftest import MakeSite, Site
from tests.server.dashboard.test_pages import assert_well_made

pytest.importorskip("dp_accounting", reason="noise on published models needs it; install eitr[formal]")

NOISE = 4.0
FORMAL: dict[str, Any] = {"rule": "fedavg", "quorum": 100, "maximum": 100, "published_noise": NOISE}


def add_rounds(site: Site, count: int, noise: float | None) -> None:
    """Write rounds that ended."""
    moment = now() - timedelta(days=1)
    with site.services.database.writing() as session:
        session.add_all(
            RoundRow(
                status=RoundStatus.PUBLISHED,
                base=1,
                opened=moment,
                deadline=moment,
                ended=moment,
                minimum=5,
                quorum=100,
                maximum=100,
                grace_seconds=0.0,
                plan={"method": "private", "layers": 1, "cover_pages": 200, "noise": 4.0},
                published_noise=noise,
                published_clip=None if noise is None else 1.1,
                received=100,
                attempts=1,
                rule="fedavg",
            )
            for _ in range(count)
        )


def words(site: Site, path: str) -> str:
    """Return the text of a page, with single spaces."""
    browser = site.signed_in()
    assert_well_made(browser.get(path).text, path)
    return " ".join(" ".join(browser.page(path).itertext()).split())


def metrics(site: Site) -> str:
    async def ask() -> str:
        transport = httpx.ASGITransport(operations_application(site.services), client=("127.0.0.1", 50000))
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
            return (await client.get("/metrics")).text

    return asyncio.run(ask())


def test_the_start_page_says_what_was_spent_in_words(make_site: MakeSite) -> None:
    site = make_site(empty=True, epsilon_limit=20.0, **FORMAL)
    assert "Nothing was published with noise yet" in words(site, "/")
    add_rounds(site, 40, NOISE)
    text = words(site, "/")
    assert f"Epsilon spent {epsilon({NOISE: 40}, 1e-5):.2f} of 20" in text
    assert "Rounds with noise 40" in text
    assert "Delta 0.00001 " in text
    assert "right in at most 79 of 100 cases" in text
    assert "Rounds without noise" not in text
    add_rounds(site, 3, None)
    assert "Rounds without noise: 3." in words(site, "/")


def test_a_round_says_how_much_noise_it_had(make_site: MakeSite) -> None:
    site = make_site(empty=True, **FORMAL)
    add_rounds(site, 1, NOISE)
    assert "Noise on the published mean 4 times the longest step of a participant" in words(site, "/rounds/1")


def test_at_the_limit_a_banner_says_why_no_round_opens(make_site: MakeSite) -> None:
    site = make_site(empty=True, epsilon_limit=epsilon({NOISE: 2}, 1e-5) + 1e-6, **FORMAL)
    add_rounds(site, 1, NOISE)
    assert "privacy limit is reached" not in words(site, "/")
    assert "Open a round now" in words(site, "/")
    add_rounds(site, 1, NOISE)
    text = words(site, "/")
    assert "No more rounds open, because the privacy limit is reached" in text
    assert "Open a round now" not in text
    refused = site.signed_in().act("/rounds/open")
    assert refused.status_code == 409
    assert "privacy limit is reached" in refused.text
    assert site.services.rounds.current() is None


def test_metrics_have_epsilon_if_the_noise_is_on(make_site: MakeSite) -> None:
    site = make_site(empty=True, **FORMAL)
    add_rounds(site, 2, NOISE)
    line = next(line for line in metrics(site).splitlines() if line.startswith("eitr_epsilon{"))
    assert line.startswith('eitr_epsilon{delta="1e-05"} ')
    assert float(line.split()[-1]) == pytest.approx(epsilon({NOISE: 2}, 1e-5))


def test_without_noise_nothing_is_said_of_it(make_site: MakeSite) -> None:
    site = make_site(empty=True)
    assert "psilon" not in words(site, "/")
    assert "eitr_epsilon{" not in metrics(site)
