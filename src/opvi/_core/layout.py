"""The map between a flat vector and a named pytree of arrays."""

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


@dataclass(frozen=True)
class Layout:
    """Where each leaf of a pytree lies in one flat vector. Hashable: a static part of a target."""

    treedef: Any
    shapes: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, like: PyTree) -> "Layout":
        """The layout of a pytree of arrays (or of anything with a `.shape`; a number has shape ())."""
        paths, treedef = jax.tree_util.tree_flatten_with_path(like)
        names = tuple(
            jax.tree_util.keystr(path, simple=True, separator=".") or "z" for path, _ in paths
        )
        shapes = tuple(tuple(getattr(leaf, "shape", ())) for _, leaf in paths)
        return cls(treedef, shapes, names)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(math.prod(shape) for shape in self.shapes)

    @property
    def size(self) -> int:
        return sum(self.sizes)

    @property
    def columns(self) -> tuple[str, ...]:
        """One name for each entry of the flat vector: `tau`, `theta[0]`, `beta[1,2]`."""
        out: list[str] = []
        for name, shape in zip(self.names, self.shapes, strict=True):
            if shape == ():
                out.append(name)
                continue
            for flat in range(math.prod(shape)):
                index, rest = [], flat
                for extent in reversed(shape):
                    rest, i = divmod(rest, extent)
                    index.append(i)
                out.append(f"{name}[{','.join(str(i) for i in reversed(index))}]")
        return tuple(out)

    def unravel(self, z: Float[Array, " d"]) -> PyTree:
        leaves, start = [], 0
        for shape, size in zip(self.shapes, self.sizes, strict=True):
            leaves.append(z[start : start + size].reshape(shape))
            start += size
        return jax.tree_util.tree_unflatten(self.treedef, leaves)

    def ravel(self, tree: PyTree) -> Float[Array, " d"]:
        leaves = self.treedef.flatten_up_to(tree)
        if not leaves:
            return jnp.zeros((0,))
        return jnp.concatenate([jnp.ravel(jnp.asarray(leaf)) for leaf in leaves])
