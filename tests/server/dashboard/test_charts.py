"""Charts: the right numbers at the right places, and nothing that breaks the page."""

import re
from pathlib import Path
from statistics import median
from typing import Any

from lxml import etree
from sqlalchemy import select

from eitr.server.dashboard import charts, figures, rendering
from eitr.server.dashboard.charts import HEIGHT, LEFT, RIGHT, WIDTH, Series
from eitr.server.dashboard.queries import participants
from eitr.server.db.tables import ObservationRow, RoundRow
from eitr.taxonomy import TOPICS

CSS = (Path(rendering.__file__).parent / "static" / "dashboard.css").read_text()


def points(chart, style):
    drawn: Any = etree.fromstring(str(chart.svg))
    (line,) = drawn.xpath(f"//g[contains(@class, '{style}')]/polyline/@points")
    return [tuple(map(float, pair.split(","))) for pair in line.split()]


def test_a_line_goes_from_edge_to_edge_and_up_is_more():
    chart = charts.lines("a", "T", "D", "Round", [Series("x", [(1, 0.0), (2, 0.5), (5, 1.0)], "low1")])
    (x1, y1), (x2, y2), (x3, y3) = points(chart, "low1")
    assert (x1, x3) == (LEFT, WIDTH - RIGHT)
    assert x2 - x1 < x3 - x2  # rounds nobody saw take their room
    assert y1 > y2 > y3
    assert abs((y1 + y3) / 2 - y2) < 0.2
    assert chart.rows == [["1", "0.000"], ["2", "0.500"], ["5", "1.000"]]


def test_what_lies_below_the_axis_stays_inside_the_drawing():
    chart = charts.lines("a", "T", "D", "Version", [Series("x", [(1, -3.0), (2, 9.0)], "low1")], low=0.5)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points(chart, "low1"))


def test_one_point_is_drawn_in_the_middle():
    ((x, _),) = points(charts.lines("a", "T", "D", "Round", [Series("x", [(3, 0.5)], "low1")]), "low1")
    assert LEFT < x < WIDTH - RIGHT


def test_names_are_escaped():
    evil = "</title><script>alert(1)</script>"
    series = [Series(evil, [(1, 0.5)], "low1")]
    for chart in (
        charts.lines("a", evil, evil, evil, series),
        charts.tiles("a", evil, evil, evil, [1], [(evil, {1: 0.0})]),
        charts.bars("a", evil, evil, (evil, evil), [(evil, 0.5, evil)]),
    ):
        assert "<script" not in str(chart.svg)
        etree.fromstring(str(chart.svg))
        assert "<script" not in "".join(str(key.swatch) for key in chart.legend)


def test_a_tile_says_in_words_and_shape_what_its_colour_says():
    chart = charts.tiles("a", "T", "D", "Round", [1, 2], [("p", {1: 0.0, 2: 1.2})])
    drawn: Any = etree.fromstring(str(chart.svg))
    nothing, more = drawn.xpath("//g[starts-with(@class, 'tile')]")
    assert nothing.findtext("title") == "p, round 1: 0.00 of an equal share"
    assert nothing.find("path") is not None
    assert more.find("path") is None
    assert chart.rows == [["p", "0.00", "1.20"]]


def test_parts_of_an_opinion_fill_the_bar():
    drawn: Any = etree.fromstring(str(charts.opinion(0.5, 0.2, 0.3)))
    widths = {one.get("class"): float(one.get("width")) for one in drawn}
    assert widths == {"belief": 60, "uncertainty": 36, "disbelief": 24}


def test_the_lowest_reputations_are_highlighted(site):
    with site.services.database.reading() as session:
        chart = figures.reputations(session, participants.summary(session))
        last = {one: session.get_one(ObservationRow, (8, one)).reputation for one in site.example.attackers}
    assert [key.name for key in chart.legend][:3] == [
        id[:8] for id in sorted(last, key=lambda one: last[one], reverse=True)
    ]
    assert len(chart.columns) == 13


def test_a_line_shows_below_which_reputation_the_weight_is_0(site):
    with site.services.database.writing() as session:
        for round in session.scalars(select(RoundRow)):
            round.rule_settings = {"low": 0.6}
    with site.services.database.reading() as session:
        chart = figures.reputations(session, participants.summary(session))
        voters = select(ObservationRow.reputation).where(ObservationRow.round == 8, ObservationRow.weight.is_not(None))
        expected = 0.6 * median(session.scalars(voters))
    assert chart.columns[-1] == chart.legend[-2].name == "Weight 0 below this line"
    assert chart.rows[-1][-1] == f"{expected:.3f}"
    assert f"now at {expected:.2f}, updates have weight 0." in chart.description
    drawn: Any = etree.fromstring(str(chart.svg))
    assert "weight 0 below" in drawn.xpath("//text/text()")
    assert ".series.limit {" in CSS


def test_rules_without_such_a_line_have_none(site):
    with site.services.database.writing() as session:
        for round in session.scalars(select(RoundRow)):
            round.rule, round.rule_settings = "fedavg", {}
    with site.services.database.reading() as session:
        chart = figures.reputations(session, participants.summary(session))
    assert "Weight 0 below this line" not in chart.columns


def test_of_many_participants_the_lowest_are_shown(site, monkeypatch):
    monkeypatch.setattr(figures, "MOST_LINES", 4)
    with site.services.database.reading() as session:
        chart = figures.reputations(session, participants.summary(session))
        tiles = figures.weights(session, participants.summary(session))
    assert len(chart.columns) == 5
    assert {one[:8] for one in site.example.attackers} < set(chart.columns)
    assert chart.note == tiles.note == "The 4 lowest of 13 participants are shown."


def test_weights_are_compared_with_an_equal_share(site):
    with site.services.database.reading() as session:
        chart = figures.weights(session, participants.summary(session))
    row = next(row for row in chart.rows if row[0] == site.example.attackers[0][:8])
    assert row[-3:] == ["0.00", "0.40", "0.40"]  # the newest round comes first


def test_classes_have_the_colours_of_the_taxonomy_in_light_and_their_own_in_dark():
    light, dark = CSS.split("@media (prefers-color-scheme: dark)")
    for topic in TOPICS:
        assert f"--{topic.name}: {topic.colour};" in light
        assert re.search(rf"--{topic.name}: #[0-9a-f]{{6}};", dark)
        assert f".series.topic-{topic.name} {{" in dark


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_text_is_readable_and_every_line_is_seen():
    for part in CSS.split("@media (prefers-color-scheme: dark)"):
        colour = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", part.split("\n}\n")[0]))
        for ground in ("ground", "card", "notice", "failure"):
            assert contrast(colour["text"], colour[ground]) >= 7, ground
        for text in ("soft", "accent", "good", "bad"):
            assert contrast(colour[text], colour["card"]) >= 4.5, text
        for text in ("soft", "accent"):
            assert contrast(colour[text], colour["ground"]) >= 4.5, text
        for name in ("open", "busy", "good", "bad", "off"):
            assert contrast(colour["text"], colour[f"pill-{name}"]) >= 4.5, name
        assert contrast(colour["soft"], colour["pill-off"]) >= 4.5
        assert contrast(colour["on-accent"], colour["accent"]) >= 4.5
        assert contrast(colour["on-danger"], colour["danger"]) >= 4.5
        for line in ("low1", "low2", "low3", "tile-edge", "belief", "disbelief", *(topic.name for topic in TOPICS)):
            assert contrast(colour[line], colour["card"]) >= 3, line
