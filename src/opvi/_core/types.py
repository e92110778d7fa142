"""Shared names for shapes. `d` is the number of unconstrained latents, `n` a number of draws."""

from jaxtyping import Array, Float, PRNGKeyArray, PyTree, Scalar

Vector = Float[Array, " d"]
Matrix = Float[Array, "d d"]
Key = PRNGKeyArray
Noise = PyTree

__all__ = ["Array", "Float", "Key", "Matrix", "Noise", "PyTree", "Scalar", "Vector"]
