"""False and late stops of the rule on iterates whose law is known.

    python -m benchmarks.stopping --out rows.json

A trace is mean_t + x_t: a mean on its way to 0 in one of ten parameters, and stationary noise of sd 1
with autocorrelation rho. A stop is *false* where the mean over the window that would be averaged is off
by more than 0.5 sd of the noise (its true mean, not its draw); it is *late* where it comes after 3
times the earliest length at which a perfect judge could stop (the transient below 0.1 sd, and the
effective sample size that the rule asks for).
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from opvi.solver import StoppingRule

LENGTH, EVERY, TRACES, K = 4000, 50, 20, 10
TRACE_KINDS = {
    "easy: independent": (0.0, lambda t: 0.0 * t),
    "easy: short transient": (0.5, lambda t: 8 * np.exp(-t / 20)),
    "easy: autocorrelated": (0.9, lambda t: 5 * np.exp(-t / 50)),
    "hard: long transient": (0.5, lambda t: 8 * np.exp(-t / 600)),
    "hard: polynomial": (0.5, lambda t: 20 / np.sqrt(1 + t)),
    "hard: strongly autocorrelated": (0.98, lambda t: 3 * np.exp(-t / 200)),
    "hard: a step on the way": (0.3, lambda t: 4.0 * (t < 400)),
    "hard: a steady drift": (0.5, lambda t: 4e-3 * (LENGTH - t)),
}


def trace(rng: np.random.Generator, rho: float, mean: np.ndarray) -> np.ndarray:
    noise = np.sqrt(1 - rho**2) * rng.standard_normal((LENGTH, K))
    noise[0] = rng.standard_normal(K)
    x = np.asarray(lfilter([1.0], [1.0, -rho], noise, axis=0))
    x[:, 0] += mean  # one parameter is slower than the others
    return x


def first_stop(rule: StoppingRule, x: np.ndarray) -> tuple[int, int] | None:
    for n in range(2 * EVERY, LENGTH + 1, EVERY):
        found = rule(x[:n])
        if found.stop:
            return n, found.start
    return None


def earliest(rule: StoppingRule, rho: float, mean: np.ndarray) -> int:
    needed = rule.ess * (1 + rho) / (1 - rho)
    off = np.flatnonzero(np.abs(mean) > 0.1)
    burn = 0 if len(off) == 0 else int(off[-1]) + 1
    return int(burn + max(needed, 60)) if burn < LENGTH else LENGTH


def measure(rule: StoppingRule, seed: int = 0, traces: int = TRACES) -> dict[str, dict[str, float]]:
    rng, t, out = np.random.default_rng(seed), np.arange(LENGTH), {}
    for name, (rho, law) in TRACE_KINDS.items():
        mean, stops, false, late = law(t.astype(float)), [], 0, 0
        for _ in range(traces):
            found = first_stop(rule, trace(rng, rho, mean))
            n = LENGTH if found is None else found[0]
            stops.append(n)
            false += found is not None and abs(mean[found[1] : found[0]].mean()) > 0.5
            late += n > 3 * earliest(rule, rho, mean)
        out[name] = {
            "median stop": float(np.median(stops)),
            "earliest": earliest(rule, rho, mean),
            "false": false / traces,
            "late": late / traces,
        }
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = measure(StoppingRule())
    for name, row in rows.items():
        print(f"{name:32s} " + "  ".join(f"{k} {v:g}" for k, v in row.items()))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
