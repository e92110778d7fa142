"""Adaptive importance sampling: make a Gaussian mixture look like the target, from weighted draws.

Each round draws from the mixture, weighs *all* draws so far against the mixture of all proposals so
far (Cornuet et al. 2012), and takes a few steps of weighted EM (Cappe et al. 2008): the mixture
that minimises KL(p || q). That covers what a Gaussian by KL(q || p) leaves out: tails, skewness,
bends, and the weights of separate modes. Nothing is thrown away, so a round costs its draws only.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from opvi._core.linear import safe_cholesky
from opvi.diagnostics import pareto_khat
from opvi.posterior.evaluate import Evaluator
from opvi.recipes.gaussians import Gaussians
from opvi.recipes.weigh import Weighed, ess_fraction, log_ratio, tempered_weights, weigh

WIDE = 1.7  # scale of the component that starts out in the tails
EM_STEPS = 8
MOST_FROM_DRAWS, NARROWER, ROUNDS_OF_EM = 12, 0.7, 5


@dataclass(frozen=True)
class Proposal:
    """A mixture, and fresh draws of it: none that it was fitted to."""

    q: Gaussians
    draws: Weighed


def adapt(
    evaluate: Evaluator,
    first: Proposal,
    rng: np.random.Generator,
    *,
    rounds: int = 5,
    enough: float = 0.8,
    draws: int = 2048,
) -> tuple[Proposal, list[float]]:
    """The best proposal of all rounds, and the ess fraction of each."""
    tried, worth = [first], [_worth(first)]
    components = _with_tails(first.q)
    for _ in range(rounds):
        z, log_weights = _pool(tried)
        capacity = ess_fraction(log_weights) * len(z) / (2 * evaluate.dim + 20)
        if tried[-1] is not first:
            components = _split(components, z, log_weights, rng, int(capacity))
        components = _fit(components, z, log_weights)
        proposal = Proposal(components, weigh(evaluate, components, rng, draws))
        tried.append(proposal)
        worth.append(_worth(proposal))
        # The first mixtures are fitted to few draws that count: give growth two rounds.
        if worth[-1] >= enough or (len(worth) > 3 and max(worth[-2:]) < 1.1 * max(worth[:-2])):
            break
    return tried[int(np.argmax(worth))], [p.draws.ess for p in tried]


def fitted_to(z: np.ndarray, rng: np.random.Generator) -> Gaussians:
    """A mixture fitted to draws: where a chain has been, a mixture can follow."""
    n, d = z.shape
    k = int(np.clip(n // (6 * d + 20), 1, MOST_FROM_DRAWS))
    tril = safe_cholesky(np.atleast_2d(np.cov(z, rowvar=False)))
    places = z[rng.choice(n, k, replace=False)]
    q = Gaussians(np.ones(k) / k, places, np.repeat(NARROWER * tril[None], k, axis=0))
    for _ in range(ROUNDS_OF_EM):
        q = _fit(q, z, np.zeros(n))
    return _with_tails(q)


def _worth(proposal: Proposal) -> float:
    """The ess fraction; less where a heavy tail of the weights says that it will not last."""
    khat = pareto_khat(proposal.draws.log_weights)
    return proposal.draws.ess * float(np.clip(1.5 - khat, 0.2, 1.0))


def _with_tails(q: Gaussians) -> Gaussians:
    return Gaussians(
        np.concatenate([0.7 * q.weights, 0.3 * q.weights]),
        np.concatenate([q.means, q.means]),
        np.concatenate([q.trils, WIDE * q.trils]),
    )


def _pool(tried: list[Proposal]) -> tuple[np.ndarray, np.ndarray]:
    """All draws, and log p - log(mean of the proposals, each counted by its draws)."""
    z = np.concatenate([p.draws.z for p in tried])
    log_density = np.concatenate([p.draws.log_density for p in tried])
    shares = np.log([len(p.draws.z) / len(z) for p in tried])
    log_q: Any = logsumexp(np.stack([p.q.log_prob(z) for p in tried]) + shares[:, None], axis=0)
    return z, log_ratio(log_density, log_q)


def _fit(q: Gaussians, z: np.ndarray, log_weights: np.ndarray) -> Gaussians:
    """Weighted EM, every covariance drawn a little towards what it was."""
    w, d = tempered_weights(log_weights), z.shape[1]
    keep = w > 0
    w, z = w[keep], z[keep]
    for _ in range(EM_STEPS):
        parts = q.log_parts(z)
        joint = w[:, None] * np.exp(parts - logsumexp(parts, axis=1, keepdims=True))
        mass = joint.sum(0)
        count = mass**2 / np.maximum((joint**2).sum(0), 1e-300)
        alive = np.flatnonzero((count > 3) & (mass > 1e-4))
        if len(alive) == 0:
            return q
        means, trils = [], []
        for k in alive:
            r = joint[:, k] / mass[k]
            mean = r @ z
            gaps = z - mean
            covariance = (gaps * r[:, None]).T @ gaps
            prior = q.trils[k] @ q.trils[k].T
            share = count[k] / (count[k] + d + 2)
            means.append(mean)
            trils.append(safe_cholesky(share * covariance + (1 - share) * prior))
        q = Gaussians(mass[alive] / mass[alive].sum(), np.stack(means), np.stack(trils))
    return q


def _split(
    q: Gaussians,
    z: np.ndarray,
    log_weights: np.ndarray,
    rng: np.random.Generator,
    capacity: int,
) -> Gaussians:
    """More components, placed on draws that the mixture covers too thinly."""
    extra = min(q.size, capacity - q.size, 24 - q.size)
    if extra <= 0:
        return q
    w = tempered_weights(log_weights)
    missing = np.where(w > 0, log_weights - log_weights.max(), -np.inf)
    # Where p is large against q: the heaviest draws, picked in proportion to their weight.
    total = np.exp(missing) * w
    if not total.sum() > 0:
        return q
    places = z[rng.choice(len(z), extra, p=total / total.sum())]
    nearest = np.argmax(q.log_parts(places), axis=1)
    return Gaussians(
        np.concatenate([0.7 * q.weights, np.full(extra, 0.3 / extra)]),
        np.concatenate([q.means, places]),
        np.concatenate([q.trils, 0.7 * q.trils[nearest]]),
    )
