"""One row of the table, in a process of its own: what it compiles and leaks ends with it.

    python -m benchmarks._row DATA POSTERIOR METHOD --seed 0 --draws 4000 --precision 32

prints the row as its last line. `benchmarks.posteriordb` calls it.
"""

import argparse
import json

import jax
import jax.random as jr

from benchmarks import metrics
from benchmarks._clock import clock
from benchmarks.methods import METHODS
from benchmarks.posteriors import load


def measure(data: str, name: str, method: str, seed: int, draws: int) -> dict:
    """Fit, draw, and compare with the reference. The seconds are of fit and draws, not of imports."""
    posterior = load(name, data)
    with clock() as watch:
        outcome = METHODS[method](posterior, jr.key(seed), draws)
    columns = posterior.columns(outcome.sites)[:draws]
    return {
        **metrics.evaluate(posterior, columns),
        "seconds_compile": watch.compile,
        "seconds_run": watch.run,
        "gradient_evaluations": outcome.gradient_evaluations,
        "density_evaluations": outcome.density_evaluations,
        "verdict": outcome.verdict,
        "reasons": list(outcome.reasons),
        **outcome.extra,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("posterior")
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--precision", type=int, choices=(32, 64), default=32)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", arguments.precision == 64)
    row = measure(
        arguments.data, arguments.posterior, arguments.method, arguments.seed, arguments.draws
    )
    print(json.dumps(row))


if __name__ == "__main__":
    main()
