"""Mixtures q = sum_k w_k q_k of any reparameterised families, with learned weights."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Int

from opvi._core.errors import IncompatibleError, OpviError, require
from opvi._core.types import Array, Float, Key, Noise, Scalar, Vector
from opvi.families._base import (
    AbstractReparameterisedFamily,
    AbstractSemiImplicitFamily,
    AbstractTractableFamily,
    AbstractWeightedFamily,
)
from opvi.families._conditional import conditional_score
from opvi.families._labels import Labels, from_weights, in_turn, logits_of
from opvi.families.tractable.full_rank import FullRank

Components = tuple[AbstractReparameterisedFamily, ...]


class MixtureNoise(eqx.Module):
    """Noise for every component, the label that says which is used, and how often it is."""

    label: Int[Array, "*n"]
    log_share: Float[Array, "*n"]
    components: tuple[Noise, ...]


class _AbstractMixture(AbstractWeightedFamily):
    """What all mixtures share. Each draw goes through every component: one dense pass, no branches."""

    components: eqx.AbstractVar[Components]
    logits: eqx.AbstractVar[Float[Array, " k"]]

    @property
    def log_weights(self) -> Float[Array, " k"]:
        return jax.nn.log_softmax(self.logits)

    def noise(self, key: Key, n: int) -> MixtureNoise:
        return self._noise(from_weights, key, n)

    def strata(self, key: Key, n: int) -> MixtureNoise:
        return self._noise(in_turn, key, n)

    def weight(self, eps: MixtureNoise) -> Scalar:
        return jnp.exp(self.log_weights[eps.label] - eps.log_share)

    def transform(self, eps: MixtureNoise) -> Vector:
        pairs = zip(self.components, eps.components, strict=True)
        return jnp.stack([q.transform(e) for q, e in pairs])[eps.label]

    def _noise(self, labels: Callable[..., Labels], key: Key, n: int) -> MixtureNoise:
        k_label, k_noise = jr.split(key)
        keys = jr.split(k_noise, len(self.components))
        noises = tuple(q.noise(k, n) for q, k in zip(self.components, keys, strict=True))
        return MixtureNoise(*labels(k_label, n, self.logits), noises)


class _Mixture(_AbstractMixture):
    components: Components
    logits: Float[Array, " k"]
    dim: int = eqx.field(static=True)


class _SemiImplicitMixture(_AbstractMixture, AbstractSemiImplicitFamily):
    components: Components
    logits: Float[Array, " k"]
    dim: int = eqx.field(static=True)

    def conditional_score(self, eps: MixtureNoise) -> Vector:
        # Given the label too, z comes from one component.
        pairs = zip(self.components, eps.components, strict=True)
        return jnp.stack([conditional_score(q, e) for q, e in pairs])[eps.label]


class _TractableMixture(_AbstractMixture, AbstractTractableFamily):
    components: Components
    logits: Float[Array, " k"]
    dim: int = eqx.field(static=True)

    def log_prob(self, z: Vector) -> Scalar:
        parts = [q.log_prob(z) for q in self.components]  # pyright: ignore[reportAttributeAccessIssue]
        return jax.nn.logsumexp(jnp.stack(parts) + self.log_weights)


def Mixture(
    components: Sequence[AbstractReparameterisedFamily],
    weights: Sequence[float] | np.ndarray | None = None,
) -> AbstractWeightedFamily:
    """q = sum_k w_k q_k, with weights that are learned beside the components; equal unless given.

    Of families with a density it has a density itself. Of programs it is a program with learned
    weights, semi-implicit if they all are (or have a density). Fit it with `Reparameterised` or
    `PathGradient`: their draws count by their weights, which is how the weights get a gradient.

    Components that start equal learn to differ slowly: start them in different places.
    """
    components = tuple(components)
    require(
        len(components) > 0
        and all(isinstance(q, AbstractReparameterisedFamily) for q in components)
        and not any(isinstance(q, AbstractWeightedFamily) for q in components),
        IncompatibleError,
        expected="reparameterised families that are no mixtures themselves",
        got=f"{[type(q).__name__ for q in components]}",
        write="Mixture([FullRank(2, loc=-1.0), FullRank(2, loc=1.0)]); a mixture of mixtures is the "
        "mixture of all their components",
    )
    dims = [q.dim for q in components]
    require(
        len(set(dims)) == 1,
        IncompatibleError,
        expected="components over the same latents",
        got=f"components with dim={dims}",
        write=f"Mixture([FullRank({dims[0]}, loc=-1.0), FullRank({dims[0]}, loc=1.0)])",
    )
    logits = logits_of(len(components), weights)
    kind = _Mixture
    if all(isinstance(q, AbstractTractableFamily) for q in components):
        kind = _TractableMixture
    elif all(
        isinstance(q, AbstractTractableFamily | AbstractSemiImplicitFamily) for q in components
    ):
        kind = _SemiImplicitMixture
    return kind(components=components, logits=logits, dim=dims[0])


def FullRankMixture(
    dim: int, *, key: Key, components: int = 4, spread: float = 0.8
) -> AbstractWeightedFamily:
    """A mixture of full-rank Gaussians around random means; its expected covariance is the identity.

    The means are N(0, spread^2 I), and each component has covariance (1 - spread^2) I.
    """
    require(
        components >= 1 and 0.0 <= spread < 1.0,
        OpviError,
        expected="at least one component and a spread in [0, 1)",
        got=f"components={components}, spread={spread}",
        write=f"FullRankMixture({dim}, key=key, components=4, spread=0.8)",
    )
    means = spread * jr.normal(key, (components, dim))
    scale = (1.0 - spread**2) ** 0.5
    return Mixture([FullRank(dim, loc=mean, scale_tril=scale) for mean in means])
