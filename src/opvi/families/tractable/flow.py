"""Normalising flows, through flowjax."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Key, Scalar, Vector
from opvi.families._base import AbstractTransportFamily
from opvi.families.tractable._held import hold, hold_non_trainable


class FlowjaxFamily(AbstractTransportFamily):
    """z = T(eps), a bijection T of flowjax and a base law of eps: any one-dimensional `Transformed`.

    lambda is every floating-point array of T, except what flowjax marks as `NonTrainable`. The law of
    the noise must not depend on lambda: parameters of the base (the degrees of freedom of a Student-t,
    say) are held fixed.
    """

    distribution: Any
    dim: int = eqx.field(static=True)

    def __init__(self, distribution: Any):
        from flowjax.distributions import AbstractTransformed, Transformed

        shape = getattr(distribution, "shape", None)
        require(
            isinstance(distribution, AbstractTransformed)
            and distribution.cond_shape is None
            and len(distribution.shape) == 1,
            OpviError,
            expected="an unconditional flowjax distribution over vectors that is the image of a base "
            "law (a flow, MultivariateNormal, StudentT, ...)",
            got=f"{type(distribution).__name__} of shape {shape}",
            write="FlowjaxFamily(flowjax.flows.masked_autoregressive_flow(key, "
            "base_dist=flowjax.distributions.StandardNormal((dim,)), invert=False)); for a mixture "
            "Mixture([FlowjaxFamily(...), ...])",
        )
        merged = distribution.merge_transforms()
        base, bijection = hold(merged.base_dist), hold_non_trainable(merged.bijection)
        self.distribution = Transformed(base, bijection)
        self.dim = distribution.shape[0]

    def _unwrapped(self) -> Any:
        # flowjax computes with the tree in which masks and positive scales are applied.
        from paramax import unwrap

        with _integers_are_numbers():
            return unwrap(self.distribution)

    def noise(self, key: Key, n: int) -> Float[Array, "n d"]:
        from flowjax.distributions import StandardNormal

        base = self._unwrapped().base_dist
        if isinstance(base, StandardNormal):
            return jr.normal(key, (n, self.dim))
        return jax.vmap(base._sample)(jr.split(key, n))

    def transform(self, eps: Vector) -> Vector:
        return self._unwrapped().bijection.transform(eps)

    def transform_and_log_prob(self, eps: Vector) -> tuple[Vector, Scalar]:
        flow = self._unwrapped()
        z, log_det = flow.bijection.transform_and_log_det(eps)
        return z, flow.base_dist._log_prob(eps) - log_det

    def log_prob(self, z: Vector) -> Scalar:
        return self._unwrapped()._log_prob(z)


def Flow(
    dim: int,
    *,
    key: Key,
    layers: int = 8,
    width: int = 64,
    depth: int = 1,
    transformer: Any = None,
    activation: Callable = jax.nn.relu,
) -> FlowjaxFamily:
    """An inverse autoregressive flow (Kingma et al. 2016) that starts at N(0, I).

    z_i is an increasing map of eps_i whose coefficients are a masked network of eps_1, ..., eps_{i-1};
    `layers` of these with permutations in between. `transformer` is the map, a scalar flowjax
    bijection; affine unless told otherwise.

    Draws, and the density *at a draw*, take one pass through each layer: all that a fit needs with
    `Reparameterised`. The density anywhere else (`log_prob`) takes `dim` passes one after the other.
    """
    from flowjax.flows import masked_autoregressive_flow

    require(
        dim >= 2 and layers >= 1 and width >= 1,
        OpviError,
        expected="at least two latents (an autoregressive map of one is no more than its transformer), "
        "one layer and one unit",
        got=f"dim={dim}, layers={layers}, width={width}",
        write=f"TriangularSplineFlow({dim}, key=key) for one latent; Flow(dim, key=key, layers=8)",
    )
    return _from_standard_normal(
        masked_autoregressive_flow,
        dim,
        key,
        transformer=transformer,
        flow_layers=layers,
        nn_width=width,
        nn_depth=depth,
        nn_activation=activation,
    )


def CouplingFlow(
    dim: int,
    *,
    key: Key,
    layers: int = 8,
    width: int = 64,
    depth: int = 1,
    transformer: Any = None,
    activation: Callable = jax.nn.relu,
) -> FlowjaxFamily:
    """A coupling flow (Dinh, Sohl-Dickstein and Bengio 2017) that starts at N(0, I).

    One half of the coordinates sets the coefficients of the other half: less expressive per layer than
    `Flow`, and one pass each way, so that `log_prob` is cheap everywhere.
    """
    from flowjax.flows import coupling_flow

    require(
        dim >= 2 and layers >= 1 and width >= 1,
        OpviError,
        expected="at least two latents to couple, one layer and one unit",
        got=f"dim={dim}, layers={layers}, width={width}",
        write=f"TriangularSplineFlow({dim}, key=key) for one latent",
    )
    return _from_standard_normal(
        coupling_flow,
        dim,
        key,
        transformer=transformer,
        flow_layers=layers,
        nn_width=width,
        nn_depth=depth,
        nn_activation=activation,
    )


def TriangularSplineFlow(dim: int, *, key: Key, layers: int = 4, knots: int = 8) -> FlowjaxFamily:
    """Triangular matrices and monotone splines of one coordinate in turn; one latent is enough.

    Few parameters and one pass each way. What it bends, it bends along coordinates.
    """
    from flowjax.flows import triangular_spline_flow

    return _from_standard_normal(
        triangular_spline_flow, dim, key, flow_layers=layers, knots=knots, init=_nearly_zero
    )


def _integers_are_numbers() -> Any:
    """flowjax adds integer bounds of a spline to floats, which strict promotion refuses."""
    return jax.numpy_dtype_promotion("standard")


def _nearly_zero(key: Key, shape: tuple[int, ...]) -> Array:
    return 0.01 * jr.normal(key, shape)


def _from_standard_normal(make: Callable, dim: int, key: Key, **kwargs: Any) -> FlowjaxFamily:
    from flowjax.distributions import StandardNormal

    with _integers_are_numbers():
        flow = make(key, base_dist=StandardNormal((dim,)), invert=False, **kwargs)
    return FlowjaxFamily(_silence_last_layers(flow))


def _silence_last_layers(flow: Any) -> Any:
    """Zero the last layer of every network: flowjax adds its output to an identity."""

    def is_network(node: Any) -> bool:
        return isinstance(node, eqx.nn.MLP)

    def zero(leaf: Any) -> Any:
        return jnp.zeros_like(leaf) if eqx.is_inexact_array(leaf) else leaf

    def silence(node: Any) -> Any:
        if not is_network(node):
            return node
        return eqx.tree_at(
            lambda mlp: mlp.layers[-1], node, replace_fn=lambda last: jax.tree.map(zero, last)
        )

    return jax.tree.map(silence, flow, is_leaf=is_network)
