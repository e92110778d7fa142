"""Accuracy, time and gradient evaluations on posteriors with reference draws.

    python -m benchmarks.posteriordb --data DIR --out rows.jsonl --jobs 16
    python -m benchmarks.posteriordb --data DIR --out rows.jsonl --methods opvi nuts --posteriors arK-arK

Every (posterior, method, seed) is one row, measured in a process of its own. Rows that FILE has already
are not measured again (failed ones are with --retry), so a run can be cut off, continued and split; a
row that fails or runs out of time carries its error and costs no other row. All methods run in the
same precision on `--threads` threads.

mean_err = max |mean - ref| / sd, logsd_err = max |log sd ratio|, w1 = mean over parameters of the 1-D
Wasserstein distance / sd, of 4,000 draws; w1_floor is what exact draws score (`benchmarks/metrics.py`).
`seconds_compile` is what JAX spent tracing, lowering and compiling, with no cache; `seconds_run` the
rest, draws included, imports not. The methods and their settings are in `benchmarks/methods`.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import product
from pathlib import Path

from benchmarks import _table
from benchmarks.posteriors import available

ROOT = Path(__file__).resolve().parents[1]
METHODS = (  # as in benchmarks.methods, whose import would start JAX here
    "opvi",
    "opvi_gaussian",
    "autonormal",
    "automultivariatenormal",
    "autoiafnormal",
    "pathfinder",
    "flowjax",
    "nuts",
)


def environment(threads: int) -> dict[str, str]:
    """So many threads for each kind of pool, and no compilation cache: compile times are real."""
    env = {k: v for k, v in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"}
    several = str(threads > 1).lower()
    flags = f"{env.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen={several}"
    pools = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        **env,
        **{pool: str(threads) for pool in pools},
        "XLA_FLAGS": flags.strip(),
        "JAX_PLATFORMS": env.get("JAX_PLATFORMS", "cpu"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), env.get("PYTHONPATH", "")))),
    }


def measure(row: _table.Row, data: Path, arguments: argparse.Namespace) -> _table.Row:
    """The row with its numbers, or with what went wrong."""
    command = [sys.executable, "-m", "benchmarks._row", str(data), row["posterior"], row["method"]]
    command += ["--seed", str(row["seed"]), "--precision", str(row["precision"])]
    command += ["--draws", str(arguments.draws)]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            env=environment(arguments.threads),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=arguments.timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**row, "error": f"no result after {arguments.timeout:g} s"}
    if done.returncode != 0:
        return {**row, "error": _tail(done.stderr) or f"exit status {done.returncode}"}
    try:
        numbers = json.loads(done.stdout.strip().splitlines()[-1])
    except (json.JSONDecodeError, IndexError):
        return {**row, "error": f"no row in the output: {_tail(done.stdout)}"}
    return {**row, **numbers, "threads": arguments.threads, "wall": time.perf_counter() - start}


def _tail(output: str, characters: int = 2000) -> str:
    """The end of a traceback, without the folders of this machine."""
    prefixes = (str(ROOT), str(Path(sys.prefix).resolve()), str(Path.home()))
    for prefix in prefixes:
        output = output.replace(prefix + os.sep, "")
    return output.strip()[-characters:]


def wanted(arguments: argparse.Namespace, old: Iterable[_table.Row]) -> list[_table.Row]:
    """The rows asked for that are not there; slow methods first, so that none is left for the end."""
    there = available(arguments.data)
    unknown = sorted(set(arguments.posteriors or []) - set(there))
    if unknown or not there:
        raise SystemExit(f"not in {arguments.data}: {unknown or 'any posterior'}; there: {there}")
    done = {_table.identity(r) for r in old if not (arguments.retry and r.get("error"))}
    rows = [
        {"posterior": p, "method": m, "seed": s, "precision": arguments.precision}
        for m, s, p in product(
            arguments.methods or METHODS, arguments.seeds, arguments.posteriors or there
        )
    ]
    return [row for row in rows if _table.identity(row) not in done]


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of posteriors")
    parser.add_argument("--out", type=Path, required=True, help="rows, one JSON object a line")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="all when left out")
    parser.add_argument("--posteriors", nargs="+", help="all in DIR when left out")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--jobs", type=int, default=1, help="rows measured side by side")
    parser.add_argument("--threads", type=int, default=1, help="threads of each")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one row")
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--precision", type=int, choices=(32, 64), default=32)
    parser.add_argument("--retry", action="store_true", help="measure failed rows again")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    arguments = parse(argv)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    todo = wanted(arguments, _table.read(arguments.out))
    data = arguments.data.resolve()
    print(f"{len(todo)} rows to measure, {arguments.jobs} at a time", flush=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        futures = [pool.submit(measure, row, data, arguments) for row in todo]
        for count, future in enumerate(as_completed(futures), 1):
            row = future.result()
            _table.append(arguments.out, row)
            print(f"{count:4d}/{len(todo)} {describe(row)}", flush=True)
    rows = _table.read(arguments.out)
    methods = [m for m in METHODS if any(row["method"] == m for row in rows)]
    if methods:
        print("\n" + _table.markdown([_table.summarise(rows, m) for m in methods]))


def describe(row: _table.Row) -> str:
    head = f"{row['posterior']:45s} {row['method']:22s}"
    if row.get("error"):
        return f"{head} FAILED: {row['error'].splitlines()[-1]}"
    seconds = row["seconds_compile"] + row["seconds_run"]
    return (
        f"{head} w1 {row['w1'] / row['w1_floor']:6.2f} floors  mean {row['mean_err']:.3f}  "
        f"logsd {row['logsd_err']:.3f}  {row['gradient_evaluations']:>10,} gradients  "
        f"{seconds:6.1f} s  {row['verdict'] or ''}"
    )


if __name__ == "__main__":
    main()
