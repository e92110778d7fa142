"""A discrete target that says which of its factors touch which latents."""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from opvi._core.errors import InvalidTargetError, require, teach
from opvi._core.layout import Layout
from opvi._core.states import Cardinalities, replace_each
from opvi._core.types import Array, Float, Scalar, Vector
from opvi.targets._base import AbstractTarget
from opvi.targets.discrete import (
    AbstractDiscreteTarget,
    AbstractMixedTarget,
    DiscreteTarget,
    MixedTarget,
    SubsampledDiscreteTarget,
)
from opvi.targets.log_density import Latents
from opvi.targets.tempered import TemperedTarget

Scopes = tuple[tuple[int, ...], ...]


class AbstractFactorisedTarget(AbstractTarget):
    """log p(x, z) = sum_k phi_k(z_{S_k}): factor k depends on the coordinates in its scope S_k only.

    The Markov blanket of z_i is what shares a factor with it: log p(z_i | z_-i) is the sum of the
    factors whose scope has i, up to a constant. Rao-Blackwellised gradients leave the others out.
    """

    scopes: eqx.AbstractVar[Scopes]

    @abc.abstractmethod
    def log_factors(self, z: Vector) -> Float[Array, " k"]:
        """Every phi_k(z_{S_k}); their sum is the log density."""


class FactorisedDiscreteTarget(AbstractDiscreteTarget, AbstractFactorisedTarget):
    """The sum of `fn(latents)`, an array of log factors, with the scope of each."""

    fn: Callable[[PyTree], Array]
    latents: Latents
    scopes: Scopes = eqx.field(static=True)
    cardinalities: Cardinalities = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def log_factors(self, z: Vector) -> Float[Array, " k"]:
        return self.fn(self.latents.constrain(z)[0])

    def log_density(self, z: Vector) -> Scalar:
        return jnp.sum(self.log_factors(z))

    def constrain(self, z: Vector) -> PyTree:
        return self.latents.constrain(z)[0]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.latents.layout.columns

    @property
    def dims(self) -> Mapping[str, Sequence[str]]:
        return self.latents.dims

    @property
    def coords(self) -> Mapping[str, Sequence[Any]]:
        return self.latents.coords


def from_factors(
    fn: Callable[[PyTree], Array],
    like: PyTree,
    *,
    scopes: Sequence[Sequence[str]],
    supports: Mapping[str, Any],
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
) -> FactorisedDiscreteTarget:
    """A discrete target from its log factors.

    **Arguments:**

    - `fn`: takes one draw of the latents, as in `from_log_density`, and returns a vector: one log
        factor an entry. The log density is their sum.
    - `scopes`: for each factor, what it depends on: names of latents (`"z"`, all of it) or of single
        entries (`"z[3]"`). Checked at one state and all those beside it.
    - `supports`: a discrete constraint for every latent.
    """
    latents = Latents(like, supports, dims, coords)
    missing = sorted(
        {c for c, s in zip(latents.layout.columns, latents.states, strict=True) if not s}
    )
    require(
        not missing,
        InvalidTargetError,
        expected="a discrete support for every latent of a factorised target",
        got=f"none for {missing}",
        write="supports={'z': numpyro.distributions.constraints.boolean}, or from_log_density",
    )
    target = FactorisedDiscreteTarget(
        fn=fn,
        latents=latents,
        scopes=tuple(_coordinates(latents.layout, scope) for scope in scopes),
        cardinalities=tuple(s for s in latents.states if s is not None),
        dim=latents.size,
    )
    _check_factors(target)
    return target


def _coordinates(layout: Layout, scope: Sequence[str]) -> tuple[int, ...]:
    """The coordinates of z that the names in `scope` stand for."""
    columns: dict[str, tuple[int, ...]] = {c: (i,) for i, c in enumerate(layout.columns)}
    start = 0
    for name, size in zip(layout.names, layout.sizes, strict=True):
        columns[name], start = tuple(range(start, start + size)), start + size
    unknown = [name for name in scope if name not in columns]
    require(
        not unknown and not isinstance(scope, str),
        InvalidTargetError,
        expected=f"scopes made of the names {[*layout.names, *layout.columns[:3]]}, ...",
        got=f"{scope!r}",
        write=f"scopes=[[{layout.columns[0]!r}], ...]  # one list of names for each factor",
    )
    return tuple(sorted({i for name in scope for i in columns[name]}))


def _check_factors(target: FactorisedDiscreteTarget) -> None:
    """One factor a scope, and no factor that moves with a coordinate outside its scope."""
    k, d = len(target.scopes), target.dim
    write = "def fn(latents): return jnp.concatenate([...])  # one entry for each of `scopes`"
    try:
        out = jax.eval_shape(target.fn, target.latents.structure())
    except Exception as error:
        raise InvalidTargetError(
            teach(
                "log factors that can be traced by JAX", f"{type(error).__name__}: {error}", write
            )
        ) from error
    require(
        getattr(out, "shape", None) == (k,),
        InvalidTargetError,
        expected=f"a vector of {k} log factors, one for each of `scopes`",
        got=f"shape {getattr(out, 'shape', None)}",
        write=write,
    )
    middle = jnp.asarray([(c - 1) // 2 for c in target.cardinalities], jnp.result_type(float))
    beside = replace_each(middle, target.cardinalities).reshape(-1, d)
    here = target.log_factors(middle)
    there = jax.vmap(target.log_factors)(beside).reshape(d, -1, k)
    # A batch may be rounded otherwise than a single point; two infinities are equal.
    same = (there == here) | (jnp.abs(there - here) <= 1e-4 * (1 + jnp.abs(here)))
    moves = np.asarray(jnp.any(~same, axis=1))
    inside = np.asarray([[i in scope for scope in target.scopes] for i in range(d)])
    bad = [(target.columns[i], int(f)) for i, f in np.argwhere(moves & ~inside)]
    require(
        not bad,
        InvalidTargetError,
        expected="factors that depend on nothing outside their scopes",
        got=f"(latent, number of the factor that moves with it): {bad[:5]}",
        write=f"scopes=[...] with {bad[0][0]!r} in number {bad[0][1]}" if bad else "",
    )


class _Times(eqx.Module):
    fn: Callable[[PyTree], Array]
    beta: Scalar

    def __call__(self, latents: PyTree) -> Array:
        return self.beta * self.fn(latents)


def temper(target: AbstractTarget, beta: Scalar) -> AbstractTarget:
    """p^beta, as the kind of target that `target` is."""
    if isinstance(target, FactorisedDiscreteTarget):
        return eqx.tree_at(lambda t: t.fn, target, _Times(target.fn, beta))
    tempered = TemperedTarget(target, beta)
    if isinstance(target, SubsampledDiscreteTarget):
        return SubsampledDiscreteTarget(tempered, target.cardinalities)
    if isinstance(target, AbstractDiscreteTarget):
        return DiscreteTarget(tempered, target.cardinalities)
    if isinstance(target, AbstractMixedTarget):
        return MixedTarget(tempered, (None,) * target.continuous + target.cardinalities)
    return tempered
