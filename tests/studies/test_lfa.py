"""Logistic factor analysis: the law, the truth and the numbers, against enumeration and quadrature."""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from opvi.studies.lfa import config, figure, law, model, numbers, run, truth

PIXELS = 5
GRID = np.linspace(-7.0, 7.0, 1401)


def small(latents: int, pixels: int = PIXELS) -> law.Parameters:
    rng = np.random.default_rng(3)
    return law.Parameters(
        rng.normal(0.7, 1.0, (pixels, latents)).astype(np.float32),
        rng.normal(size=pixels).astype(np.float32),
    )


def images(n: int, pixels: int = PIXELS) -> law.Pixels:
    """`n` images, all of which are seen, under a model of one latent."""
    parameters = small(1, pixels)
    values = (np.random.default_rng(5).random((n, pixels)) < 0.5).astype(np.float32)
    repeat = lambda x: np.broadcast_to(x, (n, *x.shape))
    return law.Pixels(values, law.Parameters(repeat(parameters.weights), repeat(parameters.biases)))


def one(pixels: law.Pixels, i: int) -> law.Pixels:
    return jax.tree_util.tree_map(lambda x: x[i], pixels)


def on_grid(pixels: law.Pixels) -> np.ndarray:
    """The posterior of one latent, normalised on the grid."""
    values = np.asarray(jax.vmap(lambda z: law.log_joint(pixels, z[None]))(jnp.asarray(GRID)))
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def test_the_likelihood_is_normalised_over_all_images() -> None:
    parameters, z = small(2), jnp.array([0.3, -1.2])
    every = np.array(list(product([0.0, 1.0], repeat=PIXELS)), np.float32)
    total = jax.vmap(lambda x: jnp.exp(law.log_likelihood(law.Pixels(x, parameters), z)))(every)
    assert float(total.sum()) == pytest.approx(1.0, abs=1e-5)


def test_the_score_is_that_of_the_log_density_also_far_out() -> None:
    pixels = law.Pixels(np.array([1.0, 0, 0, 1, 1], np.float32), small(3))
    target = law.posterior(pixels)
    for z in (jnp.array([0.4, -0.2, 1.0]), jnp.array([30.0, -40.0, 55.0])):
        p = jax.nn.sigmoid(pixels.parameters.weights @ z + pixels.parameters.biases)
        expected = pixels.parameters.weights.T @ (pixels.values - p) - z
        np.testing.assert_allclose(target.score(z), expected, rtol=1e-4, atol=1e-4)


def test_laplace_finds_the_mode_and_rows_only_change_coordinates() -> None:
    seen = images(3)
    for coordinates in ("plain", "diagonal", "full"):
        row = one(law.rows(seen, coordinates), 1)
        target, plain = law.target(row), law.posterior(one(seen, 1))
        y = jnp.array([0.7])
        z = target.constrain(y)
        log_det = jnp.log(row.scale[0, 0])
        assert float(target.log_density(y)) == pytest.approx(
            float(plain.log_density(z) + log_det), abs=1e-4
        )
        if coordinates != "plain":
            assert float(plain.score(jnp.asarray(row.loc))[0]) == pytest.approx(0.0, abs=1e-4)
            curvature = jax.hessian(plain.log_density)(jnp.asarray(row.loc))[0, 0]
            assert float(row.scale[0, 0] ** -2) == pytest.approx(-float(curvature), rel=1e-4)


def test_half_of_the_pixels_is_hidden_and_each_keeps_its_parameters() -> None:
    parameters = small(2, pixels=6)
    pictures = (np.random.default_rng(0).random((4, 6)) < 0.5).astype(np.uint8)
    seen, hidden, order = law.hide_half(pictures, parameters, np.random.default_rng(1))
    assert seen.values.shape == hidden.values.shape == (4, 3)
    np.testing.assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(6), (4, 1)))
    assert len(np.unique(order, axis=0)) == 4  # not the same half of every image
    for part, index in ((seen, order[:, :3]), (hidden, order[:, 3:])):
        np.testing.assert_array_equal(part.values, np.take_along_axis(pictures, index, axis=1))
        np.testing.assert_array_equal(part.parameters.weights, parameters.weights[index])
        np.testing.assert_array_equal(part.parameters.biases, parameters.biases[index])


def test_hmc_draws_from_the_posterior_of_every_image() -> None:
    """Against quadrature; three images in chunks of two."""
    seen = images(3)
    chains = truth.hmc(seen, jr.key(0), chains=4, draws=2000, chunk=2)
    assert chains.chains.shape == (3, 4, 2000, 1)
    assert chains.r_hat < 1.01
    assert 0.8 < chains.accepted < 1.0
    for i in range(3):
        weights = on_grid(one(seen, i))
        mean = weights @ GRID
        sd = np.sqrt(weights @ (GRID - mean) ** 2)
        z = chains.chains[i].ravel()
        # 8,000 draws, nearly independent: a standard error of .011 sd for the mean.
        assert abs(z.mean() - mean) < 0.05 * sd
        assert abs(np.log(z.std() / sd)) < 0.05


def test_the_readings_of_exact_draws_are_the_predictive_probability() -> None:
    everything = images(2, pixels=6)
    seen, hidden = (
        jax.tree_util.tree_map(lambda x, part=part: x[:, part], everything)
        for part in (slice(0, 3), slice(3, 6))
    )
    weights = on_grid(one(seen, 0))
    rng = np.random.default_rng(0)
    z = rng.choice(GRID, p=weights, size=(2, 40_000))[:, :, None].astype(np.float32)
    got = numbers.readings(seen, hidden, z)

    def along_grid(pixels: law.Pixels) -> np.ndarray:
        return np.asarray(
            jax.vmap(lambda z: law.log_likelihood(one(pixels, 0), z[None]))(jnp.asarray(GRID))
        )

    of_hidden, of_seen = along_grid(hidden), along_grid(seen)
    # log p(x_h | x_s) = log p(x) - log p(x_s), by quadrature.
    prior = np.exp(-0.5 * GRID**2)
    exact = np.log(prior @ np.exp(of_hidden + of_seen)) - np.log(prior @ np.exp(of_seen))
    assert got.hidden_log_mean[0] == pytest.approx(exact, abs=0.01)
    assert got.hidden_mean_log[0] == pytest.approx(weights @ of_hidden, abs=0.01)
    assert got.whole_mean_log[0] == pytest.approx(weights @ (of_hidden + of_seen), abs=0.01)
    assert got.whole_log_mean[0] == pytest.approx(
        np.log(weights @ np.exp(of_hidden + of_seen)), abs=0.01
    )
    assert np.all(got.hidden_mean_log < got.hidden_log_mean)  # Jensen


def test_errors_of_a_shifted_and_stretched_law() -> None:
    rng = np.random.default_rng(0)
    centre, sd = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    reference = centre + sd * rng.standard_normal((4, 3000, 2))
    shifted = numbers.errors(reference + 0.3 * reference.std(axis=1, keepdims=True), reference)
    np.testing.assert_allclose(shifted.mean_err, 0.3, rtol=1e-6)
    np.testing.assert_allclose(shifted.w1, 0.3, rtol=1e-6)
    np.testing.assert_allclose(shifted.logsd_err, 0.0, atol=1e-9)
    mean = reference.mean(axis=1, keepdims=True)
    narrow = numbers.errors(mean + 0.8 * (reference - mean), reference)
    np.testing.assert_allclose(narrow.logsd_bias, np.log(0.8), rtol=1e-6)
    np.testing.assert_allclose(narrow.logsd_err, -np.log(0.8), rtol=1e-6)
    # Of a normal law, 0.2 E|u|.
    np.testing.assert_allclose(narrow.w1, 0.2 * np.sqrt(2.0 / np.pi), rtol=0.05)


def test_learning_starts_at_the_frequencies_of_the_pixels() -> None:
    pictures = (np.random.default_rng(0).random((500, 3)) < [0.2, 0.5, 0.9]).astype(np.uint8)
    start = model.start(pictures, jr.key(0), latents=2)
    np.testing.assert_allclose(jax.nn.sigmoid(start.biases), pictures.mean(axis=0), rtol=1e-4)


def test_every_method_fits_together_and_quick_has_the_rows_of_the_paper() -> None:
    every = config.methods(config.FULL)
    names = [method.name for method in every]
    assert len(set(names)) == len(names) == 10
    quick = {method.name for method in config.methods(config.QUICK)}
    assert {"mean_field_kl", "mean_field_ls", "program_ls"} <= quick < set(names)
    chosen = config.sized(quick=True, steps=5, only="flow_kl,program_ls")
    assert [(m.name, m.steps) for m in config.methods(chosen)] == [
        ("flow_kl", 5),
        ("program_ls", 10),
    ]
    with pytest.raises(opvi.OpviError, match="expected names of methods"):
        config.sized(quick=True, steps=5, only="program")
    target = opvi.from_log_density(lambda z: -0.5 * jnp.sum(z**2), jnp.zeros(law.LATENTS))
    for method in every:
        family = method.family
        made = (
            family
            if isinstance(family, opvi.AbstractFamily)
            else family(law.LATENTS, key=jr.key(0))
        )
        solver = opvi.MinMax(
            target,
            method.objective,
            method.estimator,
            method.optimiser,
            method.test_function_optimiser,
            method.critic_steps,
            method.share_draws,
        )
        state = eqx.filter_eval_shape(lambda q, s=solver: s.init(q, key=jr.key(1)), made)
        assert isinstance(state, opvi.State), method.name


def test_the_pictures_have_every_method_and_every_image() -> None:
    parameters = small(3, pixels=784)
    pictures = (np.random.default_rng(0).random((4, 784)) < 0.3).astype(np.uint8)
    parts = law.hide_half(pictures, parameters, np.random.default_rng(1))
    problem = run.Problem(pictures, *parts, parameters)
    rng = np.random.default_rng(2)
    found, rows = {}, []
    for k, name in enumerate(("hmc", "mean_field_kl", "program_ls_published")):
        z = rng.standard_normal((4, 50, 3)) * (1.0 + 0.1 * k)
        empty = np.zeros(4)
        found[name] = run.Measurement(
            name,
            numbers.Readings(*[empty] * 4),
            numbers.Readings(*[empty] * 4),
            numbers.Errors(*[empty + 0.1] * 4),
            z,
            {},
        )
        row = {"method": name, "gap_to_hmc": -0.1 * k, "paired_gap_se": 0.1, "w1": 0.1 + k}
        rows.append(row | {"completed_log_likelihood": -60.0, "logsd_bias": 0.0})
        rows[-1]["gradient_evaluations"] = 100
    assert len(figure.reconstructions(problem, found).axes) == (2 + 3) * 4
    assert len(figure.posteriors(found).axes) == 2 * 2
    picture = figure.table(rows, found)
    assert [label.get_text() for label in picture.axes[0].get_yticklabels()] == list(found)
