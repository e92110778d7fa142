"""Supports: from real numbers to the domain of a latent and back, with NumPyro's bijections."""

from collections.abc import Mapping
from typing import Any

import jax
from jaxtyping import PyTree

from opvi._core.errors import InvalidTargetError, require, teach


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
    require(
        not support.is_discrete,
        InvalidTargetError,
        expected=f"a continuous support for latent {name!r}",
        got=f"the discrete support {support!r}",
        write="sum the discrete latent out of the log density, or leave it out of `like`",
    )
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
