"""`compare`: several methods on one target, beside a reference."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr

from opvi._core.errors import IncompatibleError, OpviError, require
from opvi._core.layout import Layout
from opvi._core.types import Key, PyTree
from opvi.diagnostics import examine, judge
from opvi.families import Flow, FullRank, MeanField, SemiImplicitProgram
from opvi.posterior import PoorFitWarning, Posterior
from opvi.recipes.comparison import (
    Columns,
    Comparison,
    ComparisonRow,
    columns_of,
    score,
    w1_floor,
)
from opvi.recipes.fit import fit
from opvi.recipes.nuts import NUTSDraws, nuts
from opvi.targets import AbstractDiscreteTarget, AbstractMixedTarget, AbstractTarget

FAMILIES: Mapping[str, Any] = {
    "default": None,
    "mean_field": MeanField,
    "full_rank": FullRank,
    "flow": Flow,
    "program": SemiImplicitProgram,
}
NAMES = (*FAMILIES, "nuts")

Method = str | Posterior | tuple[str, Callable[..., Any] | Posterior]


def compare(
    target: AbstractTarget,
    methods: Sequence[Method] = ("default", "mean_field", "full_rank"),
    *,
    key: Key,
    reference: Any = "nuts",
    draws: int = 4000,
    out: str | Path | None = None,
) -> Comparison:
    """Fit `target` by several methods and measure each against a reference.

    **Arguments:**

    - `methods`: names ("default", "mean_field", "full_rank", "flow", "program", "nuts"), finished
        `Posterior`s, or pairs `(name, posterior)` and `(name, run)` where `run(target, key=key)`
        returns a `Posterior` or draws like those of `posterior.sample`. A method that fails has its
        error in its row.
    - `reference`: "nuts" (BlackJAX, 4 chains; its own row says what it cost and whether it
        converged), or draws like those of `posterior.sample`: latents by name, draws first.
    - `draws`: taken of each method.
    - `out`: a file for the rows, written as they come.
    """
    named = [_named(method) for method in methods]
    names = [name for name, _ in named]
    require(
        len(set(names)) == len(names) and "reference" not in names,
        OpviError,
        expected="methods with different names (and none called 'reference')",
        got=f"{names}",
        write='methods=["default", ("wide", posterior)]',
    )
    reference_key, *keys = jr.split(key, len(named) + 1)
    rows: list[ComparisonRow] = []
    truth, floor, row = _reference(target, reference, reference_key, draws)
    rows += [] if row is None else [row]
    mean_errors, sd_ratios = {}, {}
    for (name, run), method_key in zip(named, keys, strict=True):
        try:
            tree, row = _measure(target, name, run, method_key, draws)
            row, mean_errors[name], sd_ratios[name] = score(row, columns_of(tree), truth, floor)
        except Exception as error:  # one method's failure is a row, not the end of the others
            row = ComparisonRow(name, error=f"{type(error).__name__}: {error}".splitlines()[0])
        rows.append(row)
        if out is not None:
            Comparison(tuple(rows), tuple(truth), mean_errors, sd_ratios).save(out)
    return Comparison(tuple(rows), tuple(truth), mean_errors, sd_ratios)


def _named(method: Method) -> tuple[str, Any]:
    if isinstance(method, Posterior):
        return type(method.family).__name__, method
    if isinstance(method, tuple):
        return method
    require(
        method in NAMES,
        OpviError,
        expected=f"one of the methods {list(NAMES)}, a posterior, or a pair (name, run)",
        got=repr(method),
        write='methods=["default", ("mine", lambda target, key: opvi.fit(target, key=key))]',
    )
    return method, method


def _measure(
    target: AbstractTarget, name: str, run: Any, key: Key, draws: int
) -> tuple[PyTree, ComparisonRow]:
    """Draws of one method on the supports, and its row without distances."""
    fit_key, draw_key, check_key = jr.split(key, 3)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorFitWarning)  # the verdict is in the table
        if isinstance(run, str):
            run = _run_nuts if run == "nuts" else _fitted(FAMILIES[run])
        made = run if isinstance(run, Posterior) else run(target, key=fit_key)
    if isinstance(made, NUTSDraws):
        return _of_nuts(target, name, made, time.perf_counter() - start)
    if not isinstance(made, Posterior):
        tree = jax.device_get(made)
        return tree, ComparisonRow(name, seconds=time.perf_counter() - start)
    tree = jax.device_get(made.sample(draw_key, draws))
    seconds = time.perf_counter() - start
    if made is run:  # it was fitted before
        seconds += made.solution.seconds
    verdict: Any = getattr(made, "verdict", None)
    if verdict is None and not isinstance(target, AbstractDiscreteTarget | AbstractMixedTarget):
        z = made.unconstrained(check_key, 1000)
        verdict = judge(examine(made.target, z, check_key, family=made.family))
    spent: Any = getattr(made, "gradient_evaluations", None)
    return tree, ComparisonRow(
        name,
        verdict=None if verdict is None else str(verdict.status),
        seconds=seconds,
        gradient_evaluations=int(made.solution.gradient_evaluations if spent is None else spent),
    )


def _fitted(family: Any) -> Callable[..., Posterior]:
    return lambda target, key: fit(target, family, key=key, progress=False)


def _run_nuts(target: AbstractTarget, key: Key) -> NUTSDraws:
    require(
        not isinstance(target, AbstractDiscreteTarget | AbstractMixedTarget),
        IncompatibleError,
        expected="continuous latents for NUTS",
        got=f"a {type(target).__name__}",
        write="opvi.compare(target, reference=draws, key=key), with draws from elsewhere",
    )
    return nuts(target, key)


def _of_nuts(
    target: AbstractTarget, name: str, made: NUTSDraws, seconds: float
) -> tuple[PyTree, ComparisonRow]:
    z = jnp.asarray(made.z, jnp.result_type(float))
    tree = jax.device_get(jax.jit(jax.vmap(target.constrain))(z))
    return tree, ComparisonRow(
        name,
        verdict="good" if made.converged else "unreliable",
        seconds=seconds,
        gradient_evaluations=made.gradient_evaluations,
    )


def _reference(
    target: AbstractTarget, reference: Any, key: Key, draws: int
) -> tuple[Columns, float, ComparisonRow | None]:
    """The columns to compare with, the floor, and a row where the reference was made here."""
    row = None
    if isinstance(reference, str):
        require(
            reference == "nuts",
            OpviError,
            expected='"nuts" or draws as the reference',
            got=repr(reference),
            write='reference="nuts"  # or reference=posterior.sample(key, 4000)',
        )
        start = time.perf_counter()
        reference, row = _of_nuts(target, "reference: nuts", _run_nuts(target, key), 0.0)
        row = ComparisonRow(**{**asdict(row), "seconds": time.perf_counter() - start})
    columns = columns_of(reference)
    structure = jax.eval_shape(target.constrain, jax.ShapeDtypeStruct((target.dim,), float))
    known = Layout.of(structure).columns
    require(
        bool(columns) and set(columns) <= set(known),
        OpviError,
        expected=f"reference draws of latents of the target: {list(known)}",
        got=f"{sorted(set(columns) - set(known)) or 'none'}",
        write="reference=other.sample(key, 4000)  # latents by name, the draws along the first axis",
    )
    size = len(next(iter(columns.values())))
    require(
        size >= 100,
        OpviError,
        expected="at least 100 reference draws, along the first axis",
        got=f"{size}",
        write="reference=other.sample(key, 4000)",
    )
    # An entry that cannot vary (the first of a Cholesky factor of correlations) has no sd to count in.
    columns = {name: x for name, x in columns.items() if x.std() > 0}
    return columns, w1_floor(columns, draws), row
