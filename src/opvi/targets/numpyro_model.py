"""What a NumPyro model is made of, found by tracing it once without computing anything."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from opvi._core.errors import InvalidTargetError, require
from opvi._core.types import Key


@dataclass(frozen=True)
class KeepUnobserved:
    """A model whose latents are all wanted, also those that no observed site depends on.

    `opvi.from_numpyro(KeepUnobserved(model))`: for densities written as models without data.
    """

    model: Callable[..., Any]


@dataclass(frozen=True)
class Axes:
    """Names and labels of the axes of the sites."""

    dims: Mapping[str, tuple[str, ...]]
    coords: Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Structure:
    """The sites of a model by kind."""

    unconstrained: dict[str, jax.ShapeDtypeStruct]
    discrete: tuple[str, ...]
    delta: tuple[str, ...]
    params: tuple[str, ...]
    observed: tuple[str, ...]
    subsampled_latents: tuple[str, ...]
    subsampled: bool
    axes: Axes


class _Constants:
    """Arguments that are no leaves. Equal when the objects are the same: arrays cannot be hashed."""

    def __init__(self, leaves: tuple[Any, ...]):
        self.leaves = leaves

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Constants)
            and len(self.leaves) == len(other.leaves)
            and all(map(_same, self.leaves, other.leaves))
        )

    def __hash__(self) -> int:
        return hash(tuple(type(leaf) for leaf in self.leaves))


def _same(a: Any, b: Any) -> bool:
    plain = isinstance(a, bool | int | float | complex | str | None)
    return a is b or (plain and type(a) is type(b) and a == b)


class Arguments(eqx.Module):
    """The arguments of a model: arrays that are leaves, everything else constant."""

    arrays: tuple[Any, ...]
    constants_: _Constants = eqx.field(static=True)
    treedef: Any = eqx.field(static=True)

    @classmethod
    def all_arrays(cls, args: tuple, kwargs: dict) -> "Arguments":
        return cls._split(args, kwargs, lambda x: x.dtype.kind in "biufc")

    @classmethod
    def floats(cls, args: tuple, kwargs: dict) -> "Arguments":
        return cls._split(args, kwargs, lambda x: x.dtype.kind in "fc")

    @classmethod
    def constants(cls, args: tuple, kwargs: dict) -> "Arguments":
        return cls._split(args, kwargs, lambda x: False)

    @classmethod
    def _split(cls, args: tuple, kwargs: dict, leaf: Callable[[Any], bool]) -> "Arguments":
        leaves, treedef = jax.tree_util.tree_flatten((args, kwargs))
        dynamic = [isinstance(x, np.ndarray | jax.Array) and leaf(x) for x in leaves]
        pairs = list(zip(leaves, dynamic, strict=True))
        return cls(
            arrays=tuple(jnp.asarray(x) if d else None for x, d in pairs),
            constants_=_Constants(tuple(None if d else x for x, d in pairs)),
            treedef=treedef,
        )

    def call(self) -> tuple[tuple, dict]:
        """(args, kwargs) as the model takes them."""
        constants = self.constants_.leaves
        leaves = [c if a is None else a for a, c in zip(self.arrays, constants, strict=True)]
        return jax.tree_util.tree_unflatten(self.treedef, leaves)


def started(model: Callable[..., Any]) -> Callable[..., Any]:
    """The model with values for all its latents (improper ones included)."""
    from numpyro import handlers
    from numpyro.infer import init_to_uniform

    return handlers.substitute(handlers.seed(model, 0), substitute_fn=init_to_uniform())


def with_whole_plates(model: Callable[..., Any]) -> Callable[..., Any]:
    """Every plate at its full size, whatever its `subsample_size`."""
    from numpyro.primitives import Messenger

    class WholePlates(Messenger):
        def process_message(self, msg: Any) -> None:
            if msg["type"] == "plate":
                size, _ = msg["args"]
                msg["args"], msg["value"] = (size, size), jnp.arange(size)
            if msg["type"] == "prng_key" and msg["value"] is None:
                # Randomness inside a model is no latent: one fixed draw of it, as NumPyro's MCMC.
                msg["value"] = jax.random.key(0)

    return WholePlates(model)


def with_minibatch(model: Callable[..., Any], key: Key) -> Callable[..., Any]:
    """Every plate with a `subsample_size` at random indices."""
    from numpyro import handlers

    return handlers.seed(model, key)


def inspect_model(model: Callable[..., Any], arguments: Arguments) -> Structure:
    """Trace the model once, abstractly, and sort its sites."""
    from numpyro import distributions, handlers
    from numpyro.distributions import biject_to
    from numpyro.infer.util import transform_fn

    found: dict[str, Any] = {}

    def look(arguments: Arguments) -> dict[str, Any]:
        args, kwargs = arguments.call()
        sites = handlers.trace(started(model)).get_trace(*args, **kwargs)
        latents = {
            name: site
            for name, site in sites.items()
            if site["type"] == "sample" and not site["is_observed"]
        }
        smooth = {k: v for k, v in latents.items() if not v["fn"].support.is_discrete}
        plates = {k: site["args"] for k, site in sites.items() if site["type"] == "plate"}
        cut = {k for k, (size, part) in plates.items() if part is not None and part != size}
        found.update(
            discrete=tuple(k for k in latents if k not in smooth),
            delta=tuple(k for k, v in smooth.items() if isinstance(v["fn"], distributions.Delta)),
            params=tuple(k for k, site in sites.items() if site["type"] == "param"),
            observed=tuple(
                k for k, v in sites.items() if v["type"] == "sample" and v["is_observed"]
            ),
            subsampled_latents=tuple(
                k for k, v in latents.items() if cut & {f.name for f in v["cond_indep_stack"]}
            ),
            subsampled=bool(cut),
            axes=_axes(sites, {k: size for k, (size, _) in plates.items()}),
        )
        if found["delta"]:
            return {}
        transforms = {k: biject_to(v["fn"].support) for k, v in smooth.items()}
        values = {k: v["value"] for k, v in smooth.items()}
        return transform_fn(transforms, values, invert=True)

    return Structure(unconstrained=eqx.filter_eval_shape(look, arguments), **found)


def _axes(sites: Mapping[str, Any], sizes: Mapping[str, int]) -> Axes:
    """Plates as dims, `infer={"event_dims": [...]}` for the axes of one draw, and numbers as labels."""
    dims: dict[str, tuple[str, ...]] = {}
    for name, site in sites.items():
        latent = site["type"] == "sample" and not site["is_observed"]
        if not latent and site["type"] != "deterministic":
            continue
        shape = np.shape(site["value"])
        event = len(site["fn"].event_shape) if latent else 0
        names = [f"{name}_dim_{i}" for i in range(len(shape))]
        named = False
        for frame in site["cond_indep_stack"]:
            axis = len(shape) - event + frame.dim
            if 0 <= axis < len(shape) and shape[axis] == sizes.get(frame.name):
                names[axis], named = frame.name, True
        events = list(site["infer"].get("event_dims", [])) if latent else []
        if events:
            names[len(shape) - len(events) :], named = events, True
        if named:
            dims[name] = tuple(names)
    used = {axis for axes in dims.values() for axis in axes}
    coords = {plate: tuple(range(size)) for plate, size in sizes.items() if plate in used}
    return Axes(dims, coords)


def check_model(
    model: Callable[..., Any],
    arguments: Arguments,
    structure: Structure,
    *,
    keep_unobserved: bool,
) -> None:
    """Refuse, by name, what cannot be inferred."""
    require(
        not structure.discrete,
        InvalidTargetError,
        expected="continuous latents: a score is a derivative",
        got=f"the discrete {_listed(structure.discrete)}",
        write="sum it out, for example numpyro.distributions.MixtureSameFamily(Categorical(w), ...) "
        "or numpyro.factor with jax.nn.logsumexp; or observe it with obs=",
    )
    require(
        not structure.delta,
        InvalidTargetError,
        expected="latents that are random",
        got=f"the Delta distribution of {_listed(structure.delta)}",
        write=f"numpyro.deterministic({(structure.delta or ('x',))[0]!r}, value)",
    )
    require(
        not structure.params,
        InvalidTargetError,
        expected="a prior for every unknown",
        got=f"numpyro.param (a point estimate) for {_listed(structure.params)}",
        write="numpyro.sample with a prior, or numpyro.handlers.substitute(model, data={...})",
    )
    require(
        bool(structure.unconstrained),
        InvalidTargetError,
        expected="at least one latent: a numpyro.sample without obs",
        got="a model without latents",
        write='mu = numpyro.sample("mu", numpyro.distributions.Normal(0, 1))',
    )
    require(
        not structure.subsampled_latents,
        InvalidTargetError,
        expected="latents outside of plates with a subsample_size",
        got=f"{_listed(structure.subsampled_latents)} inside of one: its size changes with the batch",
        write="numpyro.plate(name, size) without subsample_size around local latents",
    )
    if keep_unobserved:
        return
    unobserved = _never_observed(model, arguments, structure)
    require(
        not unobserved,
        InvalidTargetError,
        expected="latents that some observed site (obs=, numpyro.factor) depends on",
        got=f"{_listed(unobserved)}, on which no data depends: its posterior is its prior. Was the "
        "data passed to the model?",
        write="opvi.from_numpyro(model, ..., y=y) with the data, or "
        "opvi.from_numpyro(opvi.KeepUnobserved(model), ...) if that is meant",
    )


def _never_observed(
    model: Callable[..., Any], arguments: Arguments, structure: Structure
) -> tuple[str, ...]:
    """Latents without an observed site among their descendants."""
    from numpyro.infer.inspect import get_dependencies

    args, kwargs = arguments.call()
    parents: Any = get_dependencies(model, args, kwargs)["prior_dependencies"]
    informed = set(structure.observed)
    # Parents come before children in a trace: one sweep from the end reaches every ancestor.
    for site in reversed(list(parents)):
        if site in informed:
            informed |= set(parents[site])
    imputed = {  # the missing part of a site with an obs_mask: unobserved on purpose
        name
        for name in structure.unconstrained
        if name.endswith("_unobserved") and name[: -len("unobserved")] + "observed" in parents
    }
    return tuple(name for name in parents if name not in informed | imputed)


def _listed(names: tuple[str, ...]) -> str:
    return ("latent " if len(names) == 1 else "latents ") + ", ".join(map(repr, names))
