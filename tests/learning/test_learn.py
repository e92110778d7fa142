"""Operator EM on a model whose evidence is known: one latent behind several Gaussian measurements.

z ~ N(0, 1),   x_k | z ~ N(w_k z + b_k, s^2)   =>   x ~ N(b, w w' + s^2 I)
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

import opvi

NOISE = 0.7
TRUE = {"w": np.array([1.0, -0.8, 0.5]), "b": np.array([0.3, 0.0, -0.6])}


def start() -> dict[str, jax.Array]:
    return {"w": real([0.5, -0.3, 0.2]), "b": real(np.zeros(3))}


def real(x) -> jax.Array:
    return jnp.asarray(x, jnp.result_type(float))


def model(parameters, row) -> opvi.AbstractTarget:
    def log_density(z: jax.Array) -> jax.Array:
        residual = (row - parameters["w"] * z[0] - parameters["b"]) / NOISE
        constant = 4 * 0.5 * jnp.log(2 * jnp.pi) + 3 * jnp.log(NOISE)
        return -0.5 * jnp.sum(residual**2) - 0.5 * z[0] ** 2 - constant

    return opvi.from_log_density(log_density, jnp.zeros(1))


def log_evidence(parameters, row) -> jax.Array:
    covariance = jnp.outer(parameters["w"], parameters["w"]) + NOISE**2 * jnp.eye(3)
    return jax.scipy.stats.multivariate_normal.logpdf(row, parameters["b"], covariance)


def exact_posterior(parameters, row) -> tuple[jax.Array, jax.Array]:
    """Mean and sd of z | x."""
    precision = 1.0 + jnp.sum(parameters["w"] ** 2) / NOISE**2
    mean = jnp.sum(parameters["w"] * (row - parameters["b"])) / NOISE**2 / precision
    return mean, precision**-0.5


def measurements(n: int) -> jax.Array:
    rng = np.random.default_rng(1)
    z = rng.standard_normal((n, 1))
    return real(z * TRUE["w"] + TRUE["b"] + NOISE * rng.standard_normal((n, 3)))


class Linear(opvi.AbstractAmortised):
    """N(a'x + c, s^2), which contains the posterior of this model."""

    a: jax.Array
    c: jax.Array
    log_scale: jax.Array
    dim: int = eqx.field(static=True, default=1)

    def __call__(self, x: jax.Array) -> opvi.MeanField:
        loc = jnp.sum(self.a * x) + self.c
        q = opvi.MeanField(1)
        return eqx.tree_at(lambda q: (q.loc, q.log_scale), q, (loc[None], self.log_scale[None]))


class LinearProgram(opvi.AbstractAmortised):
    """The same mean, around it a program without a density."""

    a: jax.Array
    c: jax.Array
    program: opvi.SemiImplicitProgram
    dim: int = eqx.field(static=True, default=1)

    def __call__(self, x: jax.Array) -> opvi.AbstractFamily:
        loc = jnp.sum(self.a * x) + self.c
        return opvi.Affine(self.program, loc[None], jnp.eye(1, dtype=loc.dtype))


def exact(parameters) -> Linear:
    """`Linear` at the posterior of these parameters."""
    zero, (mean, sd) = jnp.zeros(3), exact_posterior(parameters, jnp.zeros(3))
    a = jax.grad(lambda row: exact_posterior(parameters, row)[0])(zero)
    return Linear(a, mean, jnp.log(sd))


def one_step(family, data, *, draws: int, rates=(1.0, 1.0, 1.0), **kwargs) -> opvi.Learned:
    """Plain descent: what a step moves is rate times minus the gradient."""
    return opvi.learn(
        model,
        data,
        start(),
        family,
        steps=1,
        estimator=opvi.PathGradient(draws=draws),
        optimisers=tuple(optax.sgd(rate) for rate in rates),
        key=jr.key(0),
        **kwargs,
    )


@pytest.mark.float64
def test_at_the_posterior_q_stays_and_theta_follows_the_evidence() -> None:
    """Fisher's identity: E_q[grad_theta log p(x, z)] = grad_theta log p(x) at q = p(z | x)."""
    data, family = measurements(40), exact(start())
    learned = one_step(family, data, draws=4000)
    # The path gradient is zero at every single draw there.
    for new, old in zip(jax.tree.leaves(learned.amortised), jax.tree.leaves(family), strict=True):
        np.testing.assert_allclose(new, old, atol=1e-12)
    expected = jax.grad(lambda p: jnp.mean(jax.vmap(lambda x: log_evidence(p, x))(data)))(start())
    for name in start():
        # 160,000 draws in all; a draw's gradient has a standard deviation of about 3.
        moved = learned.parameters[name] - start()[name]
        np.testing.assert_allclose(moved, expected[name], atol=0.03)
        assert np.abs(expected[name]).max() > 0.2


@pytest.mark.float64
def test_draws_of_a_mixture_count_by_their_weights_in_the_step_of_theta() -> None:
    """E_q log p(x, z) is quadratic in z: the moments of q give it, and its gradient in theta."""
    data, shares, loc, scale = measurements(40), np.array([0.2, 0.8]), np.array([-1.0, 1.5]), 0.5
    parts = [opvi.MeanField(1, loc=float(m), scale=scale) for m in loc]
    first, second = shares @ loc, shares @ (loc**2 + scale**2)

    def expected_log_joint(parameters) -> jax.Array:
        def one(row):
            # E h(z) = h(m) + h''/2 Var z
            h = lambda z: model(parameters, row).log_density(z[None])
            at = real(first)
            return h(at) + 0.5 * jax.grad(jax.grad(h))(at) * (second - first**2)

        return jnp.mean(jax.vmap(one)(data))

    value, gradient = jax.value_and_grad(expected_log_joint)(start())
    learned = one_step(opvi.Mixture(parts, shares), data, draws=4000)
    assert learned.log_joint[0] == pytest.approx(float(value), abs=0.03)
    for name in start():
        moved = learned.parameters[name] - start()[name]
        np.testing.assert_allclose(moved, gradient[name], atol=0.03)


@pytest.mark.float64
def test_the_gradient_in_q_is_that_of_the_elbo_through_the_encoder() -> None:
    data = measurements(40)
    family = Linear(real([0.1, 0.2, -0.1]), real(0.4), real(-0.2))

    def elbo(family: Linear) -> jax.Array:
        """log p(x) - KL(q || p(z | x)), in closed form."""

        def one(x):
            q, (mean, sd) = family(x), exact_posterior(start(), x)
            scale = jnp.exp(q.log_scale[0])
            kl = jnp.log(sd / scale) + (scale**2 + (q.loc[0] - mean) ** 2) / (2 * sd**2) - 0.5
            return log_evidence(start(), x) - kl

        return jnp.mean(jax.vmap(one)(data))

    value, gradient = jax.value_and_grad(elbo)(family)
    learned = one_step(family, data, draws=4000)
    assert learned.objective[0] == pytest.approx(-float(value), abs=0.02)
    old, new = jax.tree.leaves(family), jax.tree.leaves(learned.amortised)
    for a, b, expected in zip(old, new, jax.tree.leaves(gradient), strict=True):
        np.testing.assert_allclose(b - a, expected, atol=0.03)
        assert np.abs(expected).max() > 0.1


def test_a_batch_is_an_unbiased_view_of_all_rows() -> None:
    """Steps of theta from batches of 5 rows average to the step from all 40."""
    data, family = measurements(40), exact(start())
    whole = one_step(family, data, draws=2000)
    steps = []
    for seed in range(60):
        learned = opvi.learn(
            model,
            data,
            start(),
            family,
            steps=1,
            batch_size=5,
            estimator=opvi.PathGradient(draws=50),
            optimisers=OPTIMISERS,
            key=jr.key(seed),
        )
        steps.append(np.asarray(learned.parameters["b"] - start()["b"]))
    steps = np.stack(steps)
    error = steps.std(axis=0, ddof=1) / len(steps) ** 0.5
    gap = steps.mean(axis=0) - np.asarray(whole.parameters["b"] - start()["b"])
    assert np.all(np.abs(gap) < 4 * error)
    assert np.all(error < 0.1)


OPTIMISERS = (optax.sgd(1.0), optax.sgd(1.0), optax.sgd(1.0))


@pytest.fixture(scope="module")
def maximum_likelihood():
    """Data, theta-hat and its standard errors from the observed information."""
    data = measurements(400)
    flat, unravel = jax.flatten_util.ravel_pytree(start())
    total = lambda v: -jnp.sum(jax.vmap(lambda x: log_evidence(unravel(v), x))(data))
    step = jax.jit(
        lambda v: v - jnp.linalg.solve(_damped(jax.hessian(total)(v)), jax.grad(total)(v))
    )
    best = jax.flatten_util.ravel_pytree(jax.tree.map(jnp.asarray, TRUE))[0].astype(flat.dtype)
    for _ in range(10):
        best = step(best)
    assert float(jnp.abs(jax.grad(total)(best)).max()) < 0.05
    errors = jnp.sqrt(jnp.diagonal(jnp.linalg.inv(jax.hessian(total)(best))))
    return data, best, errors


def _damped(hessian: jax.Array) -> jax.Array:
    return hessian + 1e-3 * jnp.eye(len(hessian))


@pytest.mark.parametrize("e_step", ["KL", "Langevin-Stein with a program"])
def test_learned_parameters_are_those_of_maximum_likelihood(
    e_step: str, maximum_likelihood
) -> None:
    """q contains the posterior, so that EM ends where the evidence is highest."""
    data, best, errors = maximum_likelihood
    if e_step == "KL":
        family, kwargs = Linear(jnp.zeros(3), jnp.zeros(()), jnp.zeros(())), {}
    else:
        program = opvi.SemiImplicitProgram(1, key=jr.key(0), width=8, depth=1)
        family = LinearProgram(jnp.zeros(3), jnp.zeros(()), program)
        f = opvi.AmortisedTestFunction(
            3, 1, key=jr.key(1), features=lambda x: x, width=16, depth=1, context=4
        )
        kwargs = {"test_function": f}
    learned = opvi.learn(
        model,
        data,
        start(),
        family,
        steps=2000,
        batch_size=100,
        learning_rate=1e-2,
        key=jr.key(2),
        **kwargs,
    )
    assert learned.skipped == 0
    found = jax.flatten_util.ravel_pytree(learned.parameters)[0]
    # The sign of w is free: z and -z have the same law. It stays that of the start.
    assert float(jnp.max(jnp.abs(found - best) / errors)) < 1.0
    first = jax.flatten_util.ravel_pytree(start())[0]
    assert float(jnp.max(jnp.abs(first - best) / errors)) > 4.0


def test_steps_that_are_not_finite_are_skipped_and_counted() -> None:
    data = jnp.concatenate([measurements(7), jnp.full((1, 3), jnp.nan)])
    learned = opvi.learn(
        model, data, start(), exact(start()), steps=3, learning_rate=1e-2, key=jr.key(0)
    )
    assert learned.skipped == 3
    np.testing.assert_array_equal(learned.parameters["w"], start()["w"])


def test_mistakes_are_explained() -> None:
    learn = lambda data, family: opvi.learn(model, data, start(), family, steps=2, key=jr.key(0))
    with pytest.raises(opvi.IncompatibleError, match="a target of 2 latents"):
        learn(measurements(4), opvi.MeanField(2))
    with pytest.raises(opvi.OpviError, match="share the length"):
        learn((np.zeros((3, 2)), np.zeros(2)), opvi.MeanField(1))


@pytest.mark.float64
def test_both_bounds_reach_the_evidence_and_stay_below_on_average() -> None:
    row = measurements(1)[0]
    target, truth = model(start(), row), float(log_evidence(start(), row))
    mean, sd = exact_posterior(start(), row)
    posterior = opvi.MeanField(1, loc=mean[None], scale=sd[None])
    # With the posterior as proposal every weight is the evidence itself.
    assert float(opvi.importance_bound(target, posterior, jr.key(0), 3)) == pytest.approx(
        truth, abs=1e-9
    )
    wrong = opvi.MeanField(1, loc=mean[None] + 1.5 * sd, scale=1.2 * sd[None])
    keys = jr.split(jr.key(1), 400)
    bounds = {
        "importance, 1": jax.vmap(lambda k: opvi.importance_bound(target, wrong, k, 1))(keys),
        "importance, 50": jax.vmap(lambda k: opvi.importance_bound(target, wrong, k, 50))(keys),
        "annealed, 5": jax.jit(
            jax.vmap(
                lambda k: opvi.annealed_bound(
                    target, wrong, k, 5, temperatures=10, step_size=0.5 * float(sd), leapfrogs=3
                )
            )
        )(keys),
    }
    means = {name: float(x.mean()) for name, x in bounds.items()}
    for x in bounds.values():
        # exp of each is an unbiased estimate of p(x), which is what makes the mean a lower bound.
        ratio = np.exp(np.asarray(x) - truth)
        assert abs(ratio.mean() - 1.0) < 4 * ratio.std() / len(ratio) ** 0.5
        assert x.mean() < truth
    assert means["importance, 1"] < means["importance, 50"] - 0.3
    assert means["annealed, 5"] > means["importance, 1"] + 0.3
