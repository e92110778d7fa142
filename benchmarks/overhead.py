"""What the library costs beside a hand-written `lax.scan` of the same mathematics, in the same run.

    python -m benchmarks.overhead --out results/bench.json

Both sides take the same steps with the same optimiser on the same target; ours goes through
`opvi.solve` with its guard, history and chunks, compile time left out on both sides. The two are
timed in turn, several times, and the median of the ratios is reported: machines are shared.
"""

import argparse
import json
import pathlib
import statistics
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax

import opvi

ROWS = ("name", "ours_steps_per_second", "reference_steps_per_second", "ratio")


def logistic_regression(n: int = 1000, d: int = 20):
    """log p(beta, y) of a logistic regression with standard normal prior."""
    x = jr.normal(jr.key(1), (n, d))
    truth = jr.normal(jr.key(2), (d,))
    y = jr.bernoulli(jr.key(3), jax.nn.sigmoid(x @ truth)).astype(x.dtype)

    def log_density(beta):
        logits = x @ beta
        return jnp.sum(y * logits - jax.nn.softplus(logits)) - 0.5 * jnp.sum(beta**2)

    return log_density, d


def banana(z):
    return -0.125 * z[0] ** 2 - 0.5 * (z[1] - 0.25 * z[0] ** 2) ** 2


# --- by hand -------------------------------------------------------------------------------------


def mean_field_kl_by_hand(log_density, d: int, draws: int, optimiser, steps: int):
    """Mean-field Gaussian, KL, path gradient, as one would write it in a notebook."""

    def loss(params, eps):
        loc, log_scale = params
        z = loc + jnp.exp(log_scale) * eps
        loc, log_scale = jax.lax.stop_gradient(params)
        log_q = -0.5 * jnp.sum(((z - loc) * jnp.exp(-log_scale)) ** 2, axis=-1) - jnp.sum(log_scale)
        return jnp.mean(log_q - jax.vmap(log_density)(z))

    def step(carry, key):
        params, state = carry
        value, gradient = jax.value_and_grad(loss)(params, jr.normal(key, (draws, d)))
        updates, state = optimiser.update(gradient, state, params)
        return (optax.apply_updates(params, updates), state), value

    @jax.jit
    def run(key):
        params = (jnp.zeros(d), jnp.zeros(d))
        carry = (params, optimiser.init(params))
        return jax.lax.scan(step, carry, jr.split(key, steps))

    return run


def langevin_stein_by_hand(log_density, d: int, n: int, critic_steps: int, optimisers, steps: int):
    """Semi-implicit program, Langevin-Stein over the L2 ball, functional gradient."""
    program = opvi.SemiImplicitProgram(d, key=jr.key(0))
    critic = opvi.NeuralTestFunction().init(d, key=jr.key(1))
    score = jax.vmap(jax.grad(log_density))
    optimiser, critic_optimiser = optimisers
    q_static = eqx.filter(program, eqx.is_inexact_array, inverse=True)
    f_static = eqx.filter(critic, eqx.is_inexact_array, inverse=True)

    def draw(q, key):
        eps = jr.normal(key, (n, 2 * d))
        mean = jax.vmap(q.network)(eps[:, :d])
        return mean + jnp.exp(q.log_scale) * eps[:, d:], eps

    def critic_loss(f_params, q, key):
        z, eps = draw(q, key)
        s = score(z)
        f = jax.vmap(eqx.combine(f_params, f_static))(z, s)
        divergence = jnp.sum(f * eps[:, d:] * jnp.exp(-q.log_scale), axis=-1)
        of = jnp.sum(s * f, axis=-1) + divergence
        return -jnp.mean(2 * of - jnp.sum(f**2, axis=-1))

    def program_loss(q_params, f_params, key):
        z, _ = draw(eqx.combine(q_params, q_static), key)
        f = jax.vmap(eqx.combine(f_params, f_static))
        direction = jax.lax.stop_gradient(f(z, jnp.zeros_like(z)))
        return -jnp.mean(jnp.sum(z * direction, axis=-1))

    def step(carry, key):
        q, f, q_state, f_state = carry
        keys = jr.split(key, critic_steps + 1)

        def ascend(carry, key):
            f, f_state = carry
            value, gradient = jax.value_and_grad(critic_loss)(f, eqx.combine(q, q_static), key)
            updates, f_state = critic_optimiser.update(gradient, f_state, f)
            return (optax.apply_updates(f, updates), f_state), -value

        (f, f_state), values = jax.lax.scan(ascend, (f, f_state), keys[1:])
        gradient = jax.grad(program_loss)(q, f, keys[0])
        updates, q_state = optimiser.update(gradient, q_state, q)
        return (optax.apply_updates(q, updates), f, q_state, f_state), values[-1]

    @jax.jit
    def run(key):
        q = eqx.filter(program, eqx.is_inexact_array)
        f = eqx.filter(critic, eqx.is_inexact_array)
        carry = (q, f, optimiser.init(q), critic_optimiser.init(f))
        return jax.lax.scan(step, carry, jr.split(key, steps))

    return run


# --- ours ----------------------------------------------------------------------------------------


def ours(solver: opvi.MinMax, family, steps: int):
    def run(key):
        return opvi.solve(solver, solver.init(family, key=key), steps=steps)

    return run


def mean_field_kl(draws: int, steps: int):
    log_density, d = logistic_regression()
    target = opvi.from_log_density(lambda z: log_density(z["beta"]), {"beta": jnp.zeros(d)})
    optimiser = optax.adam(1e-2)
    solver = opvi.MinMax(
        target, opvi.Objective(opvi.KL()), opvi.PathGradient(draws), optimiser, optimiser
    )
    by_hand = mean_field_kl_by_hand(log_density, d, draws, optimiser, steps)
    return ours(solver, opvi.MeanField(d), steps), by_hand


def langevin_stein(n: int, steps: int):
    target = opvi.from_log_density(lambda z: banana(z["z"]), {"z": jnp.zeros(2)})
    optimiser = optax.adam(2e-3)
    solver = opvi.MinMax(
        target,
        opvi.Objective(opvi.LangevinStein()),
        opvi.FunctionalGradient(n),
        optimiser,
        optimiser,
    )
    by_hand = langevin_stein_by_hand(banana, 2, n, 5, (optimiser, optimiser), steps)
    return ours(solver, opvi.SemiImplicitProgram(2, key=jr.key(0)), steps), by_hand


def seconds(run, key) -> float:
    start = time.perf_counter()
    jax.block_until_ready(eqx.filter(run(key), eqx.is_array))
    return time.perf_counter() - start


def measure(name: str, pair, steps: int, repeats: int) -> dict:
    """Steps per second of both sides, timed in turn."""
    run, by_hand = pair
    seconds(run, jr.key(0)), seconds(by_hand, jr.key(0))  # compile
    times = [(seconds(run, jr.key(i)), seconds(by_hand, jr.key(i))) for i in range(repeats)]
    ratio = statistics.median(theirs / mine for mine, theirs in times)
    mine, theirs = (statistics.median(t) for t in zip(*times, strict=True))
    return dict(zip(ROWS, (name, steps / mine, steps / theirs, ratio), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results/bench.json"))
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    cases = {
        "mean-field KL, 1 draw": (lambda n: mean_field_kl(1, n), 20_000),
        "mean-field KL, 16 draws": (lambda n: mean_field_kl(16, n), 8_000),
        "Langevin-Stein, semi-implicit, n = 256": (lambda n: langevin_stein(256, n), 1_000),
    }
    rows = []
    for name, (make, steps) in cases.items():
        rows.append(measure(name, make(steps), steps, arguments.repeats))
        row = rows[-1]
        print(
            f"{name:40s} ours {row[ROWS[1]]:>9,.0f}/s   by hand {row[ROWS[2]]:>9,.0f}/s   "
            f"ratio {row['ratio']:.3f}",
            flush=True,
        )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"written to {arguments.out}")


if __name__ == "__main__":
    main()
