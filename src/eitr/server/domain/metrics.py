"""Metrics for Prometheus. They name no participant."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "eitr_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.latency = Histogram(
            "eitr_request_seconds", "Time to answer.", ("route",), buckets=SECONDS, registry=self.registry
        )
        self.updates = Counter("eitr_updates", "Updates received.", registry=self.registry)
        self.refusals = Counter(
            "eitr_updates_refused", "Updates rejected because of their bytes.", ("reason",), registry=self.registry
        )
        self.rounds = Counter("eitr_rounds", "Rounds ended by this worker.", ("outcome",), registry=self.registry)
        self.version = Gauge("eitr_model_version", "The current version of the model.", registry=self.registry)
        self.participants = Gauge("eitr_participants", "Participants enrolled.", registry=self.registry)
        self.open_round = Gauge("eitr_open_round", "The open round, 0 if there is none.", registry=self.registry)
        self.received = Gauge("eitr_open_round_updates", "Updates received in the open round.", registry=self.registry)
        # By its label: without noise there is no value, and 0 would mean that nothing can be told.
        self.epsilon = Gauge(
            "eitr_epsilon",
            "Epsilon of all rounds with noise for somebody who took part in each.",
            ("delta",),
            registry=self.registry,
        )

    def text(self) -> bytes:
        """Return all of them, as Prometheus reads them."""
        return generate_latest(self.registry)
