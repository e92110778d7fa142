"""Every NumPyro model of the benchmark is the posterior that its Stan program defines.

Stan's compiled program gives its log density, with and without the Jacobian of its transforms, and its
gradient at 20 reference draws (stan_logp.npz). Ours may differ by a constant, the same at every draw.

NumPyro's transforms to the unconstrained scale are Stan's for reals and positive reals, not for positive
ordered vectors. Where a program has one (`OTHER_TRANSFORMS`), NumPyro's `potential_energy` has another
Jacobian and is not compared; Stan's own transforms, written out below, take its place for all programs.
"""

import os
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import handlers
from numpyro.distributions import constraints
from numpyro.infer import init_to_feasible
from numpyro.infer.util import log_density, potential_energy, unconstrain_fn
from scipy.integrate import solve_ivp

from benchmarks.posteriors import DEVELOPMENT, available, load
from benchmarks.posteriors.one_comp_mm_elim_abs import concentration, time_grid

ODE = "one_comp_mm_elim_abs-one_comp_mm_elim_abs"
OTHER_TRANSFORMS = ("hmm_example-hmm_example", "bball_drive_event_0-hmm_drive_0")

# Relative to the range of the log density over the 20 draws. Looser for the ODE: fixed steps leave an error
# of about 1e-6 in log C, which residual / sigma^2, about 100, multiplies in the log density.
TOLERANCE = 1e-8
TOLERANCE_ODE = 1e-5


@pytest.fixture
def data_dir():
    root = Path(__file__).parents[2]
    folders = [base / "shared" / "data" / "posteriordb" for base in (root.parent, root)]
    if given := os.environ.get("OPVI_POSTERIORDB"):
        folders = [Path(given)]
    for folder in folders:
        if folder.is_dir():
            return folder
    pytest.skip("no posteriors: neither $OPVI_POSTERIORDB nor ../shared/data/posteriordb exists")


@pytest.fixture
def float64():
    with jax.enable_x64(True):
        yield


def latents_of(posterior):
    """(name, shape, support) of each latent, in the order of the model, which is that of the Stan program."""
    model = handlers.substitute(handlers.seed(posterior.model, 0), substitute_fn=init_to_feasible())
    found = []

    def record():  # only shapes are wanted: traced, not run
        trace = handlers.trace(model).get_trace(*posterior.args, **posterior.kwargs)
        for name, site in trace.items():
            if site["type"] == "sample" and not site["is_observed"]:
                found.append((name, jnp.shape(site["value"]), innermost(site["fn"].support)))

    jax.eval_shape(record)
    return found


def innermost(support):
    while isinstance(support, constraints.independent):
        support = support.base_constraint
    return support


def stan_constrain(latents, u):
    """Stan's map from one unconstrained point to the latents, and the log of its Jacobian."""
    sites, log_jacobian, start = {}, 0.0, 0
    for name, shape, support in latents:
        size = int(np.prod(shape)) - (support is constraints.simplex)
        part, start = u[start : start + size], start + size
        if support is constraints.simplex:
            assert shape == (2,)
            value = jnp.append(jax.nn.sigmoid(part), jax.nn.sigmoid(-part))
            log_jacobian += jax.nn.log_sigmoid(part).sum() + jax.nn.log_sigmoid(-part).sum()
        elif support is constraints.positive_ordered_vector:
            value = jnp.cumsum(jnp.exp(part))
            log_jacobian += part.sum()
        elif support is constraints.positive:
            value = jnp.exp(part)
            log_jacobian += part.sum()
        else:
            assert support is constraints.real
            value = part
        sites[name] = value.reshape(shape)
    assert start == len(u)
    return sites, log_jacobian


def assert_constant_difference(ours, stans, tolerance):
    difference = ours - stans
    np.testing.assert_array_less(np.ptp(difference), tolerance * max(1.0, np.ptp(stans)))


@pytest.mark.parametrize("name", DEVELOPMENT)
def test_log_density_and_gradient_are_those_of_the_stan_program(name, data_dir, float64):
    posterior = load(name, data_dir)
    tolerance = TOLERANCE_ODE if name == ODE else TOLERANCE
    with np.load(data_dir / name / "stan_logp.npz") as file:
        stan = dict(file)
    latents = latents_of(posterior)
    model, args, kwargs = posterior.model, posterior.args, posterior.kwargs

    def with_jacobian(u):
        sites, log_jacobian = stan_constrain(latents, u)
        density, _ = log_density(model, args, kwargs, sites)
        return density + log_jacobian, (density, sites)

    @jax.jit
    @jax.vmap
    def evaluate(u):
        (value, (density, sites)), gradient = jax.value_and_grad(with_jacobian, has_aux=True)(u)
        energy = potential_energy(model, args, kwargs, unconstrain_fn(model, args, kwargs, sites))
        return density, value, gradient, energy, sites

    density, value, gradient, energy, sites = jax.device_get(evaluate(stan["unconstrained"]))
    assert value.dtype == np.float64
    assert tuple(stan["names"]) == posterior.names
    np.testing.assert_allclose(posterior.columns(sites), stan["draws"], rtol=1e-6)
    assert_constant_difference(density, stan["log_prob"], tolerance)
    assert_constant_difference(value, stan["log_prob_jacobian"], tolerance)
    scale = np.abs(stan["grad_jacobian"]).max(axis=0)
    np.testing.assert_array_less(np.abs(gradient - stan["grad_jacobian"]) / scale, tolerance)
    if name not in OTHER_TRANSFORMS:
        assert_constant_difference(-energy, stan["log_prob_jacobian"], tolerance)


def test_every_posterior_there_can_be_loaded(data_dir):
    assert set(DEVELOPMENT) <= set(available(data_dir))


def test_columns_need_only_the_latents_and_ignore_the_rest(data_dir):
    posterior = load("eight_schools-eight_schools_noncentered", data_dir)
    latents = {"theta_trans": np.ones((3, 8)), "mu": np.arange(3.0), "tau": np.full(3, 2.0)}
    expected = np.column_stack(
        [np.full((3, 8), 2.0) + np.arange(3.0)[:, None], np.arange(3.0), [2.0] * 3]
    )
    np.testing.assert_array_equal(posterior.columns(latents), expected)
    np.testing.assert_array_equal(
        posterior.columns({**latents, "theta": np.zeros((3, 8))}), expected
    )


def test_a_column_without_its_site_is_named(data_dir):
    posterior = load("sblri-blr", data_dir)
    with pytest.raises(KeyError, match=r"column sigma needs the site 'sigma'"):
        posterior.columns({"beta": np.zeros((3, 5))})
    with pytest.raises(ValueError, match=r"column beta\[1\]: draws of 'beta' have shape \(5,\)"):
        posterior.columns({"beta": np.zeros(5), "sigma": np.ones(1)})


def test_only_columns_without_reliable_moments_are_transformed(data_dir):
    for name in DEVELOPMENT:
        posterior = load(name, data_dir)
        changed = (posterior.comparable(posterior.reference) != posterior.reference).any(axis=0)
        changed = [
            column for column, different in zip(posterior.names, changed, strict=True) if different
        ]
        assert changed == (["K_m", "V_m"] if name == ODE else [])


def test_an_unknown_program_is_named(tmp_path):
    with pytest.raises(KeyError, match=r"no NumPyro model for 'x-y'"):
        load("x-y", tmp_path)
    with pytest.raises(FileNotFoundError, match="sblri-blr"):
        load("sblri-blr", tmp_path)


@pytest.mark.parametrize(
    ("parameters", "tolerance"),
    [
        ((0.76, 1.0, 0.6), 1e-6),  # the middle of the posterior
        ((0.6, 250.0, 20.0), 1e-6),  # its tail: elimination is linear
        ((0.8, 1e-4, 0.5), 1e-6),  # its other end: C passes K_m after 1e-5 days
        # a corner of NumPyro's starting box: the drug is gone, and stiffly
        ((7.0, 0.14, 7.0), 2e-2),
    ],
)
def test_the_ode_solver(parameters, tolerance, float64):
    k_a, K_m, V_m = parameters
    times = np.arange(1, 21) / 2

    def slope(t, c):
        return 15 * k_a * np.exp(-k_a * t) - V_m / 2 * c / (K_m + c)

    exact = solve_ivp(slope, (0, 10), [0.0], "Radau", t_eval=times, rtol=1e-11, atol=1e-14).y[0]
    grid = time_grid(times)
    ours = np.asarray(concentration(k_a, K_m, V_m, grid, 30.0, 2.0))
    ours = ours[np.searchsorted(grid[1:], times - 1e-9)]
    present = exact > 1e-3
    np.testing.assert_allclose(ours[present], exact[present], rtol=tolerance)
    assert (ours > 0).all()
    assert (ours[~present] < 1e-2).all()
