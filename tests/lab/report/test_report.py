import json
import re
from typing import Any

import pyarrow.parquet as parquet
import pytest
from lxml import etree, html

from eitr.errors import InputError
from eitr.lab.experiments.registry import experiment
from eitr.lab.report import make_report
from eitr.lab.results.store import Store
from eitr.lab.runs.profile import make_profile
from tests.lab.experiments.generated_results import generated_result

IDS = ["poison-rate", "weights", "clients"]
NASTY = 'x"><script>alert(1)</script>&amp;|`'


def make_lab(folder, *, ids=IDS, leave_out=0, **changes):
    (folder / "runs").mkdir(parents=True)
    store = Store(folder)
    profile = make_profile(changes.get("profile", "quick"), data=changes.get("data", "builtin"), seeds=1)
    for id in ids:
        found = experiment(id).runs(profile)
        for run in found[: len(found) - (leave_out if id == ids[-1] else 0)]:
            store.save(run, generated_result(run).arrays)
    lab = {
        "experiments": ids,
        "profile": "quick",
        "data": "builtin",
        "seeds": 1,
        "command": "eitr lab run all",
        "device": "cpu",
        "hardware": {"cpu": "two cores"},
        "versions": {"torch": "2.13.0"},
        "started": "2026-01-02T03:04:05Z",
    }
    (folder / "lab.json").write_text(json.dumps({**lab, **changes}))
    times = {run.key: 12.5 for run in experiment("weights").runs(profile)}
    calls = [{"seconds": 3900.0, "runs": {}}, {"seconds": 100.0, "runs": times}]
    (folder / "timings.json").write_text(json.dumps(calls))
    return folder


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = make_lab(tmp_path_factory.mktemp("lab") / "one")
    make_report(folder)
    return folder


@pytest.fixture(scope="module")
def page(lab):
    return html.fromstring((lab / "report.html").read_text())


def test_all_files_are_there(lab):
    assert {path.name for path in lab.iterdir()} == {
        "runs", "lab.json", "timings.json", "report.html", "report.json", "verdicts.md", "rounds.parquet", "figures",
    }  # fmt: skip
    assert {path.name for path in (lab / "figures").iterdir()} == {f"{id}.svg" for id in IDS}
    for path in (lab / "figures").iterdir():
        assert etree.parse(path).getroot().tag.endswith("svg")


def test_the_page_is_whole_html(lab):
    text = (lab / "report.html").read_text()
    assert text.startswith("<!DOCTYPE html>")
    parser = html.HTMLParser()
    html.fromstring(text, parser=parser)
    # libxml2 knows HTML 4 only: the elements of HTML 5 and of SVG are news to it.
    errors = [error for error in parser.error_log if error.type_name != "HTML_UNKNOWN_TAG"]
    assert errors == []
    for name in ("section", "table", "details", "figure", "svg", "div", "td"):
        assert len(re.findall(f"<{name}[ >]", text)) == text.count(f"</{name}>")


def test_every_id_is_unique_and_every_link_leads_somewhere(page):
    ids = [element.get("id") for element in page.iter(etree.Element) if element.get("id")]
    assert len(ids) == len(set(ids))
    for element in page.iter(etree.Element):
        for name in ("href", "xlink:href", "aria-labelledby"):
            for target in (element.get(name) or "").split():
                assert target.removeprefix("#") in ids


def test_nothing_is_fetched_and_nothing_runs(page):
    text = html.tostring(page, encoding="unicode")
    assert "<script" not in text
    assert page.xpath("//@src | //link | //iframe | //object | //embed") == []
    addresses = set(re.findall(r"https?://[^\s\"']+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "@import" not in text
    assert all(target.startswith("#") for target in page.xpath("//a/@href"))


def test_the_page_is_made_for_everybody(page):
    assert page.get("lang") == "en"
    assert page.xpath("//a[@class='skip']/@href") == ["#main"]
    assert len(page.xpath("//h1")) == 1
    assert all(table.xpath("caption") and table.xpath("thead//th[@scope='col']") for table in page.xpath("//table"))
    assert len(page.xpath("//figure/svg[@role='img'][title][desc]")) == len(IDS)
    badges = {" ".join(badge.text_content().split()) for badge in page.xpath("//span[contains(@class, 'badge')]")}
    assert badges == {"– not judged by quick runs"}  # words, not colours alone
    assert "prefers-color-scheme" in page.xpath("//style")[0].text
    assert "@media print" in page.xpath("//style")[0].text


def test_an_experiment_shows_its_claims_numbers_and_command(page):
    section = page.get_element_by_id("weights")
    text = section.text_content()
    assert "Fig. 12 (comparision)" in text
    assert "eitr lab run weights --data builtin --profile quick --seeds 1 --out results" in text
    assert len(section.xpath(".//table[contains(@class, 'verdicts')]/tbody/tr")) == 16
    assert len(section.xpath(".//table[contains(@class, 'numbers')]/tbody/tr")) == 100


def test_the_summary_counts_and_says_how_it_was_made(page):
    text = page.get_element_by_id("summary").text_content()
    for words in ("two cores", "2.13.0", "2026-01-02T03:04:05Z", "1 h 6 min", "2 min 5 s", "builtin"):
        assert words in text
    assert "Claims of the paper: 22 measured, none judged." in page.xpath("//header")[0].text_content()


def test_the_json_says_the_same(lab, page):
    found = json.loads((lab / "report.json").read_text())
    assert [one["id"] for one in found["experiments"]] == IDS
    assert sum(found["counts"].values()) == 22
    weights = found["experiments"][1]
    assert len(weights["table"]["rows"]) == 100
    assert {(one["verdict"], one["holds"]) for one in weights["verdicts"]} == {("not judged by quick runs", None)}
    assert found["counts"]["not judged by quick runs"] == 22
    assert weights["verdicts"][0]["claim"] in page.get_element_by_id("weights").text_content()
    assert weights["runs"] == 10
    assert found["lab"]["seeds"] == 1


OPEN = "not judged by quick runs"


def columns_of(line):
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_the_markdown_has_a_row_for_each_claim_and_then_for_each_verdict(lab):
    short, long = (lab / "verdicts.md").read_text().split("## What was measured")
    # 6 claims of poison-rate and clients, 8 of weights; the last row has the numbers of verdicts.
    rows = [line for line in short.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 6 + 8 + 1
    assert rows[0] == "| experiment | the paper says | text | published code | fused | other claims |"
    assert {columns_of(row) for row in rows} == {6}
    (weights,) = [row for row in rows if "Label flipping, attackers train 15 epochs, Reputation: honest" in row]
    assert weights.startswith("| weights, Fig. 12 |")
    assert weights.endswith(f"| {OPEN} | {OPEN} | {OPEN} |  |")
    (residual,) = [row for row in rows if "Label flipping, attackers train 15 epochs, Residual" in row]
    assert residual.endswith(f"|  |  |  | {OPEN} |")
    rows = [line for line in long.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + 22
    assert {columns_of(row) for row in rows} == {5}


def test_verdicts_are_counted_for_each_reading(lab, page):
    found = json.loads((lab / "report.json").read_text())
    assert {reading: sum(counts.values()) for reading, counts in found["counts_by_reading"].items()} == {
        "text": 4 + 2 + 4, "published code": 4, "fused": 4, "other claims": 4,
    }  # fmt: skip
    (table,) = page.xpath("//table[caption[starts-with(., 'Claims by reading')]]")
    assert [row.xpath("./td/text()")[0] for row in table.xpath("./tbody/tr")] == list(found["counts_by_reading"])
    assert "three readings" in page.get_element_by_id("summary").text_content()


def test_a_report_without_readings_has_one_table_of_verdicts(tmp_path):
    folder = make_lab(tmp_path / "lab", ids=["ablation"])
    make_report(folder)
    text = (folder / "verdicts.md").read_text()
    assert "reading" not in text
    assert {columns_of(line) for line in text.splitlines() if line.startswith("|")} == {4}
    assert json.loads((folder / "report.json").read_text())["counts_by_reading"] == {}


def test_every_report_says_how_much_clients_train(lab, page, tmp_path):
    work = "10 epochs of at most 4 batches a round, 15 for attackers"
    assert work in page.get_element_by_id("summary").text_content()
    assert work in (lab / "verdicts.md").read_text()
    assert work in json.loads((lab / "report.json").read_text())["lab"]["local_work"]
    folder = make_lab(tmp_path / "lab", ids=["weights"], profile="paper")
    make_report(folder)
    assert (
        "300 steps a round for every honest client, whatever its number of pages, 450 for attackers"
        in (folder / "verdicts.md").read_text()
    )


def test_a_quick_report_never_says_that_a_claim_does_not_hold(lab):
    for name in ("report.html", "verdicts.md"):
        text = (lab / name).read_text()
        assert "does not hold" not in text
        assert "too few and too short rounds" in text
        assert text.count("not judged by quick runs") >= 14


def test_the_paper_profile_is_judged(tmp_path):
    folder = make_lab(tmp_path / "lab", ids=["weights"], profile="paper")
    page: Any = html.fromstring(make_report(folder).read_text())
    badges = {" ".join(badge.text_content().split()) for badge in page.xpath("//span[contains(@class, 'badge')]")}
    assert badges <= {"✓ holds", "✗ does not hold", "? cannot be judged"}
    assert "Claims of the paper, judged setting by setting: of 32, " in page.xpath("//header")[0].text_content()
    told = json.loads((folder / "report.json").read_text())
    assert told["counts"]["not judged by quick runs"] == 0
    assert "not judged by quick runs" not in (folder / "verdicts.md").read_text()


def test_the_table_of_rounds_has_every_run_once(lab):
    runs = parquet.read_table(lab / "rounds.parquet", columns=["run"]).column("run").unique().to_pylist()
    assert sorted(runs) == sorted(path.stem for path in (lab / "runs").iterdir())


def test_the_same_results_give_the_same_bytes(lab, tmp_path):
    again = make_lab(tmp_path / "two")
    make_report(again)
    make_report(again)
    for name in ("report.html", "report.json", "verdicts.md", "rounds.parquet", "figures/weights.svg"):
        assert (again / name).read_bytes() == (lab / name).read_bytes(), name


def test_an_unfinished_experiment_is_listed_with_how_to_go_on(tmp_path):
    folder = make_lab(tmp_path / "lab", ids=["poison-rate", "weights"], leave_out=2)
    page: Any = html.fromstring(make_report(folder).read_text())
    text = page.get_element_by_id("weights").text_content()
    assert "2 of 10 runs are missing" in text
    assert "eitr lab run weights --data builtin --profile quick --seeds 1 --out results --resume" in text
    assert "1 experiment is unfinished" in page.xpath("//header")[0].text_content()
    assert not (folder / "figures" / "weights.svg").exists()
    found = json.loads((folder / "report.json").read_text())["experiments"][1]
    assert (found["finished"], found["missing_runs"], found["table"], found["verdicts"]) == (False, 2, None, [])
    assert "unfinished" in (folder / "verdicts.md").read_text()


def test_a_lab_where_nothing_is_finished_still_has_a_report(tmp_path):
    folder = make_lab(tmp_path / "lab", ids=["weights"], leave_out=10)
    text = make_report(folder).read_text()
    assert "10 of 10 runs are missing" in text
    assert "of 0, " in text


def test_it_says_who_makes_a_claim(lab, tmp_path):
    ours = make_lab(tmp_path / "ours", ids=["ablation"])
    both = make_lab(tmp_path / "both", ids=["weights", "ablation"])
    make_report(ours)
    make_report(both)
    whose = {lab: "the paper says", ours: "our goal", both: "the paper says, or our goal"}
    judged = {lab: "Claims of the paper: ", ours: "Our goals: ", both: "Claims of the paper and goals of ours: "}
    for folder, words in whose.items():
        page: Any = html.fromstring((folder / "report.html").read_text())
        assert words in page.xpath("//section[@id='summary']//table[@class='verdicts']//th/text()")
        assert f"| experiment | {words} |" in (folder / "verdicts.md").read_text()
        assert judged[folder] in page.xpath("//header")[0].text_content()
    page = html.fromstring((both / "report.html").read_text())
    heads = {
        id: page.get_element_by_id(id).xpath(".//table[@class='verdicts']//th/text()")[0]
        for id in ("weights", "ablation")
    }
    assert heads == {"weights": "the paper says", "ablation": "our goal"}
    assert "Not in the paper." in page.get_element_by_id("ablation").text_content()
    assert "of the paper" not in page.get_element_by_id("ablation").xpath(".//figcaption")[0].text


def test_a_long_table_is_summed_up(tmp_path):
    folder = make_lab(tmp_path / "lab", ids=["robustness"])
    page: Any = html.fromstring(make_report(folder).read_text())
    section = page.get_element_by_id("robustness")
    (table,) = section.xpath(".//table[caption[starts-with(., 'In short')]]")
    rules = table.xpath("./tbody/tr/td[1]/text()")
    assert "Fused + validation" in rules
    told = json.loads((folder / "report.json").read_text())["experiments"][0]
    assert [row[0] for row in told["summary"]["rows"]] == rules
    assert len(told["table"]["rows"]) == 25


@pytest.mark.parametrize("content", [None, "no json", "{}", "[3]", '[{"seconds": "x", "runs": {}}]', '[{"runs": 3}]'])
def test_a_lab_whose_times_are_not_known_has_a_report_too(tmp_path, content):
    folder = make_lab(tmp_path / "lab", ids=["clients"])
    (folder / "timings.json").unlink()
    if content is not None:
        (folder / "timings.json").write_text(content)
    make_report(folder)
    assert json.loads((folder / "report.json").read_text())["lab"]["seconds"] is None


def test_whatever_a_lab_is_called_it_stays_text(tmp_path):
    folder = make_lab(
        tmp_path / "lab", ids=["clients"], data=NASTY, command=NASTY, device=NASTY, hardware={NASTY: NASTY}
    )
    text = make_report(folder).read_text()
    page: Any = html.fromstring(text)
    assert "<script" not in text
    assert NASTY in page.get_element_by_id("summary").text_content()
    assert NASTY in page.xpath("//title")[0].text


@pytest.mark.parametrize(
    "content", [None, "no json", "[]", "{}", '{"experiments": 3, "profile": "quick", "data": "x", "seeds": 1}',
                '{"experiments": ["weights"], "profile": "quick", "data": "x", "seeds": "one"}',
                '{"experiments": ["nonsense"], "profile": "quick", "data": "x", "seeds": 1}',
                '{"experiments": ["weights"], "profile": "slow", "data": "x", "seeds": 1}']
)  # fmt: skip
def test_a_bad_description_is_one_line(tmp_path, content):
    if content is not None:
        (tmp_path / "lab.json").write_text(content)
    with pytest.raises(InputError):
        make_report(tmp_path)
    assert not (tmp_path / "report.html").exists()
