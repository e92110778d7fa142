"""A target from a NumPyro model: NumPyro's own density, bijections and names."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from opvi._core.layout import Layout
from opvi._core.types import Key, Scalar, Vector
from opvi.targets._base import AbstractSubsampledTarget, AbstractTarget
from opvi.targets.numpyro_model import (
    Arguments,
    Axes,
    KeepUnobserved,
    Structure,
    check_model,
    inspect_model,
    started,
    with_minibatch,
    with_whole_plates,
)


class NumPyroTarget(AbstractSubsampledTarget):
    """log p(x, z) = -potential_energy(model), Jacobians of the supports included.

    - The arrays among the model's arguments are leaves: a target with other data of the same shape
      runs through what was compiled for this one.
    - Plates with a `subsample_size` are seen whole, unless this is a `minibatch`: then their indices
      come from `plates_key`, and NumPyro's scale size / subsample_size keeps it unbiased.
    """

    model: Callable[..., Any] = eqx.field(static=True)
    arguments: Arguments
    plates_key: Key | None
    layout: Layout = eqx.field(static=True)
    axes: Axes = eqx.field(static=True)
    subsampled: bool = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def log_density(self, z: Vector) -> Scalar:
        from numpyro.infer.util import potential_energy

        args, kwargs = self.arguments.call()
        energy = potential_energy(self._handled, args, kwargs, self.layout.unravel(z))
        return -jnp.asarray(energy)

    def constrain(self, z: Vector) -> PyTree:
        """The latents on their supports, and the deterministic sites recomputed from them."""
        from numpyro.infer.util import constrain_fn

        args, kwargs = self.arguments.call()
        latents = self.layout.unravel(z)
        return constrain_fn(self._handled, args, kwargs, latents, return_deterministic=True)

    def unconstrain(self, latents: Mapping[str, Any]) -> Vector:
        """The z whose latents these are: `constrain` backwards. Other sites are ignored."""
        from numpyro.infer.util import unconstrain_fn

        args, kwargs = self.arguments.call()
        # Seeded only to be traced: every latent is substituted.
        model = started(self._handled)
        known = {name: jnp.asarray(latents[name]) for name in self.layout.names}
        return self.layout.ravel(unconstrain_fn(model, args, kwargs, known))

    def observed_data(self) -> dict[str, Any]:
        """The values of the observed sites, by name."""
        from numpyro import distributions, handlers

        args, kwargs = self.arguments.call()
        sites = handlers.trace(started(self._handled)).get_trace(*args, **kwargs)
        return {
            name: site["value"]
            for name, site in sites.items()
            if site["type"] == "sample"
            and site["is_observed"]
            and not isinstance(site["fn"], distributions.Unit)  # `numpyro.factor`
        }

    def minibatch(self, key: Key) -> AbstractTarget:
        return dataclasses.replace(self, plates_key=key) if self.subsampled else self

    @property
    def columns(self) -> tuple[str, ...]:
        return self.layout.columns

    @property
    def dims(self) -> Mapping[str, Sequence[str]]:
        return self.axes.dims

    @property
    def coords(self) -> Mapping[str, Sequence[Any]]:
        return self.axes.coords

    @property
    def _handled(self) -> Callable[..., Any]:
        if self.plates_key is None:
            return with_whole_plates(self.model)
        return with_minibatch(self.model, self.plates_key)


def from_numpyro(
    model: Callable[..., Any] | KeepUnobserved, *args: Any, **kwargs: Any
) -> NumPyroTarget:
    """A target from a NumPyro model and the arguments it is called with.

    target = opvi.from_numpyro(model, features, labels=labels)

    Supports, plates (as dims), deterministic sites and `subsample_size` are the model's own. A
    discrete latent, a `param`, and a latent that no observed site depends on are refused by name;
    `opvi.KeepUnobserved(model)` in place of `model` keeps the last kind.
    """
    keep_unobserved = isinstance(model, KeepUnobserved)
    function = model.model if isinstance(model, KeepUnobserved) else model
    target, structure = _most_dynamic(function, args, kwargs)
    check_model(function, target.arguments, structure, keep_unobserved=keep_unobserved)
    return target


def _most_dynamic(
    model: Callable[..., Any], args: tuple, kwargs: dict
) -> tuple[NumPyroTarget, Structure]:
    """The target with as many leaves as the model can be traced with.

    A model may use an array as a value in Python (a size, an index set, a NumPy call): such arrays
    have to be constants.
    """
    for arguments in (Arguments.all_arrays(args, kwargs), Arguments.floats(args, kwargs)):
        try:
            target, structure = _make(model, arguments)
            z = jax.ShapeDtypeStruct((target.dim,), jnp.result_type(float))
            eqx.filter_eval_shape(lambda t, z: (t.log_density(z), t.constrain(z)), target, z)
        except Exception:  # whatever a traced value raises in a user's function
            continue
        return target, structure
    return _make(model, Arguments.constants(args, kwargs))


def _make(model: Callable[..., Any], arguments: Arguments) -> tuple[NumPyroTarget, Structure]:
    structure = inspect_model(model, arguments)
    layout = Layout.of(structure.unconstrained)
    target = NumPyroTarget(
        model=model,
        arguments=arguments,
        plates_key=None,
        layout=layout,
        axes=structure.axes,
        subsampled=structure.subsampled,
        dim=layout.size,
    )
    return target, structure
