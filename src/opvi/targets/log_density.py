"""A target from any JAX log density of a pytree of latents."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from opvi._core.errors import InvalidTargetError, require, teach
from opvi._core.layout import Layout
from opvi._core.types import Scalar, Vector
from opvi.targets import supports as _supports
from opvi.targets._base import AbstractTarget
from opvi.targets.discrete import by_states


class Latents(eqx.Module):
    """Names, shapes and supports of the latents: the flat vector z on one side, the pytree on the other."""

    layout: Layout = eqx.field(static=True)
    constrained: Layout = eqx.field(static=True)
    transforms: tuple[Any, ...]
    dims: dict[str, tuple[str, ...]] = eqx.field(static=True)
    coords: dict[str, tuple[Any, ...]] = eqx.field(static=True)

    def __init__(
        self,
        like: PyTree,
        supports: Mapping[str, Any] | None = None,
        dims: Mapping[str, Sequence[str]] | None = None,
        coords: Mapping[str, Sequence[Any]] | None = None,
    ):
        constrained = Layout.of(like)
        require(
            constrained.size > 0,
            InvalidTargetError,
            expected="at least one latent in `like`",
            got=f"{like!r}",
            write='like={"mu": 0.0, "theta": jnp.zeros(8)}',
        )
        self.transforms = _supports.by_name(supports, constrained.names)
        shapes = tuple(
            _supports.unconstrained_shape(*latent)
            for latent in zip(constrained.names, self.transforms, constrained.shapes, strict=True)
        )
        self.constrained = constrained
        self.layout = Layout(constrained.treedef, shapes, constrained.names)
        unknown = sorted(set(dims or {}) - set(constrained.names))
        require(
            not unknown,
            InvalidTargetError,
            expected=f"dims of the latents {list(constrained.names)}",
            got=f"dims for {unknown}",
            write=f'dims={{"{constrained.names[0]}": ["axis"]}}',
        )
        for name, axes in (dims or {}).items():
            shape = constrained.shapes[constrained.names.index(name)]
            require(
                len(axes) == len(shape),
                InvalidTargetError,
                expected=f"one dim for each of the {len(shape)} axes of {name!r}",
                got=f"{list(axes)}",
                write=f"dims={{{name!r}: {[f'{name}_dim_{i}' for i in range(len(shape))]}}}",
            )
        self.dims = {name: tuple(axes) for name, axes in (dims or {}).items()}
        self.coords = {name: tuple(labels) for name, labels in (coords or {}).items()}

    @property
    def size(self) -> int:
        return self.layout.size

    def constrain(self, z: Vector) -> tuple[PyTree, Any]:
        """The latents on their supports, and the log Jacobian of getting there."""
        return _supports.to_support(self.transforms, self.layout.treedef, self.layout.unravel(z))

    @property
    def states(self) -> tuple[int | None, ...]:
        """The number of states of each coordinate of z; None where it is a real number."""
        return tuple(
            t.states if isinstance(t, _supports.Integers) else None
            for t, size in zip(self.transforms, self.layout.sizes, strict=True)
            for _ in range(size)
        )

    def structure(self) -> PyTree:
        """Shapes and dtypes of one constrained draw."""
        leaves = [
            jax.ShapeDtypeStruct(
                shape, jnp.result_type(int if isinstance(t, _supports.Integers) else float)
            )
            for shape, t in zip(self.constrained.shapes, self.transforms, strict=True)
        ]
        return jax.tree_util.tree_unflatten(self.constrained.treedef, leaves)


def check_scalar(fn: Callable[..., Any], *arguments: Any, what: str, write: str) -> None:
    """Refuse at construction, without computing anything, a function that does not return one number."""
    try:
        out = jax.eval_shape(fn, *arguments)
    except Exception as error:
        raise InvalidTargetError(
            teach(f"{what} that can be traced by JAX", f"{type(error).__name__}: {error}", write)
        ) from error
    shape = getattr(out, "shape", None)
    require(
        shape == () and jnp.issubdtype(out.dtype, jnp.floating),
        InvalidTargetError,
        expected=f"{what} that returns one real number (shape ())",
        got=f"shape {shape}" if shape is not None else f"a {type(out).__name__}",
        write=write,
    )


class LogDensityTarget(AbstractTarget):
    """log p(x, z) from a function of the constrained latents; the Jacobian is added here."""

    fn: Callable[[PyTree], Scalar]
    latents: Latents
    dim: int = eqx.field(static=True)

    def __init__(self, fn: Callable[[PyTree], Scalar], latents: Latents):
        check_scalar(
            fn,
            latents.structure(),
            what="a log density",
            write="def log_density(latents): return jnp.sum(...)  # one number for one draw",
        )
        self.fn = fn
        self.latents = latents
        self.dim = latents.size

    def log_density(self, z: Vector) -> Scalar:
        latents, log_jacobian = self.latents.constrain(z)
        return self.fn(latents) + log_jacobian

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


def from_log_density(
    fn: Callable[[PyTree], Scalar],
    like: PyTree,
    *,
    supports: Mapping[str, Any] | None = None,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
) -> AbstractTarget:
    """A target from a log density.

    **Arguments:**

    - `fn`: takes one draw of the latents, a pytree like `like` on its own supports, and returns
        log p(x, z) up to a constant, without any Jacobian.
    - `like`: a pytree with the shapes of one draw (the values do not matter).
    - `supports`: NumPyro constraints by latent name; a latent that is not named is unconstrained.
        `constraints.boolean` and `constraints.integer_interval(0, c)` make a latent discrete: `fn`
        is given integers for it.
    - `dims`, `coords`: names of axes and labels along them, for labelled output.
    """
    latents = Latents(like, supports, dims, coords)
    return by_states(LogDensityTarget(fn, latents), latents.states, subsampled=False)
