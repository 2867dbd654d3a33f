"""`eitr aggregate` and `eitr rules`: files in, files out, and one clear line when something is wrong."""

import contextlib
import errno
import json
import os
import resource
import socket
import subprocess
import sys
import types
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eitr import cli
from eitr.aggregation import RULES
from eitr.aggregation.rule_state import load_state
from eitr.cli.aggregate_files import Job, run
from eitr.errors import InputError
from tests.aggregation.cases import ALL_RULES, aggregate
from tests.examples import examples

CONSOLE_SCRIPT = Path(sys.executable).with_name("eitr")
PARAMETERS = 12


class Desk:
    """A folder with good input files, and the command line to run on them."""

    def __init__(self, folder: Path, monkeypatch, capsys):
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys
        self.updates = np.random.default_rng(0).normal(0, 0.1, (4, PARAMETERS)).astype(np.float32)
        self.put("U.npy", self.updates)
        self.put("base.npy", np.zeros(PARAMETERS, dtype=np.float32))
        self.put("root.npy", np.linspace(0.1, 1, PARAMETERS, dtype=np.float32))
        self.write("ids.txt", "dora\nann\ncarl\nbob\n")
        self.write("counts.txt", "10\n20\n30\n40\n")

    def path(self, name):
        return self.folder / name

    def put(self, name, array):
        np.save(self.path(name), array)

    def write(self, name, content):
        self.path(name).write_bytes(content if isinstance(content, bytes) else content.encode())

    def call(self, *arguments):
        """Run the command line in this process: (exit status, standard output, standard error)."""
        self.monkeypatch.setattr(sys, "argv", ["eitr", *map(str, arguments)])
        self.capsys.readouterr()
        try:
            cli.main()
        except SystemExit as exit:
            status = exit.code or 0
        else:
            status = 0
        out, err = self.capsys.readouterr()
        return status, out, err

    def arguments(self, rule="reputation", **options):
        chosen = {"updates": "U.npy", "out": "model.npy", "report": "report.json", **options}
        given_as = [f"--{name}={self.path(value)}" for name, value in chosen.items() if value is not None]
        return ["aggregate", f"--rule={rule}", *given_as]

    def good(self, *more, **options):
        status, _, err = self.call(*self.arguments(**options), *more)
        assert status == 0, err
        return json.loads(self.path("report.json").read_text())

    def refuses(self, complaint, *more, **options):
        """Check: exit status 2, one line, nothing written, everything there as it was."""
        before = snapshot(self.folder)
        with warnings.catch_warnings(record=True) as warned:  # each would be another line
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ResourceWarning)  # never shown
            status, out, err = self.call(*self.arguments(**options), *more)
        assert_one_clear_line(status, out, err, complaint)
        assert [str(one.message) for one in warned] == []
        assert snapshot(self.folder) == before


def snapshot(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def assert_one_clear_line(status, out, err, complaint):
    assert (status, out) == (2, ""), err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert complaint in err


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys):
    return Desk(tmp_path, monkeypatch, capsys)


# Good runs


def test_a_round_writes_the_model_the_report_and_the_state(desk):
    report = desk.good(clients="ids.txt", state="memory")
    state, expected = aggregate("reputation", desk.updates, ["dora", "ann", "carl", "bob"])
    np.testing.assert_array_equal(np.load(desk.path("model.npy")), expected.model)
    assert np.load(desk.path("model.npy")).dtype == np.float32
    assert load_state(desk.path("memory"), "reputation").clients == state.clients
    assert [client["weight"] for client in report["clients"]] == expected.weights.tolist()
    assert {path.name for path in desk.folder.iterdir()} == {
        *("U.npy", "base.npy", "root.npy", "ids.txt", "counts.txt", "model.npy", "report.json", "memory")
    }


def test_the_report_has_the_promised_keys_and_the_order_of_the_updates(desk):
    report = desk.good(clients="ids.txt")
    assert list(report)[:3] == ["rule", "seconds", "clients"]
    assert set(report) <= {"rule", "seconds", "clients", "notes"}
    assert report["rule"] == "reputation"
    assert isinstance(report["seconds"], float)
    assert report["seconds"] >= 0
    assert [client["id"] for client in report["clients"]] == ["dora", "ann", "carl", "bob"]  # not sorted
    for client in report["clients"]:
        assert list(client) == ["id", "weight", "positive", "negative", "reputation"]
        assert client["positive"] + client["negative"] == PARAMETERS
        assert isinstance(client["positive"], int)
        assert 0 <= client["weight"] <= 1
        assert 0 < client["reputation"] < 1
    assert sum(client["weight"] for client in report["clients"]) == pytest.approx(1)


def test_clients_are_told_apart_by_id_not_by_row(desk):
    desk.updates[0] += 5
    desk.put("U.npy", desk.updates)
    report = desk.good(clients="ids.txt")
    assert {client["id"]: client["weight"] for client in report["clients"]}["dora"] == 0.0


@pytest.mark.parametrize("rule", [name for name in ALL_RULES if not RULES[name].has_reputation])
def test_what_a_rule_does_not_have_is_null(desk, rule):
    options = {"global": "base.npy", "root": "root.npy"}
    report = desk.good(rule=rule, **options)
    assert report["rule"] == rule
    for client in report["clients"]:
        assert (client["positive"], client["negative"], client["reputation"]) == (None, None, None)
        assert isinstance(client["weight"], float)


def test_weights_are_null_where_fltrust_trusts_nobody(desk):
    desk.put("base.npy", np.ones(PARAMETERS, dtype=np.float32))
    desk.put("root.npy", np.full(PARAMETERS, 2, dtype=np.float32))
    report = desk.good(rule="fltrust", root="root.npy", **{"global": "base.npy"})
    assert [client["weight"] for client in report["clients"]] == [None] * 4
    assert "no client is trusted" in report["notes"]["kept"]
    np.testing.assert_array_equal(np.load(desk.path("model.npy")), np.ones(PARAMETERS))


@pytest.mark.parametrize("clients", [1, 10, 101])
def test_ids_default_to_row_numbers_padded_to_the_same_width_in_every_round(desk, clients):
    desk.put("U.npy", np.zeros((clients, 2), dtype=np.float32))
    ids = [client["id"] for client in desk.good(rule="fedavg")["clients"]]
    assert ids == sorted(ids)
    assert (ids[0], ids[-1]) == ("000000", f"{clients - 1:06}")


def test_the_state_is_read_and_replaced(desk):
    first = desk.good(clients="ids.txt", state="memory")
    once = desk.path("memory").read_bytes()
    desk.updates[1] += 3
    desk.put("U.npy", desk.updates)
    second = desk.good(clients="ids.txt", state="memory")
    assert desk.path("memory").read_bytes() != once
    assert load_state(desk.path("memory"), "reputation").rounds.tolist() == [2] * 4
    without_memory = desk.good(clients="ids.txt")
    past, now, alone = (report["clients"][1]["reputation"] for report in (first, second, without_memory))
    assert now == pytest.approx((alone + np.exp(-0.5) * past) / (1 + np.exp(-0.5)))


def test_settings_reach_the_rule(desk):
    desk.updates[0] += 50
    desk.put("U.npy", desk.updates)
    chosen = ("kappa=0.3", "kappa=0.9", "lambda=9")
    found = {desk.good("--set", setting)["clients"][0]["reputation"] for setting in chosen}
    assert len(found) == 3
    assert desk.good("--set", "rescale=paper", "--set=cutoff=true", "--round=7")["rule"] == "reputation"


def test_counts_reach_federated_averaging(desk):
    report = desk.good(rule="fedavg", counts="counts.txt")
    assert [client["weight"] for client in report["clients"]] == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_text_files_may_come_from_windows(desk):
    desk.write("ids.txt", b"\xef\xbb\xbfdora\r\nann\r\ncarl\r\nbob\r\n")
    desk.write("counts.txt", "10\r\n20\r\n30\r\n40")
    report = desk.good(rule="fedavg", clients="ids.txt", counts="counts.txt")
    assert [client["id"] for client in report["clients"]] == ["dora", "ann", "carl", "bob"]


def test_double_precision_and_column_major_files_are_read(desk):
    desk.put("U.npy", np.asfortranarray(desk.updates.astype(np.float64)))
    desk.good(rule="median")
    model = np.load(desk.path("model.npy"))
    assert model.dtype == np.float64
    np.testing.assert_array_equal(model, np.median(desk.updates.astype(np.float64), axis=0))


def test_old_output_files_are_replaced(desk):
    desk.write("model.npy", "old")
    desk.write("report.json", "old")
    desk.good()
    assert np.load(desk.path("model.npy")).shape == (PARAMETERS,)


# Bad input


@pytest.mark.parametrize(
    ("value", "complaint"),
    [(np.nan, "sent a NaN"), (np.inf, "sent an infinity"), (-np.inf, "infinity"), (1e7, "1e+07")],
)
def test_a_bad_number_is_one_line_that_names_the_client(desk, value, complaint):
    desk.good(clients="ids.txt", state="memory")
    desk.updates[2, 5] = value
    desk.put("U.npy", desk.updates)
    desk.refuses(complaint, clients="ids.txt", state="memory")
    desk.refuses("client 'carl'", clients="ids.txt", state="memory")


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(5, dtype=np.float32),
        np.zeros((2, 3, 4), dtype=np.float32),
        np.zeros((0, 5), dtype=np.float32),
        np.zeros((4, 0), dtype=np.float32),
        np.float32(3),
        np.zeros((4, 5), dtype=np.int64),
        np.zeros((4, 5), dtype=np.float16),
        np.zeros((4, 5), dtype=">f4"),
        np.zeros((4, 5), dtype=[("a", "f4")]),
        np.array([["a", "b"]]),
    ],
)
def test_updates_of_a_wrong_shape_or_type_are_refused(desk, array):
    desk.good(state="memory")
    desk.put("U.npy", array)
    desk.refuses("", state="memory")


def test_a_base_or_root_of_another_length_is_refused(desk):
    desk.put("base.npy", np.zeros(PARAMETERS + 1, dtype=np.float32))
    desk.refuses("base must hold 12 parameters", rule="fltrust", root="root.npy", **{"global": "base.npy"})


def test_a_missing_base_or_root_is_refused(desk):
    desk.refuses("needs the global parameters", rule="foolsgold")
    desk.refuses("needs parameters trained on trusted data", rule="fltrust", **{"global": "base.npy"})


def an_object_array(path):
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)


def an_archive(path):
    np.savez(path.with_suffix(".npz"), np.zeros((4, 5), dtype=np.float32))
    path.with_suffix(".npz").rename(path)


def a_damaged_archive(path):
    an_archive(path)
    path.write_bytes(path.read_bytes()[:60])


def an_empty_archive(path):
    zipfile.ZipFile(path, "w").close()


def npy(header, data=b""):
    """A .npy file of version 1 with any header."""
    text = header.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


BROKEN = {
    "empty": b"",
    "a text": b"0.1 0.2\n0.3 0.4\n",
    "a pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00cos\nsystem\n",
    "zeros": bytes(1000),
    "the beginning alone": b"\x93NUMPY",
    "another version": b"\x93NUMPY\x09\x00" + bytes(100),
    "terabytes": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }\n", bytes(64)),
    "more than any address": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 8), }\n"),
    "beyond 64 bits": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999, 8), }\n"),
    "a negative length": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-4, 5), }\n", bytes(64)),
    "a length that is no number": npy("{'descr': '<f4', 'fortran_order': False, 'shape': ('4', 5), }\n", bytes(64)),
    "an unknown type": npy("{'descr': '<q9', 'fortran_order': False, 'shape': (4, 5), }\n", bytes(80)),
    "a type that is none": npy("{'descr': [[]], 'fortran_order': False, 'shape': (4, 5), }\n", bytes(80)),
    "keys of two kinds": npy("{'descr': '<f4', 7: False, 'shape': (4, 5), }\n", bytes(80)),
    "a key that cannot be one": npy("{[]: '<f4'}\n", bytes(80)),
    "no dictionary": npy("[1, 2, 3]\n", bytes(80)),
    "an open bracket": npy("{'descr': '<f4', (((\n", bytes(80)),
    "an open string": npy("{'descr': '''\n", bytes(80)),
    "deep nesting": npy("(" * 5000 + ")" * 5000 + "\n"),
    "many signs": npy("-" * 9000 + "1\n"),
    "a call": npy("__import__('os').system('touch owned')\n"),
    "a null": npy("{'descr': '<f4\0', }\n"),
    "indentation": npy("  {\n 'descr'\n   : 1L\n}\n"),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_no_array_is_refused(desk, content):
    desk.good(state="memory")
    desk.write("U.npy", content)
    desk.refuses("U.npy: ", state="memory")


@pytest.mark.parametrize("make", [an_object_array, an_archive, a_damaged_archive, an_empty_archive])
def test_pickles_and_archives_are_refused(desk, make):
    desk.good(state="memory")
    make(desk.path("U.npy"))
    desk.refuses("U.npy: not a", state="memory")


def test_an_array_that_was_cut_off_is_refused(desk):
    whole = desk.path("U.npy").read_bytes()
    for length in (6, 10, 64, 127, 128, 129, len(whole) - 1):
        desk.write("U.npy", whole[:length])
        desk.refuses("U.npy: not a whole .npy file of numbers")


changes = st.integers(0, 255) | st.sampled_from(b"()[]{}'\",:-0123456789fi<>O")


@examples(200, 150)
@given(st.data())
def test_a_changed_header_is_refused_or_read(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("fuzz", numbered=True)
    np.save(folder / "U.npy", np.ones((3, 4), dtype=np.float32))
    content = bytearray((folder / "U.npy").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, 79))] = data.draw(changes)
    (folder / "U.npy").write_bytes(content)
    job = Job(rule="fedavg", updates=folder / "U.npy", out=folder / "out", report=folder / "report")
    try:
        run(job)
    except InputError:
        assert [path.name for path in folder.iterdir()] == ["U.npy"]
    else:
        assert (folder / "out").exists()


def test_missing_files_are_named(desk):
    for option in ("updates", "clients", "counts", "global", "root"):
        desk.refuses("nowhere", **{option: "nowhere"})
    desk.refuses("No such file", updates="nowhere.npy")


def test_a_folder_in_place_of_a_file_is_refused(desk):
    desk.path("folder").mkdir()
    for option in ("updates", "clients", "counts", "global", "root", "state", "out", "report"):
        desk.refuses("folder", **{option: "folder"})


@pytest.mark.parametrize("option", ["updates", "clients", "counts", "global", "root", "state", "out", "report"])
def test_a_name_that_no_file_can_have_is_refused(desk, option):
    desk.refuses("xxx", **{option: "x" * 300})


@pytest.mark.parametrize("option", ["updates", "clients", "counts", "global", "root", "state", "out", "report"])
def test_a_link_that_leads_to_itself_is_refused(desk, option):
    desk.path("loop").symlink_to(desk.path("loop"))
    desk.refuses("loop", **{option: "loop"})


def test_a_folder_for_the_output_that_does_not_exist_is_refused(desk):
    desk.refuses("cannot write", out="nowhere/model.npy")
    desk.refuses("cannot write", report="nowhere/report.json")
    desk.refuses("cannot write", state="nowhere/memory")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("dora\nann\nann\nbob\n", "'ann' occurs twice"),
        ("dora\nann\n", "2 client ids for 4 updates"),
        ("dora\nann\n\nbob\n", "non-empty"),
        ("", "0 client ids"),
        (b"\xff\xfe\x00d", "not a text in UTF-8"),
    ],
)
def test_ids_that_do_not_name_each_client_once_are_refused(desk, text, complaint):
    desk.good(state="memory")
    desk.write("ids.txt", text)
    desk.refuses(complaint, clients="ids.txt", state="memory")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1\n2\n-3\n4\n", "client '000002' claims -3 samples"),
        ("1\n2\nnan\n4\n", "client '000002' claims nan samples"),
        ("1\n2\n1e999\n4\n", "client '000002' claims inf samples"),
        ("1\n2\nmany\n4\n", "line 3 is not a number: 'many'"),
        ("1\n2\n" + "x" * 500 + "\n4\n", "line 3"),
        ("1\n2\n", "2 sample counts for 4 clients"),
        ("1\n\n2\n3\n", "line 2 is not a number"),
    ],
)
def test_counts_that_are_none_are_refused(desk, text, complaint):
    desk.write("counts.txt", text)
    desk.refuses(complaint, rule="fedavg", counts="counts.txt")


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("gamma=1", "no setting 'gamma'"),
        ("kappa", "name=value"),
        ("kappa=2", "kappa must be a number, at least 0, at most 1, not 2.0"),
        ("kappa=nan", "kappa must be"),
        ("varpi=0", "varpi must be a number, above 0, not 0.0"),
        ("lambda=-1", "lambda must be"),
        ("s=-1", "s must be a whole number"),
        ("delta=1", "delta must be a number, above 0, below 1"),
        ("rescale=mean", "rescale must be median or paper, not 'mean'"),
        ("cutoff=1", "cutoff must be true or false"),
        ("ramp=" + "9" * 400, "ramp must be a whole number"),
        ("beta=0.1", "no setting 'beta'"),
    ],
)
def test_a_setting_that_is_none_is_refused(desk, setting, complaint):
    desk.refuses(complaint, "--set", setting)


@pytest.mark.parametrize(("rule", "attackers"), [("multi-krum", 3), ("bulyan", 1), ("nnm", 4), ("dnc", 4)])
def test_a_rule_can_be_told_more_attackers_than_a_small_round_allows(rule, attackers, desk):
    desk.put("U.npy", np.random.default_rng(1).normal(0, 0.1, (10, PARAMETERS)))
    report = desk.good("--set", f"attackers={attackers}", rule=rule, **{"global": "base.npy"})
    assert len(report["clients"]) == 10
    assert "notes" not in report


def test_the_number_of_attackers_that_was_assumed_is_told(desk):
    desk.put("U.npy", np.random.default_rng(1).normal(0, 0.1, (10, PARAMETERS)))
    status, _, err = desk.call(*desk.arguments(rule="multi-krum", **{"global": "base.npy"}))
    assert (status, json.loads(desk.path("report.json").read_text())["notes"]) == (0, {"assumed_attackers": 3})
    assert "3 of them assumed to be attackers (--set attackers=N says how many)" in err


def test_what_a_rule_needs_is_asked_for_before_anything_is_read(desk):
    desk.refuses("'fltrust' needs the global parameters of the round", rule="fltrust", updates="missing.npy")
    desk.refuses("--root", rule="fltrust", updates="missing.npy", **{"global": "base.npy"})


@pytest.mark.parametrize("name", ["spark", "ray:head", "ray:head:0"])
def test_an_unknown_engine_is_refused(desk, name):
    desk.refuses("the engine is local, ray or ray:HOST:PORT", f"--engine={name}")


def test_a_cluster_needs_ray(desk, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    desk.refuses("pip install 'eitr[ray]'", "--engine=ray")


def test_a_cluster_that_nobody_can_reach_is_refused(desk, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(is_initialized=lambda: False))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    desk.refuses(f"cannot reach the Ray cluster {address}: Connection refused", f"--engine=ray:{address}")


def test_an_unknown_rule_is_refused_with_the_list_of_rules(desk):
    desk.refuses("there is no rule 'krum'; there are: fused, reputation, fedavg, median", rule="krum")


@pytest.mark.parametrize("pair", [("out", "state"), ("out", "report"), ("report", "state")])
def test_two_outputs_in_one_file_are_refused(desk, pair):
    desk.good(state="memory")
    desk.refuses("need files of their own", **{"state": "memory", pair[0]: "memory", pair[1]: "memory"})
    desk.path("link").symlink_to(desk.path("memory"))
    desk.refuses("need files of their own", **{"state": "memory", pair[0]: "memory", pair[1]: "link"})


def test_a_state_of_another_version_is_refused(desk):
    desk.good(state="memory")
    content = desk.path("memory").read_bytes()
    assert content.count(b'"version":"1"') == 1
    desk.write("memory", content.replace(b'"version":"1"', b'"version":"2"'))
    desk.refuses("a state of version 2, and this EITR reads version 1", state="memory")


def test_a_truncated_state_is_refused(desk):
    desk.good(state="memory")
    content = desk.path("memory").read_bytes()
    for length in (0, 5, 8, 100, len(content) - 1):
        desk.write("memory", content[:length])
        desk.refuses("memory: not a safetensors file, or a damaged one", state="memory")


def test_the_state_of_another_rule_is_refused(desk):
    desk.good(rule="median", state="memory")
    desk.refuses("the state of the rule 'median', not of 'fedavg'", rule="fedavg", state="memory")


@pytest.mark.parametrize("rule", ["fused", "foolsgold"])
def test_a_state_of_a_model_of_another_size_is_refused(rule, desk):
    desk.good(rule=rule, state="memory", **{"global": "base.npy"})
    desk.put("U.npy", np.zeros((4, 3), dtype=np.float32))
    desk.put("base.npy", np.zeros(3, dtype=np.float32))
    complaint = "a model of 12 parameters, and the updates have 3"
    desk.refuses(complaint, rule=rule, state="memory", **{"global": "base.npy"})


# Full disks


def test_an_error_of_the_disk_leaves_everything_as_it_was(desk, monkeypatch):
    desk.good(state="memory")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    desk.refuses("cannot write", state="memory")
    desk.refuses("No space left on device", state="memory")


@contextlib.contextmanager
def tiny_disk(folder):
    """A real file system of 64 KiB; skip where we may not mount one."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("full", ["out", "report", "state"])
def test_a_full_disk_is_one_line_and_leaves_the_old_state(desk, full):
    # Model, report and state are each larger than the 8 KiB that are left on the disk.
    shape = (4, 3000) if full == "out" else (1500, 2)
    desk.put("U.npy", np.random.default_rng(1).normal(size=shape).astype(np.float32))
    desk.good(rule="fedavg", state="memory")
    with tiny_disk(desk.path("disk")) as disk:
        old = desk.path("memory").read_bytes()
        (disk / "memory").write_bytes(old)
        (disk / "ballast").write_bytes(bytes((56 << 10) - -(-len(old) // 4096) * 4096))
        places = {"out": "model.npy", "report": "report.json", "state": "memory"}
        desk.refuses("No space left on device", rule="fedavg", **{**places, full: f"disk/{places[full]}"})


def child(*arguments, **options):
    return subprocess.run(
        [CONSOLE_SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300, **options
    )


def test_a_file_that_may_not_grow_is_one_line_and_leaves_the_old_state(desk):
    desk.put("U.npy", np.random.default_rng(1).normal(size=(4, 5000)).astype(np.float32))
    desk.good(state="memory")  # also fills the cache of compiled functions, which the limit would hit as well
    before = snapshot(desk.folder)
    result = child(
        *desk.arguments(state="memory"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        # The limit would hit the file of a coverage measurement as well.
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
    )
    assert_one_clear_line(result.returncode, result.stdout, result.stderr, "cannot write")
    assert "File too large" in result.stderr
    assert snapshot(desk.folder) == before


# The installed command


def test_the_installed_command_aggregates(desk):
    result = child(*desk.arguments(clients="ids.txt", state="memory"))
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr.startswith("reputation: 4 clients")
    assert json.loads(desk.path("report.json").read_text())["clients"][0]["id"] == "dora"


def test_the_installed_command_refuses_with_one_line(desk):
    desk.updates[1, 1] = np.nan
    desk.put("U.npy", desk.updates)
    before = snapshot(desk.folder)
    result = child(*desk.arguments(clients="ids.txt"))
    assert_one_clear_line(result.returncode, result.stdout, result.stderr, "client 'ann' sent a NaN")
    assert snapshot(desk.folder) == before


def test_a_wrong_option_is_exit_status_2(desk):
    for arguments in (["aggregate", "--rul=x"], ["aggregate"], ["aggregat"], [*desk.arguments(), "--round=-1"]):
        status, out, err = desk.call(*arguments)
        assert (status, out) == (2, "")
        assert "Usage: " in err


# Help


def test_the_rules_are_listed_for_machines(desk):
    status, out, _ = desk.call("rules", "--json")
    listed = json.loads(out)
    assert status == 0
    assert [rule["name"] for rule in listed] == list(ALL_RULES)
    for rule in listed:
        assert rule["summary"]
        assert set(rule["needs"]) <= {"base", "root"}
        assert [setting["name"] for setting in rule["settings"]][-1] == "ramp"
        for setting in rule["settings"]:
            assert list(setting) == ["name", "default", "allowed", "help"]
    assert {s["name"]: s["default"] for s in listed[1]["settings"]}["lambda"] == 2.0


def test_the_rules_are_listed_for_people(desk):
    status, out, _ = desk.call("rules")
    assert status == 0
    assert len(out.splitlines()) < 30
    assert "kappa" not in out
    for name in ALL_RULES:
        assert name in out


def test_the_published_code_is_listed_as_research(desk):
    _, out, _ = desk.call("rules")
    (line,) = [line for line in out.splitlines() if "published-code" in line]
    assert "for research, not for use" in line


def test_the_settings_of_one_rule_are_shown(desk):
    status, out, _ = desk.call("rules", "fltrust")
    assert status == 0
    assert "--global" in out
    assert "--root" in out
    status, out, _ = desk.call("rules", "residual")
    assert [name for name in ("delta", "lambda", "ramp") if name in out] == ["delta", "lambda", "ramp"]
    assert "needs" not in out.lower()
    status, out, _ = desk.call("rules", "residual", "--json")
    assert [rule["name"] for rule in json.loads(out)] == ["residual"]
    status, out, err = desk.call("rules", "best")
    assert_one_clear_line(status, out, err, "there is no rule 'best'; there are: fused")


def test_shells_can_complete_commands():
    asked = {"_EITR_COMPLETE": "complete_bash", "COMP_WORDS": "eitr ag", "COMP_CWORD": "1"}
    done = subprocess.run([CONSOLE_SCRIPT], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["aggregate"]


def test_every_command_explains_itself_with_an_example(desk):
    commands = [command.name or command.callback.__name__ for command in cli.app.registered_commands]
    assert {"rules", "aggregate"} <= set(commands)
    for command in commands:
        status, out, _ = desk.call(command, "--help")
        assert status == 0
        assert f"{command} [OPTIONS]" in out
        assert f"eitr {command}" in out.partition("Example")[2], command


def test_the_version_is_printed(desk):
    status, out, _ = desk.call("--version")
    assert (status, out) == (0, "0.1.0\n")


def test_a_reader_that_has_seen_enough_is_no_error():
    result = subprocess.run(
        ["bash", "-c", f"set -o pipefail; PYTHONUNBUFFERED=1 {CONSOLE_SCRIPT} rules --json | head -c 1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.stdout == "["
    assert result.stderr == ""
