"""`from_numpyro`: NumPyro's own density, and errors that name the site."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.contrib.control_flow import scan
from numpyro.distributions import constraints
from numpyro.handlers import reparam
from numpyro.infer.reparam import LocScaleReparam
from numpyro.infer.util import constrain_fn, potential_energy

import opvi

Y = np.array([0.3, -1.2, 2.1, 0.4])
X = np.array([[1.0, 0.2], [1.0, -0.4], [1.0, 1.3], [1.0, 0.0]])
GROUP = np.array([0, 1, 2, 0])


def supports(y):
    a = numpyro.sample("positive", dist.HalfNormal(1.0))
    b = numpyro.sample("interval", dist.Uniform(-2.0, 5.0))
    w = numpyro.sample("simplex", dist.Dirichlet(jnp.ones(3)))
    c = numpyro.sample(
        "ordered",
        dist.TransformedDistribution(
            dist.Normal(0, 1).expand([3]).to_event(1), dist.transforms.OrderedTransform()
        ),
    )
    chol = numpyro.sample("corr_cholesky", dist.LKJCholesky(3, 2.0))
    u = numpyro.sample("unit", dist.Beta(2.0, 3.0))
    i = numpyro.sample("improper", dist.ImproperUniform(constraints.positive, (), ()))
    d = numpyro.sample("dynamic", dist.Uniform(-a, a))
    loc = b + w @ c + chol.sum() + u + i + d
    numpyro.deterministic("loc", loc)
    numpyro.sample("y", dist.Normal(loc, 1.0), obs=y)


def schools(y, sigma):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(y)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.deterministic("twice", 2 * theta)
        numpyro.sample("y", dist.Normal(theta, sigma), obs=y)


def nested(y):
    with numpyro.plate("row", 3, dim=-2):
        a = numpyro.sample("a", dist.Normal(0, 1))
        with numpyro.plate("column", 4, dim=-1):
            b = numpyro.sample("b", dist.Normal(a, 1).expand([3, 4]))
            v = numpyro.sample(
                "v", dist.Normal(0, 1).expand([2]).to_event(1), infer={"event_dims": ["axis"]}
            )
            numpyro.sample("y", dist.Normal(b + v.sum(-1), 1.0), obs=y)


def random_walk(y):
    s = numpyro.sample("s", dist.HalfNormal(1.0))

    def step(x, y_t):
        x = numpyro.sample("x", dist.Normal(x, s))
        numpyro.sample("y", dist.Normal(x, 1.0), obs=y_t)
        return x, None

    scan(step, 0.0, y)


def factors():
    a = numpyro.sample("a", dist.ImproperUniform(constraints.real_vector, (), (2,)))
    numpyro.factor("f", -0.5 * jnp.sum(a**2) - 0.1 * a[0] ** 4)


def python_values(x, group, y):
    groups = len(np.unique(group))  # a traced `group` cannot do this
    beta = numpyro.sample("beta", dist.Normal(0, 1).expand([x.shape[1]]).to_event(1))
    with numpyro.plate("group", groups):
        a = numpyro.sample("a", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(x @ beta + a[group], 1.0), obs=y)


def numpy_values(y):
    mu = numpyro.sample("mu", dist.Normal(float(y[0]), 1.0))  # nor a traced `y` this
    numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)


def imputed(y, mask):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    with numpyro.plate("n", len(y)):
        numpyro.sample("y", dist.Normal(mu, 1.0), obs=y, obs_mask=mask)


MODELS = {
    "supports": (supports, (Y,), {}),
    "schools": (schools, (Y,), {"sigma": np.ones(4)}),
    "nested": (nested, (np.zeros((3, 4)),), {}),
    "random walk": (random_walk, (Y,), {}),
    "factors": (factors, (), {}),
    "python values": (python_values, (X, GROUP), {"y": Y}),
    "numpy values": (numpy_values, (Y,), {}),
    "reparam": (reparam(schools, config={"theta": LocScaleReparam(0)}), (Y, 1.0), {}),
    "imputed": (imputed, (Y, np.array([True, False, True, True])), {}),
}


@pytest.fixture(params=MODELS, name="case")
def _case(request):
    return MODELS[request.param]


@pytest.fixture(autouse=True)
def _as_if_first(request):
    """NumPy's doubles and 64-bit integers reach JAX as they are: nothing that another test left in its
    caches, in the other precision, may answer for them."""
    if "python values" not in request.node.name:
        yield
        return
    jax.clear_caches()
    with jax.enable_x64(False):
        yield


def _target(case):
    model, args, kwargs = case
    return opvi.from_numpyro(model, *args, **kwargs)


def test_log_density_and_score_are_numpyros(case):
    model, args, kwargs = case
    with jax.enable_x64(True):
        target = _target(case)
        z = jr.normal(jr.key(1), (4, target.dim))
        ours = jax.jit(jax.vmap(jax.value_and_grad(target.log_density)))(z)
        latents = jax.vmap(target.layout.unravel)(z)
        potential = functools.partial(potential_energy, model, args, kwargs)
        value, gradient = jax.jit(jax.vmap(jax.value_and_grad(potential)))(latents)
        score = -jax.vmap(target.layout.ravel)(gradient)
        np.testing.assert_allclose(ours[0], -value, rtol=1e-13)
        np.testing.assert_allclose(ours[1], score, rtol=1e-12, atol=1e-12)


def test_constrain_is_numpyros_with_deterministic_sites(case):
    model, args, kwargs = case
    target = _target(case)
    z = jr.normal(jr.key(1), (target.dim,))
    numpyros = constrain_fn(
        model, args, kwargs, target.layout.unravel(z), return_deterministic=True
    )
    ours = target.constrain(z)
    assert set(ours) == set(numpyros)
    for name in ours:
        np.testing.assert_array_equal(ours[name], numpyros[name])


def test_unconstrain_is_the_inverse_of_constrain(case):
    target = _target(case)
    z = jr.normal(jr.key(2), (target.dim,))
    np.testing.assert_allclose(target.unconstrain(target.constrain(z)), z, atol=2e-5)


def test_draws_lie_on_their_supports():
    target = _target(MODELS["supports"])
    draws = jax.vmap(target.constrain)(3 * jr.normal(jr.key(0), (50, target.dim)))
    assert jnp.all(draws["positive"] >= 0)
    assert jnp.all((draws["interval"] >= -2) & (draws["interval"] <= 5))
    assert jnp.all(jnp.abs(draws["dynamic"]) <= draws["positive"])
    np.testing.assert_allclose(draws["simplex"].sum(-1), 1.0, rtol=1e-5)
    assert jnp.all(jnp.diff(draws["ordered"], axis=-1) >= 0)
    rows = jnp.sum(draws["corr_cholesky"] ** 2, -1)
    np.testing.assert_allclose(rows, 1.0, rtol=1e-5)


def test_columns_name_every_unconstrained_coordinate():
    target = _target(MODELS["supports"])
    assert len(target.columns) == target.dim == 1 + 1 + 2 + 3 + 3 + 1 + 1 + 1
    assert {"positive", "simplex[0]", "simplex[1]", "ordered[2]"} <= set(target.columns)


def test_plates_become_dims():
    target = _target(MODELS["schools"])
    assert dict(target.dims) == {"theta": ("school",), "twice": ("school",)}
    assert dict(target.coords) == {"school": (0, 1, 2, 3)}


def test_nested_plates_and_event_dims():
    target = _target(MODELS["nested"])
    assert dict(target.dims) == {
        "a": ("row", "a_dim_1"),
        "b": ("row", "column"),
        "v": ("row", "column", "axis"),
    }
    assert dict(target.coords) == {"row": (0, 1, 2), "column": (0, 1, 2, 3)}


def test_observed_data():
    target = _target(MODELS["schools"])
    observed = target.observed_data()
    assert set(observed) == {"y"}
    np.testing.assert_allclose(observed["y"], Y)
    assert _target(MODELS["factors"]).observed_data() == {}


def test_labelled_output():
    posterior = opvi.fit(
        _target(MODELS["schools"]),
        opvi.MeanField,
        opvi.Objective(opvi.KL()),
        key=jr.key(0),
        steps=3,
        progress=False,
    )
    group = posterior.to_datatree(draws=5)["posterior"]
    assert group["theta"].dims == ("chain", "draw", "school")
    np.testing.assert_allclose(group["twice"], 2 * group["theta"], rtol=1e-6)


def _traces_of(model, *others):
    """How often `model` is traced by one compiled function over targets with other data."""
    count = 0

    def counted(*args, **kwargs):
        nonlocal count
        count += 1
        return model(*args, **kwargs)

    score = eqx.filter_jit(lambda target, z: target.score(z))
    targets = [opvi.from_numpyro(counted, *other) for other in others]
    z = jnp.ones(targets[0].dim)
    before, values = count, [score(target, z) for target in targets]
    assert not np.allclose(values[0], values[1])
    return count - before


def test_other_data_of_the_same_shape_does_not_retrace():
    sigma = np.ones(4)
    assert _traces_of(schools, (Y, sigma), (Y + 1, sigma), (Y - 1, 2 * sigma)) == 1


def test_only_what_python_needs_is_constant():
    # `group` is used as a value, x and y are not.
    new_x = (2 * X, GROUP, Y + 1)
    assert _traces_of(python_values, (X, GROUP, Y), new_x) == 1


def minibatched(x, y, size):
    beta = numpyro.sample("beta", dist.Normal(0, 1).expand([2]).to_event(1))
    with numpyro.plate("n", len(y), subsample_size=size) as rows:
        numpyro.sample("y", dist.Normal(x[rows] @ beta, 1.0), obs=y[rows])


def test_a_subsampled_model_is_seen_whole():
    z = jnp.array([0.3, -0.7])
    subsampled = opvi.from_numpyro(minibatched, X, Y, 2)
    whole = opvi.from_numpyro(minibatched, X, Y, None)
    np.testing.assert_allclose(subsampled.log_density(z), whole.log_density(z), rtol=1e-6)
    assert subsampled.dim == 2


def test_minibatches_are_unbiased():
    z = jnp.array([0.3, -0.7])
    target = opvi.from_numpyro(minibatched, X, Y, 2)
    seen = jax.jit(jax.vmap(lambda key: target.minibatch(key).score(z)))(jr.split(jr.key(0), 4000))
    standard_error = seen.std(0) / 4000**0.5
    assert jnp.all(standard_error > 0.01)  # minibatches do differ
    assert jnp.all(jnp.abs(seen.mean(0) - target.score(z)) < 4 * standard_error)


def test_a_model_without_subsampling_is_its_own_minibatch():
    target = _target(MODELS["schools"])
    assert target.minibatch(jr.key(0)) is target


def discrete(y):
    w = numpyro.sample("w", dist.Beta(1, 1))
    k = numpyro.sample("kind", dist.Bernoulli(w), infer={"enumerate": "parallel"})
    numpyro.sample("y", dist.Normal(k, 1.0), obs=y)


def dead(y):
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    numpyro.sample("spare", dist.Normal(mu, 1))
    numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)


def chained(y):
    a = numpyro.sample("a", dist.Normal(0, 1))
    b = numpyro.sample("b", dist.Normal(a, 1))
    numpyro.sample("y", dist.Normal(b, 1.0), obs=y)


def delta(y):
    mu = numpyro.sample("fixed", dist.Delta(1.0))
    nu = numpyro.sample("nu", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(mu + nu, 1.0), obs=y)


def point_estimate(y):
    mu = numpyro.param("loc", 0.0)
    nu = numpyro.sample("nu", dist.Normal(mu, 1))
    numpyro.sample("y", dist.Normal(nu, 1.0), obs=y)


def local(y):
    with numpyro.plate("n", 4, subsample_size=2) as rows:
        a = numpyro.sample("local", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[rows])


def nothing(y):
    numpyro.sample("y", dist.Normal(0, 1.0), obs=y)


@pytest.mark.parametrize(
    ("model", "names", "advice"),
    [
        (discrete, "'kind'", "MixtureSameFamily"),
        (dead, "'spare'", "KeepUnobserved"),
        (delta, "'fixed'", "numpyro.deterministic"),
        (point_estimate, "'loc'", "prior"),
        (local, "'local'", "subsample_size"),
        (nothing, "without latents", "numpyro.sample"),
    ],
)
def test_what_cannot_be_inferred_is_named(model, names, advice):
    with pytest.raises(opvi.InvalidTargetError) as error:
        opvi.from_numpyro(model, jnp.asarray(Y))
    assert names in str(error.value)
    assert advice in str(error.value)


def test_forgotten_data_is_noticed():
    with pytest.raises(opvi.InvalidTargetError, match="Was the data passed") as error:
        opvi.from_numpyro(chained, None)
    for name in ("a", "b", "y"):
        assert f"'{name}'" in str(error.value)


def test_only_latents_without_observed_descendants_are_refused():
    assert opvi.from_numpyro(chained, 1.0).columns == ("a", "b")
    with pytest.raises(opvi.InvalidTargetError) as error:
        opvi.from_numpyro(dead, 1.0)
    assert "'mu'" not in str(error.value)


def test_unobserved_latents_are_kept_on_request():
    target = opvi.from_numpyro(opvi.KeepUnobserved(chained), None)
    assert target.columns == ("a", "b", "y")
    expected = dist.Normal(0, 1).log_prob(jnp.array([1.0, 1.0, -1.0])).sum()
    np.testing.assert_allclose(target.log_density(jnp.array([1.0, 2.0, 1.0])), expected, rtol=1e-6)
