"""A program with learned weights: one network, a label among its inputs."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Int

from opvi._core.errors import OpviError, require
from opvi._core.types import Array, Float, Key, Scalar, Vector
from opvi.families._base import AbstractSemiImplicitFamily, AbstractWeightedFamily
from opvi.families._labels import Labels, from_weights, in_turn, logits_of
from opvi.families.programs.networks import SkipMLP


class LabelledNoise(eqx.Module):
    """The noise of the network, the label and how often it is drawn, the Gaussian noise on top."""

    smooth: Float[Array, "*n e"]
    label: Int[Array, "*n"]
    log_share: Float[Array, "*n"]
    xi: Float[Array, "*n d"]


class WeightedProgram(AbstractWeightedFamily, AbstractSemiImplicitFamily):
    """z = loc_k + g(eps, k) + s_k xi, with k ~ w learned, eps ~ N(0, I) and xi ~ N(0, I).

    A continuous map has to join separated modes by a bridge of mass, and a sign with fixed odds
    (`SemiImplicitProgram(switches=1)`) jumps but puts half of the mass on each side. Here the odds are
    parameters. A label is no differentiable function of them, but the expectation is:

        E_q[h] = sum_k w_k E[h(R(eps, k))],    d/dw_k E_q[h] = E[h(R(eps, k))].

    So labels are drawn in equal shares, whatever w is, and a draw of label k counts K w_k. That is
    differentiable in w, unbiased, and without the variance of drawing labels (`AbstractWeightedFamily`).

    Given eps and k, z is Gaussian: grad_z log q(z | eps, k) = -xi / s_k. `Mixture` does the same with a
    network for each label; here there is one.

    Fit it with `Reparameterised`. Objectives that compare scores hardly see the weights of modes that
    are far apart, however right the gradient is: see "Where each objective fails" in the documentation.
    """

    network: Callable[[Vector], Vector]
    locs: Float[Array, "k d"]
    log_scales: Float[Array, "k d"]
    logits: Float[Array, " k"]
    dim: int = eqx.field(static=True)
    noise_dim: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        *,
        key: Key,
        components: int = 2,
        weights: Sequence[float] | np.ndarray | None = None,
        noise_dim: int | None = None,
        width: int = 64,
        depth: int = 2,
        spread: float = 0.8,
        noise_scale: float = 0.3,
        activation: Callable = jax.nn.gelu,
    ):
        # Var z = spread^2 + skip^2 + noise_scale^2 at the start: one.
        rest = 1.0 - spread**2 - noise_scale**2
        require(
            components >= 1 and spread >= 0.0 and noise_scale > 0.0 and rest >= 0.0,
            OpviError,
            expected="at least one component, spread >= 0, noise_scale > 0, and "
            "spread^2 + noise_scale^2 <= 1: the program starts with variance one",
            got=f"components={components}, spread={spread}, noise_scale={noise_scale}",
            write=f"WeightedProgram({dim}, key=key, components=2, spread=0.8, noise_scale=0.3)",
        )
        dtype = jnp.result_type(float)
        k_network, k_locs = jr.split(key)
        self.dim = dim
        self.noise_dim = dim if noise_dim is None else noise_dim
        self.network = SkipMLP(
            self.noise_dim + components,
            dim,
            key=k_network,
            width=width,
            depth=depth,
            scale=rest**0.5,
            activation=activation,
        )
        # Labels that start equal learn to differ slowly.
        self.locs = spread * jr.normal(k_locs, (components, dim), dtype)
        self.log_scales = jnp.full((components, dim), jnp.log(noise_scale), dtype)
        self.logits = logits_of(components, weights)

    @property
    def log_weights(self) -> Float[Array, " k"]:
        return jax.nn.log_softmax(self.logits)

    def noise(self, key: Key, n: int) -> LabelledNoise:
        return self._noise(from_weights, key, n)

    def strata(self, key: Key, n: int) -> LabelledNoise:
        return self._noise(in_turn, key, n)

    def weight(self, eps: LabelledNoise) -> Scalar:
        return jnp.exp(self.log_weights[eps.label] - eps.log_share)

    def transform(self, eps: LabelledNoise) -> Vector:
        label = jax.nn.one_hot(eps.label, self.logits.shape[0], dtype=eps.smooth.dtype)
        centre = self.locs[eps.label] + self.network(jnp.concatenate([eps.smooth, label]))
        return centre + jnp.exp(self.log_scales[eps.label]) * eps.xi

    def conditional_score(self, eps: LabelledNoise) -> Vector:
        return -eps.xi * jnp.exp(-self.log_scales[eps.label])

    def _noise(self, labels: Callable[..., Labels], key: Key, n: int) -> LabelledNoise:
        k_label, k_noise = jr.split(key)
        normal = jr.normal(k_noise, (n, self.noise_dim + self.dim), self.logits.dtype)
        label, log_share = labels(k_label, n, self.logits)
        return LabelledNoise(
            normal[:, : self.noise_dim], label, log_share, normal[:, self.noise_dim :]
        )
