import numpy as np
from lxml import etree

from eitr.lab.plotting import (
    RULE_STYLES,
    at_least_wide,
    draw_spread,
    figure_svg,
    heat_map,
    legend_below,
    mean_and_deviation,
    panels,
    series_style,
    styled,
)


@styled
def example():
    figure, axes = panels(1, 2)
    for style in RULE_STYLES.values():
        draw_spread(axes[0, 0], range(20), np.random.default_rng(0).normal(size=(3, 20)), style)
    heat_map(axes[0, 1], [[0.0, 1.0], [0.5, np.nan]], rows=["a", "b"], columns=["c", "d"], low=0, high=1, text=".1f")
    legend_below(figure, axes.flat)
    return figure


def test_the_same_figure_gives_the_same_text_and_no_date():
    assert figure_svg(example()) == figure_svg(example())
    assert "dc:date" not in figure_svg(example())


def test_a_figure_has_words_for_those_who_cannot_see_it():
    root = etree.fromstring(figure_svg(example(), title="A < B", description="What it shows", prefix="one").encode())
    names = {element.get("id"): element.text for element in root.iter() if element.get("id")}
    assert root.get("role") == "img"
    assert [names[id] for id in root.get("aria-labelledby").split()] == ["A < B", "What it shows"]


def test_ids_start_with_the_prefix_so_that_figures_can_share_a_page():
    root = etree.fromstring(figure_svg(example(), prefix="one").encode())
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(id.startswith("one") for id in ids)
    used = {value[1:] for e in root.iter() for name, value in e.attrib.items() if str(name).endswith("href")}
    used |= {e.get("clip-path")[5:-1] for e in root.iter() if e.get("clip-path")}
    assert used <= set(ids)


def test_text_stays_text_and_each_rule_is_once_in_the_legend():
    text = figure_svg(example())
    for style in RULE_STYLES.values():
        assert text.count(f">{style.label}<") == 1


def test_rules_differ_in_colour_dashes_and_marker():
    for what in ("colour", "dashes", "marker"):
        assert len({str(getattr(style, what)) for style in RULE_STYLES.values()}) == len(RULE_STYLES)


def test_series_repeat_after_eight():
    assert series_style(0, "a").colour == series_style(8, "b").colour
    assert len({(series_style(n, "").colour, series_style(n, "").marker) for n in range(8)}) == 8


def test_a_diverged_seed_is_left_out_of_the_mean():
    mean, deviation = mean_and_deviation([[1.0, np.nan, np.nan], [3.0, 2.0, np.nan]])
    assert mean[:2].tolist() == [2.0, 2.0]
    assert np.isnan(mean[2])
    assert deviation[:2].round(3).tolist() == [1.414, 0.0]


def test_an_axis_is_not_narrower_than_asked():
    _, axes = panels(1, 1)
    axes[0, 0].plot([0, 1], [0.80, 0.801])
    at_least_wide(axes[0, 0], 0.06)
    low, high = axes[0, 0].get_ylim()
    assert round(high - low, 6) == 0.06


def test_the_reader_s_own_settings_change_nothing():
    import matplotlib

    usual = figure_svg(example())
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert figure_svg(example()) == usual


def test_a_band_of_accuracies_never_leaves_the_accuracies() -> None:
    _, axes = panels(1, 1)
    draw_spread(axes[0, 0], [0, 1], [[0.2, 0.5], [0.99, 0.5], [1.0, np.nan]], series_style(0, "a"))
    corners = axes[0, 0].collections[0].get_paths()[0].vertices[:, 1]
    assert corners.max() <= 1.0
    assert corners.min() >= 0.2
