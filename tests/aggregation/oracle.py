"""The seven rules once more, plainly, in float64, from the specification: slow, obvious, what the real ones must equal.

Every function takes updates as a (clients, parameters) array whose rows are already in the order of the client ids.
"""

import math

import numpy as np

from tests.robust import oracle as detection

BORDER = 1e-5
"""Confidences closer to delta than this may be decided either way (spec, "Exactness and speed")."""


class ReputationRule:
    """Steps 1 to 11 with plain dictionaries for a memory."""

    def __init__(
        self,
        *,
        a=0.5,
        W=2.0,
        kappa=0.3,
        c=0.5,
        s=10,
        delta=0.1,
        varpi=2.0,
        lambda_=2.0,
        rescale="median",
        cutoff=False,
        ramp=0,
    ):
        self.a, self.W, self.kappa, self.c, self.s, self.delta = a, W, kappa, c, s, delta
        self.detection = {"varpi": varpi, "lambda_": lambda_, "rescale": rescale, "delta": delta}
        self.cutoff, self.ramp = cutoff, ramp
        self.reputations = {}  # client -> R of each of its own rounds, oldest first
        self.rounds = {}  # client -> rounds it took part in

    def update(self, ids, updates):
        """One round; ids in any order. Returns a dict of what the round gave, rows as given."""
        by_id = sorted(range(len(ids)), key=lambda row: ids[row])
        judged = [detection.rectify(column, **self.detection) for column in np.asarray(updates)[by_id].T]
        rectified, accepted, confidence = (np.empty((len(ids), len(judged))) for _ in range(3))
        for n, (values, kept, sure, _) in enumerate(judged):
            rectified[by_id, n], accepted[by_id, n], confidence[by_id, n] = values, kept, sure
        positive = accepted.sum(axis=1).astype(int)
        negative = len(judged) - positive
        reputation = np.array([self._reputation(*one) for one in zip(ids, positive, negative, strict=True)])
        share = self._normalised(reputation)
        for row, client in enumerate(ids):
            self.rounds[client] = self.rounds.get(client, 0) + 1
            if self.ramp:
                share[row] *= min(1, self.rounds[client] / self.ramp)
        model = [
            min(max(m + sum(share * (rectified[:, n] - m)) / sum(share), rectified[:, n].min()), rectified[:, n].max())
            for n, (_, _, _, m) in enumerate(judged)
        ]
        return {
            "model": np.array(model),
            "weights": share / share.sum(),
            "positive": positive,
            "negative": negative,
            "reputation": reputation,
            "clear": bool((np.abs(confidence - self.delta) > BORDER).all()),
        }

    def _reputation(self, client, positive, negative):
        kappa, eta = self.kappa, 1 - self.kappa
        now = (kappa * positive + self.W * self.a) / (kappa * positive + eta * negative + self.W)
        self.reputations.setdefault(client, []).append(now)
        window = self.reputations[client][::-1][: self.s + 1]  # newest first: the age is the position
        fading = [math.exp(-self.c * age) for age in range(len(window))]
        return sum(f * r for f, r in zip(fading, window, strict=True)) / sum(fading)

    def _normalised(self, reputation):
        if reputation.max() - reputation.min() < 1e-9:
            return np.ones(len(reputation))
        normalised = (reputation - reputation.min()) / (reputation.max() - reputation.min())
        if self.cutoff:
            normalised = np.where(normalised < 1 / len(normalised), 0.0, normalised)
        return normalised


def fedavg(updates, counts=None):
    if counts is None:
        weights = np.ones(len(updates))
    else:
        weights = np.array([min(count, 5 * np.median(counts)) for count in counts], dtype=np.float64)
    if weights.sum() == 0:
        weights = np.ones(len(updates))
    weights = weights / weights.sum()
    return sum(
        weight * np.asarray(update, np.float64) for weight, update in zip(weights, updates, strict=True)
    ), weights


def median(updates):
    return np.median(np.asarray(updates, np.float64), axis=0)


def trimmed_mean(updates, drop):
    ordered = np.sort(np.asarray(updates, np.float64), axis=0)
    return ordered[drop : len(ordered) - drop].mean(axis=0)


def foolsgold(accumulated):
    """Weights from the sums of steps: Algorithm 1 of Fung et al., one loop after the other."""
    size = len(accumulated)
    if size == 1:
        return np.ones(1)
    vectors = np.asarray(accumulated, np.float64)
    cosine = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            lengths = np.linalg.norm(vectors[i]) * np.linalg.norm(vectors[j])
            cosine[i, j] = vectors[i] @ vectors[j] / lengths if lengths > 0 else 0.0
            if cosine[i, j] > 1 - 1e-9:
                cosine[i, j] = 1
    nearest = [max(cosine[i, j] for j in range(size) if j != i) for i in range(size)]
    alpha = np.empty(size)
    for i in range(size):
        pardoned = []
        for j in range(size):
            if j == i:
                continue
            similar = cosine[i, j]
            if nearest[j] > nearest[i] and nearest[j] > 0:
                similar *= max(nearest[i], 0) / nearest[j]
            pardoned.append(similar)
        alpha[i] = min(max(1 - max(pardoned), 0), 1)
    if alpha.max() <= 0:
        return np.full(size, 1 / size)
    shares = []
    for value in alpha / alpha.max():
        logit = math.inf if value >= 1 else -math.inf if value <= 0 else math.log(value / (1 - value))
        shares.append(min(max(logit + 0.5, 0), 1))
    found = np.array(shares)
    return found / found.sum() if found.sum() > 0 else np.full(size, 1 / size)


def residual_confidences(column, *, lambda_=2.0):
    """(confidence, line) by client for one parameter, as the specification's last section says."""
    raw = np.asarray(column, np.float64)
    size = len(raw)
    order = sorted(range(size), key=lambda i: (raw[i], i))
    w, x = raw[order], np.arange(size)
    slope = detection.repeated_median_slope(w)
    line = slope * x + np.median(w) - slope * (size - 1) / 2
    residual = np.abs(w - line)
    without_smallest = np.sort(residual)[1:]
    tau = 1.48 * (size + 4) / (size - 1) * np.median(without_smallest) + 1e-7 + 2.4e-7 * np.median(np.abs(w))
    bound = lambda_ * np.sqrt(2 / size) * np.sqrt(1 - detection.leverage(size))
    confidence = np.array([1.0 if r == 0 else min(1.0, b * tau / r) for r, b in zip(residual, bound, strict=True)])
    by_client, line_by_client = np.empty(size), np.empty(size)
    by_client[order], line_by_client[order] = confidence, line
    return by_client, line_by_client


def residual(updates, *, delta=0.1, lambda_=2.0):
    """(model, weights, clear): clear says that no confidence is so near to delta that rounding decides."""
    updates = np.asarray(updates, np.float64)
    size = len(updates)
    if size < 4:
        return updates.mean(axis=0), np.full(size, 1 / size), True
    scores, restricted, clear = np.zeros(size), updates.copy(), True
    for n in range(updates.shape[1]):
        confidence, line = residual_confidences(updates[:, n], lambda_=lambda_)
        scores += confidence * confidence.std()
        restricted[:, n] = np.where(confidence < delta, line, updates[:, n])
        clear = clear and bool((np.abs(confidence - delta) > BORDER).all())
    weights = (scores / scores.max()) ** 2 if scores.max() > 0 else np.ones(size)
    weights = weights / weights.sum()
    return weights @ restricted, weights, clear


def fltrust(base, updates, root):
    """(model, weights), weights None where the global model is kept."""
    base, root_step = np.asarray(base, np.float64), np.asarray(root, np.float64) - np.asarray(base, np.float64)
    trust, scaled = [], []
    for update in updates:
        step = np.asarray(update, np.float64) - base
        lengths = np.linalg.norm(step) * np.linalg.norm(root_step)
        trust.append(max(0.0, step @ root_step / lengths) if lengths > 0 else 0.0)
        length = np.linalg.norm(step)
        scaled.append(step * (np.linalg.norm(root_step) / length if length > 0 else 0.0))
    if sum(trust) == 0:
        return base, None
    weights = np.array(trust) / sum(trust)
    return base + weights @ np.array(scaled), weights
