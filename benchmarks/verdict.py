"""The verdict as a classifier: good and bad fits made on purpose, and what it says of each.

    python -m benchmarks.verdict --data DIR --out rows.jsonl [--figure roc.png] [--posteriors NAME ...]

Every posterior gets the default fit, Gaussians (Laplace, full-rank KL, mean field), Gaussians and
exact-like draws scaled, shifted and cut on purpose, and short runs of a mean-field Gaussian. Targets with
exact draws add shapes (banana, ring, funnel, heavy tails) and fits that miss modes. Truth is the
distance of 4,000 draws to reference draws; the verdict sees 1,500 draws of the fit and the target, never
the reference. A fit is *bad* where w1 > 0.15 or logsd_err > 0.2, *right* where w1 < 1.5 floors.

    false good     share of bad fits called good          (wanted: at most 5%)
    false alarm    share of right fits not called good    (wanted: at most 15%)

The distance is one of margins: a diagonal Gaussian with the right sds is far from a correlated posterior and
near it by this number. It is counted as neither.

Rows that FILE has are not measured again. `--summary` reads the rows only.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import opvi
from benchmarks import metrics
from benchmarks.posteriors import available, load
from benchmarks.verdict_targets import EXACT, Exact
from opvi.diagnostics import judge
from opvi.families import AbstractFamily
from opvi.posterior.evaluate import Evaluator
from opvi.recipes.basins import search
from opvi.recipes.check import gather
from opvi.recipes.regression import fit_gaussian

DRAWS, SEEN = 4000, 1500
BAD_W1, BAD_LOG_SD, RIGHT_FLOORS = 0.15, 0.2, 1.5
MARGINS = "marginal sds"  # a diagonal Gaussian with them
SCALES = (0.6, 0.8, 0.9, 1.1, 1.25, 1.6)
SHIFTS = (0.1, 0.25, 0.6)

Fit = tuple[str, np.ndarray, AbstractFamily | None, opvi.Verdict | None]
Row = dict[str, Any]


def fits(target: opvi.AbstractTarget, key: jax.Array) -> Iterator[Fit]:
    """Name, draws on the unconstrained scale, q where the draws are its own, a verdict if there is one."""
    rng = np.random.default_rng(np.asarray(jr.key_data(key)))
    posterior = opvi.fit(target, key=key, progress=False)
    draws = np.asarray(posterior.unconstrained(jr.fold_in(key, 1), DRAWS), np.float64)
    yield "default", draws, None, posterior.verdict
    yield from damaged("default", draws, rng)

    evaluate = Evaluator(target)
    best = search(evaluate, rng).basins[0]
    gaussian = fit_gaussian(evaluate, best.mean, best.tril, rng)[0]
    mean, tril = gaussian.means[0], gaussian.trils[0]
    for name, loc, scale in (
        ("laplace", best.mean, best.tril),
        ("full rank", mean, tril),
        ("mean field", mean, np.diag(1 / np.sqrt(np.diag(np.linalg.inv(tril @ tril.T))))),
        (MARGINS, mean, np.diag(np.linalg.norm(tril, axis=1))),
    ):
        yield name, *normal(loc, scale, jr.fold_in(key, 2)), None
    direction = rng.standard_normal(target.dim) / np.sqrt(target.dim)
    for scale in SCALES:
        yield f"full rank x{scale}", *normal(mean, scale * tril, jr.fold_in(key, 3)), None
    for shift in SHIFTS:
        moved = mean + shift * np.sqrt(target.dim) * tril @ direction
        yield f"full rank +{shift} sd", *normal(moved, tril, jr.fold_in(key, 4)), None
    for steps in (150,):
        family, rate = opvi.MeanField(target.dim), 3e-2
        short = opvi.fit(target, family, key=key, steps=steps, learning_rate=rate, progress=False)
        z = np.asarray(short.unconstrained(jr.fold_in(key, 5), DRAWS), np.float64)
        yield f"mean field, {steps} steps", z, short.family, None


def normal(mean: np.ndarray, tril: np.ndarray, key: jax.Array) -> tuple[np.ndarray, AbstractFamily]:
    dtype = jnp.result_type(float)
    q = opvi.FullRank(len(mean), loc=jnp.asarray(mean, dtype), scale_tril=jnp.asarray(tril, dtype))
    return np.asarray(q.sample(key, DRAWS), np.float64), q


def damaged(name: str, draws: np.ndarray, rng: np.random.Generator) -> Iterator[Fit]:
    """Scaled, shifted and cut: no density is known of these."""
    mean, sd = draws.mean(0), draws.std(0)
    i = int(rng.integers(draws.shape[1]))
    only = np.arange(draws.shape[1]) == i
    for scale in (0.7, 0.85, 1.2, 1.5):
        yield f"{name} x{scale}", mean + scale * (draws - mean), None, None
    for scale in (0.5, 1.7):
        one = np.where(only, mean + scale * (draws - mean), draws)
        yield f"{name}, one latent x{scale}", one, None, None
    yield f"{name}, one latent +0.5 sd", draws + 0.5 * sd * only, None, None
    kept = draws[draws[:, i] > np.quantile(draws[:, i], 0.3)]
    yield f"{name}, a tail cut off", kept[rng.integers(len(kept), size=DRAWS)], None, None
    few = draws[rng.integers(60, size=DRAWS)] + 0.05 * sd * rng.standard_normal(draws.shape)
    yield f"{name}, 60 draws repeated", few, None, None


def missing(exact: Exact, key: jax.Array) -> Iterator[Fit]:
    """Exact draws; exact draws without some modes, or with the wrong weights."""
    draws = np.asarray(exact.sample(key, 3 * DRAWS), np.float64)
    yield "exact", draws[:DRAWS], None, None
    if exact.label is not None:
        labels = np.asarray(exact.label(draws))
        for k in np.unique(labels)[:3]:
            without = draws[labels != k]
            yield f"without mode {k}", without[np.arange(DRAWS) % len(without)], None, None
            alone = draws[labels == k]
            yield f"mode {k} alone", alone[np.arange(DRAWS) % len(alone)], None, None


# --- truth ---------------------------------------------------------------------------------------

Truth = Callable[[np.ndarray], Row]


def of_database(name: str, data: Path) -> tuple[opvi.AbstractTarget, Truth]:
    posterior = load(name, data)
    target = opvi.from_numpyro(posterior.model, *posterior.args, **posterior.kwargs)
    constrain = jax.jit(jax.vmap(target.constrain))

    def truth(z: np.ndarray) -> Row:
        sites = jax.device_get(constrain(jnp.asarray(z, jnp.result_type(float))))
        return metrics.evaluate(posterior, posterior.columns(sites))

    return target, truth


def of_exact(exact: Exact, key: jax.Array) -> tuple[opvi.AbstractTarget, Truth]:
    reference = np.asarray(exact.sample(jr.fold_in(key, 7), 10_000), np.float64)
    others = np.asarray(exact.sample(jr.fold_in(key, 8), DRAWS), np.float64)

    def truth(z: np.ndarray) -> Row:
        return {
            "mean_err": metrics.mean_err(z, reference),
            "logsd_err": metrics.logsd_err(z, reference),
            "w1": metrics.w1(z, reference),
            "w1_floor": metrics.w1(others, reference),
        }

    return opvi.from_log_density(exact.log_density, jnp.zeros(exact.dim)), truth


# --- rows ----------------------------------------------------------------------------------------


def measure(name: str, data: Path, seed: int, refreshed: bool) -> Iterator[Row]:
    key = jr.fold_in(jr.key(seed), 1)
    if name in EXACT:
        target, truth = of_exact(EXACT[name], key)
        everything = [*fits(target, key), *missing(EXACT[name], jr.fold_in(key, 9))]
    else:
        target, truth = of_database(name, data)
        everything = list(fits(target, key))
    found = search(Evaluator(target), np.random.default_rng(seed))
    for i, (fit, z, family, verdict) in enumerate(everything):
        if verdict is None:
            seen = z[np.random.default_rng(i).permutation(len(z))[:SEEN]]
            evidence = gather(
                target,
                seen,
                jr.fold_in(key, 100 + i),
                family=family,
                found=found,
                refreshed=refreshed,
            )
            verdict = judge(evidence)
        yield {
            "posterior": name,
            "fit": fit,
            "seed": seed,
            **truth(z),
            "verdict": verdict.status.value,
            "size": min(verdict.numbers["size"], 1e9),
            "reasons": list(verdict.reasons),
            "numbers": {k: float(np.clip(v, -1e9, 1e9)) for k, v in verdict.numbers.items()},
        }


def bad(row: Row) -> bool:
    return row["w1"] > BAD_W1 or row["logsd_err"] > BAD_LOG_SD


def right(row: Row) -> bool:
    """Of what is right by its margins alone nothing is demanded: its correlations are wrong."""
    near = row["w1"] < RIGHT_FLOORS * row["w1_floor"] and not bad(row)
    return near and row["fit"] != MARGINS


def rates(rows: list[Row], size: float = 1.0) -> tuple[float, float]:
    """(false good, false alarm) if a complaint counts from `size` on."""
    wrong, fine = [r for r in rows if bad(r)], [r for r in rows if right(r)]
    return (
        float(np.mean([r["size"] < size for r in wrong])) if wrong else 0.0,
        float(np.mean([r["size"] >= size for r in fine])) if fine else 0.0,
    )


def summary(rows: list[Row]) -> str:
    wrong, fine = [r for r in rows if bad(r)], [r for r in rows if right(r)]
    false_good, false_alarm = rates(rows)
    lines = [
        f"{len(rows)} fits of {len({r['posterior'] for r in rows})} posteriors: "
        f"{len(wrong)} bad, {len(fine)} right, {len(rows) - len(wrong) - len(fine)} in between",
        f"false good  {false_good:.1%}  (wanted: at most 5%)",
        f"false alarm {false_alarm:.1%}  (wanted: at most 15%)",
    ]
    for row in rows:
        if (bad(row) and row["size"] < 1) or (right(row) and row["size"] >= 1):
            kind = "false good " if bad(row) else "false alarm"
            lines.append(
                f"  {kind} {row['posterior']:32.32s} {row['fit']:28s} w1 {row['w1']:.3f} "
                f"({row['w1'] / row['w1_floor']:.1f} floors) log sd {row['logsd_err']:.2f} "
                f"size {row['size']:.2f}  {(row['reasons'] or [''])[0][:90]}"
            )
    return "\n".join(lines)


def figure(rows: list[Row], out: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sizes = np.concatenate([[0.0], np.sort([r["size"] for r in rows]), [np.inf]])
    curve = np.array([rates(rows, s) for s in sizes])
    fig, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    ax.plot(curve[:, 1], 1 - curve[:, 0], color="C0", drawstyle="steps-post")
    now = rates(rows)
    ax.plot(now[1], 1 - now[0], "o", color="C3", label="the verdict")
    ax.axvspan(0, 0.15, color="0.93", zorder=0)
    ax.axhspan(0.95, 1.0, color="0.85", zorder=0)
    ax.set(xlabel="right fits not called good", ylabel="bad fits not called good")
    ax.set(xlim=(-0.01, 1), ylim=(0.5, 1.005))
    ax.legend(frameon=False, loc="lower right")
    out.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(out, dpi=130)
    plt.close(fig)


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of posteriors")
    parser.add_argument("--out", type=Path, required=True, help="rows, one JSON object a line")
    parser.add_argument("--figure", type=Path, help="where to draw the ROC curve")
    parser.add_argument(
        "--posteriors", nargs="+", help="all in DIR and all exact ones when left out"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--refreshed", action="store_true", help="with the refresh check as well")
    parser.add_argument("--summary", action="store_true", help="measure nothing, read FILE")
    arguments = parser.parse_args(argv)
    warnings.simplefilter("ignore", opvi.PoorFitWarning)
    rows = read(arguments.out)
    done = {(row["posterior"], row["seed"]) for row in rows}
    names = arguments.posteriors or [*EXACT, *available(arguments.data)]
    for name in [] if arguments.summary else names:
        if (name, arguments.seed) in done:
            continue
        new = list(measure(name, arguments.data, arguments.seed, arguments.refreshed))
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        with arguments.out.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in new)
        rows += new
        print(f"{name}: {len(new)} fits", flush=True)
        jax.clear_caches()
    print(summary(rows))
    if arguments.figure is not None:
        figure(rows, arguments.figure)


if __name__ == "__main__":
    main()
