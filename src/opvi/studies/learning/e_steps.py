"""Three E-steps that start from one mean field: what is compared is where each takes the model."""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp

import opvi

WIDTH = 64
Widen = Callable[[opvi.AmortisedMeanField, jax.Array], opvi.AbstractAmortised]


@dataclass(frozen=True)
class EStep:
    """How q(z | x) goes on from the mean field, and what it follows."""

    name: str
    label: str
    widen: Widen
    objective: opvi.Objective
    estimator: opvi.AbstractEstimator


def e_steps() -> tuple[EStep, ...]:
    kl = opvi.Objective(opvi.KL())
    stein = opvi.Objective(opvi.LangevinStein(opvi.Exact()), opvi.Features(opvi.LinearFeatures()))
    path, functional = opvi.PathGradient(draws=1), opvi.FunctionalGradient(draws=32)
    return (
        EStep("mean_field_kl", "mean field + KL", lambda q, key: q, kl, path),
        EStep("full_rank_kl", "full rank + KL", _full_rank, kl, path),
        EStep("program_ls", "program + LS", _program, stein, functional),
    )


def _full_rank(start: opvi.AmortisedMeanField, key: jax.Array) -> opvi.AmortisedFullRank:
    inputs = start.encoder.in_size
    assert isinstance(inputs, int)
    made = opvi.AmortisedFullRank(inputs, start.dim, key=key, width=WIDTH)
    return eqx.tree_at(lambda q: q.encoder, made, _widened(start.encoder, made.encoder))


def _program(start: opvi.AmortisedMeanField, key: jax.Array) -> opvi.AmortisedProgram:
    inputs = start.encoder.in_size
    assert isinstance(inputs, int)
    made = opvi.AmortisedProgram(inputs, start.dim, key=key, width=WIDTH)
    return eqx.tree_at(lambda q: q.encoder, made, _widened(start.encoder, made.encoder))


def _widened(start: eqx.nn.MLP, wide: eqx.nn.MLP) -> eqx.nn.MLP:
    """`start` with the further outputs of `wide`: means and log scales come first in both."""
    old, new = start.layers[-1], wide.layers[-1]
    assert old.bias is not None
    assert new.bias is not None
    count = old.weight.shape[0]
    # What makes correlations starts at zero, what tells the program about x stays as drawn.
    rest = new.weight[count:].at[: count * count // 4].set(0.0)
    last = (
        jnp.concatenate([old.weight, rest]),
        jnp.concatenate([old.bias, new.bias[count:]]),
    )
    made = eqx.tree_at(lambda m: (m.layers[-1].weight, m.layers[-1].bias), wide, last)
    return eqx.tree_at(lambda m: m.layers[:-1], made, start.layers[:-1])
