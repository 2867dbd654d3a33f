"""Requests wait as the formulas of queueing theory say."""

import numpy as np
import pytest

from eitr.lab.scale.stations import GAVE_UP, Station, erlang_wait, pollaczek_wait

COUNT = 200_000


def arrivals(rate, count=COUNT, seed=0):
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, count))


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (1, 0.8), (4, 0.8), (20, 0.9)])
def test_random_services_wait_as_erlang_says(servers, load):
    service = 0.002
    rate = load * servers / service
    services = np.random.default_rng(1).exponential(service, COUNT)
    found = Station(servers).serve(arrivals(rate), services).waits.mean()
    assert found == pytest.approx(erlang_wait(rate, service, servers), rel=0.1)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_equal_services_of_one_server_wait_as_pollaczek_and_khinchine_say(load):
    found = Station(1).serve(arrivals(load), np.ones(COUNT)).waits.mean()
    assert found == pytest.approx(pollaczek_wait(load, 1.0), rel=0.05)


def test_a_queue_goes_on_where_it_stopped():
    moments, services = arrivals(3.2, 5000), np.random.default_rng(2).exponential(1.0, 5000)
    whole, parts = Station(4), Station(4)
    together = whole.serve(moments, services).waits
    first, second = parts.serve(moments[:1234], services[:1234]), parts.serve(moments[1234:], services[1234:])
    assert np.array_equal(together, np.concatenate([first.waits, second.waits]))
    assert whole.busy == pytest.approx(services.sum())


def test_who_is_out_of_patience_is_not_served_and_costs_nothing():
    station = Station(1, patience=1.0)
    served = station.serve(np.zeros(4), np.full(4, 0.6))
    assert served.waits.tolist() == [0.0, 0.6, GAVE_UP, GAVE_UP]
    assert served.answered.tolist() == [True, True, False, False]
    assert station.busy == pytest.approx(1.2)


def test_an_overloaded_station_serves_as_much_as_it_can():
    station = Station(2, patience=30.0)
    moments = arrivals(1000.0, 100_000)
    station.serve(moments, np.full(len(moments), 0.01))  # asks for ten seconds of work in each second
    assert station.busy == pytest.approx(2 * (moments[-1] + 30.0), rel=0.02)
