"""Supports: from the flat vector to the domain of a latent, with NumPyro's constraints.

Real numbers go through NumPyro's bijections; latents with finitely many states are counted from 0.
"""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from opvi._core.domains import AbstractDomain, Box, Simplex
from opvi._core.errors import InvalidTargetError, require, teach
from opvi._core.types import Array


class Integers(eqx.Module):
    """z in {0, ..., states - 1}, as floats, read as the integers from `lower` on.

    It has the methods of a bijection that the rest of this file uses. A mass has no Jacobian.
    """

    lower: int = eqx.field(static=True)
    states: int = eqx.field(static=True)

    def __call__(self, x: Array) -> Array:
        return jnp.round(x).astype(jnp.result_type(int)) + self.lower

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def log_abs_det_jacobian(self, x: Array, y: Array) -> Array:
        return jnp.zeros((), x.dtype)


def bijection(name: str, support: Any):
    """NumPyro's bijection from real numbers onto `support` (a `numpyro.distributions.constraints`)."""
    from numpyro.distributions import biject_to, constraints

    require(
        isinstance(support, constraints.Constraint),
        InvalidTargetError,
        expected=f"a NumPyro constraint as the support of latent {name!r}",
        got=f"{support!r}",
        write=f"supports={{{name!r}: numpyro.distributions.constraints.positive}}",
    )
    if support.is_discrete:
        return integers(name, support)
    try:
        return biject_to(support)
    except NotImplementedError:
        raise InvalidTargetError(
            teach(
                f"a support of latent {name!r} that has a known bijection from the real numbers",
                f"{support!r}",
                "one of numpyro.distributions.constraints (positive, unit_interval, simplex, "
                "ordered_vector, corr_cholesky, ...), or register yours with "
                "numpyro.distributions.biject_to",
            )
        ) from None


def domain_of(support: Any) -> AbstractDomain:
    """The domain of a NumPyro constraint, for inference on the support itself, without a transform."""
    from numpyro.distributions import constraints

    if isinstance(support, type(constraints.simplex)):
        return Simplex()
    # Exactly these: a circle has bounds too, and no boundary.
    known = (
        *(constraints.positive, constraints.nonnegative, constraints.unit_interval),
        *(constraints.less_than(0.0), constraints.less_than_eq(0.0)),
        *(constraints.interval(0.0, 1.0), constraints.open_interval(0.0, 1.0)),
    )
    require(
        type(support) in {type(c) for c in known},
        InvalidTargetError,
        expected="a support whose boundary is known: an interval, a half-line or a simplex",
        got=f"{support!r}",
        write="Box(lower, upper), HalfSpace(normal), Simplex() or EuclideanBall(radius), a domain of your "
        "own (AbstractDomain), or a change of variables: from_log_density(fn, like, supports=...)",
    )
    lower, upper = getattr(support, "lower_bound", None), getattr(support, "upper_bound", None)
    return Box(-np.inf if lower is None else lower, np.inf if upper is None else upper)


def integers(name: str, support: Any) -> Integers:
    """The states of a discrete support, of which there have to be finitely many."""
    from numpyro.distributions import constraints

    if isinstance(support, type(constraints.boolean)):
        return Integers(0, 2)
    lower, upper = getattr(support, "lower_bound", None), getattr(support, "upper_bound", None)
    require(
        _is_integer(lower) and _is_integer(upper) and int(lower) < int(upper),  # pyright: ignore
        InvalidTargetError,
        expected=f"a discrete support of latent {name!r} with two states or more, and an end to them",
        got=f"{support!r}",
        write=f"supports={{{name!r}: constraints.boolean}} or, beyond the last state that matters, "
        f"{{{name!r}: constraints.integer_interval(0, 30)}}",
    )
    return Integers(int(lower), int(upper) - int(lower) + 1)  # pyright: ignore[reportArgumentType]


def _is_integer(bound: Any) -> bool:
    return isinstance(bound, Integral) or (
        isinstance(bound, np.ndarray | jax.Array)
        and bound.shape == ()
        and jnp.issubdtype(bound.dtype, jnp.integer)
    )


def by_name(supports: Mapping[str, Any] | None, names: tuple[str, ...]) -> tuple[Any, ...]:
    """One bijection (or None: unconstrained) for each latent, in the order of `names`."""
    supports = dict(supports or {})
    unknown = sorted(set(supports) - set(names))
    require(
        not unknown,
        InvalidTargetError,
        expected=f"supports of the latents {list(names)}",
        got=f"a support for {unknown}",
        write=f"supports={{{names[0]!r}: ...}}" if names else "supports=None",
    )
    return tuple(bijection(name, supports[name]) if name in supports else None for name in names)


def unconstrained_shape(name: str, transform: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape before the bijection: a simplex of k numbers has k - 1 free ones."""
    if transform is None:
        return shape
    try:
        return tuple(transform.inverse_shape(shape))
    except ValueError as error:
        raise InvalidTargetError(
            teach(
                f"a shape of latent {name!r} that its support allows",
                f"shape {shape}: {error}",
                f"like={{{name!r}: jnp.zeros(...)}} with the shape of one constrained draw",
            )
        ) from None


def to_support(transforms: tuple[Any, ...], treedef: Any, tree: PyTree) -> tuple[PyTree, Any]:
    """The constrained latents and sum of log |det Jacobian|."""
    leaves, log_jacobian = [], 0.0
    for transform, x in zip(transforms, jax.tree_util.tree_leaves(tree), strict=True):
        if transform is None:
            leaves.append(x)
            continue
        y = transform(x)
        log_jacobian = log_jacobian + transform.log_abs_det_jacobian(x, y).sum()
        leaves.append(y)
    return jax.tree_util.tree_unflatten(treedef, leaves), log_jacobian
