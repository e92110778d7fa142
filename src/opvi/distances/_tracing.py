"""The coefficients of a polynomial, read from what JAX traces of it."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numpy.polynomial import Polynomial as Series


class NotPolynomial(Exception):
    """The name of the first operation that is none of a polynomial."""


def coefficients_of(t: Callable[[Any], Any]) -> tuple[float, ...]:
    """c_0, c_1, ... of t, up to the last that is not 0."""
    with jax.enable_x64(True):
        traced = jax.make_jaxpr(t)(jax.ShapeDtypeStruct((), np.float64))
    if [v.aval.shape for v in traced.jaxpr.outvars] != [()]:
        raise NotPolynomial("more or less than one number")
    (out,) = _run(traced.jaxpr, traced.consts, [Series([0.0, 1.0])])
    c = np.trim_zeros(out.coef if isinstance(out, Series) else np.atleast_1d(out), "b")
    return tuple(float(x) for x in c)


def _run(jaxpr: Any, consts: Any, arguments: list[Any]) -> list[Any]:
    known = dict(zip(jaxpr.constvars, consts, strict=True))
    known |= dict(zip(jaxpr.invars, arguments, strict=True))

    def read(v: Any) -> Any:
        return v.val if hasattr(v, "val") else known[v]

    for equation in jaxpr.eqns:
        outs = _apply(equation, [read(v) for v in equation.invars])
        known |= dict(zip(equation.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def _apply(equation: Any, x: list[Any]) -> list[Any]:
    name, parameters = equation.primitive.name, equation.params
    if not any(isinstance(v, Series) for v in x):
        with jax.enable_x64(True):
            out = equation.primitive.bind(*x, **parameters)
        return list(out) if equation.primitive.multiple_results else [out]
    inner = parameters.get("jaxpr", parameters.get("call_jaxpr"))
    if inner is not None and name in ("jit", "pjit", "closed_call", "custom_jvp_call"):
        return _run(inner.jaxpr, inner.consts, x)
    if name == "div" and not isinstance(x[1], Series):
        return [x[0] / float(x[1])]
    if name == "integer_pow" and parameters["y"] >= 0:
        return [x[0] ** parameters["y"]]
    rules: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "neg": lambda a: -a,
        "square": lambda a: a * a,
        "convert_element_type": lambda a: a,
        "copy": lambda a: a,
    }
    if name not in rules:
        raise NotPolynomial(f"`{name}`")
    return [rules[name](*(v if isinstance(v, Series) else float(v) for v in x))]
