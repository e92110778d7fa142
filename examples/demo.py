"""Figure 1 of the paper in its quick form, and a NumPyro model fitted in three lines.

make demo        (or: python examples/demo.py --out FOLDER)
"""

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from rich.console import Console
from rich.table import Table

import opvi
from opvi import cli, plotting, studies

SCHOOLS = ("Choate", "Deerfield", "Andover", "Exeter", "Hotchkiss", "Lawrence", "St Paul", "Hermon")
EFFECT = jnp.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
STANDARD_ERROR = jnp.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(effect=EFFECT, standard_error=STANDARD_ERROR):
    """Rubin (1981): the effect of coaching in eight schools, partially pooled, non-centred."""
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("school", len(SCHOOLS)):
        offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
        numpyro.sample("effect", dist.Normal(mu + tau * offset, standard_error), obs=effect)


def fit(out: Path) -> Path:
    """Three lines; the rest is the table."""
    target = opvi.from_numpyro(eight_schools)
    posterior = opvi.fit(target, key=jax.random.key(0))
    draws = posterior.sample(jax.random.key(1), 4000)

    effects = draws["mu"][:, None] + draws["tau"][:, None] * draws["offset"]
    table = Table("", "mean", "sd", "5%", "95%", title="eight schools")
    for name, values in [
        ("mu", draws["mu"]),
        ("tau", draws["tau"]),
        *((f"effect, {school}", effects[:, i]) for i, school in enumerate(SCHOOLS)),
    ]:
        low, high = jnp.quantile(values, jnp.array([0.05, 0.95]))
        table.add_row(name, *(f"{x:.1f}" for x in (values.mean(), values.std(), low, high)))
    console = Console(highlight=False)
    console.print(table)
    console.print(str(posterior), markup=False)
    path = out / "eight_schools.png"
    studies.save_figure(plotting.marginals(posterior), path)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description="Figure 1, quickly, and eight schools.")
    parser.add_argument("--out", type=Path, default=Path("results/demo"))
    out = parser.parse_args().out
    start = time.perf_counter()
    status = cli.run(["study", "mixture", "--quick", "--out", str(out)])
    if status:
        return status
    picture = fit(out)
    print(f"\npictures: {out / 'mixture.png'} and {picture}")
    print(f"the demo took {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
