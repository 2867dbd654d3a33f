import threading

import pytest

from eitr.errors import InputError
from eitr.robust.threads import over_ranges, thread_count


@pytest.mark.parametrize("threads", ["1", "2", "7"])
@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 1000])
def test_ranges_cover_everything_once_and_start_on_steps(monkeypatch, threads, size):
    monkeypatch.setenv("EITR_THREADS", threads)
    ranges, lock = [], threading.Lock()

    def work(first, last):
        with lock:
            ranges.append((first, last))

    over_ranges(work, size, step=16)
    covered = [n for first, last in sorted(ranges) for n in range(first, last)]
    assert covered == list(range(size))
    assert all(first % 16 == 0 for first, _ in ranges)


@pytest.mark.parametrize("asked", ["0", "-1", "two", ""])
def test_a_senseless_number_of_threads_is_refused(monkeypatch, asked):
    monkeypatch.setenv("EITR_THREADS", asked)
    with pytest.raises(InputError, match="EITR_THREADS"):
        thread_count()


def test_by_default_all_processors_of_the_process_are_used(monkeypatch):
    monkeypatch.delenv("EITR_THREADS", raising=False)
    assert thread_count() >= 1


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    monkeypatch.setenv("EITR_THREADS", "2")

    def work(first, last):
        if first > 0:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        over_ranges(work, 100, step=16)
