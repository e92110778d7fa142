"""opvi as a user calls it."""

from typing import Any

import jax
import jax.random as jr

import opvi
from benchmarks.methods._outcome import Outcome
from benchmarks.posteriors import Posterior


def target_of(posterior: Posterior) -> opvi.NumPyroTarget:
    return opvi.from_numpyro(posterior.model, *posterior.args, **posterior.kwargs)


def opvi_default(posterior: Posterior, key: jax.Array, draws: int) -> Outcome:
    return _outcome(opvi.fit(target_of(posterior), key=key, progress=False), key, draws)


def gaussian(posterior: Posterior, key: jax.Array, draws: int) -> Outcome:
    """A full-rank Gaussian by KL: the stages of the default fit that end in a Gaussian."""
    fitted = opvi.fit(target_of(posterior), opvi.FullRank, key=key, progress=False)
    return _outcome(fitted, key, draws)


def _outcome(fitted: opvi.Posterior, key: jax.Array, draws: int) -> Outcome:
    sites = jax.device_get(fitted.sample(jr.fold_in(key, 1), draws))
    verdict: Any = getattr(fitted, "verdict", None)
    return Outcome(
        sites,
        _gradient_evaluations(fitted),
        verdict=None if verdict is None else str(getattr(verdict.status, "value", verdict.status)),
        reasons=() if verdict is None else tuple(map(str, verdict.reasons)),
    )


def _gradient_evaluations(fitted: Any) -> int:
    """Of all stages where the posterior counts them; else of the last."""
    whole = getattr(fitted, "gradient_evaluations", None)
    return int(fitted.solution.gradient_evaluations if whole is None else whole)
