"""Learn logistic factor analysis with three E-steps; hold the models against each other by evidence.

The test log-likelihood of a model is the importance-weighted bound of log p(x), whole images, with
`DRAWS` draws from the Laplace approximation of each posterior: the same ruler for every model, whatever
q it was learned with. A bound from twice as many draws stands beside it: where the two agree, the
bound is as good as the number itself.
"""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

import opvi
from opvi.datasets import binarized_mnist
from opvi.studies._results import Row
from opvi.studies._study import Measured, Report, Settings
from opvi.studies.learning import figure
from opvi.studies.learning.e_steps import EStep, e_steps
from opvi.studies.lfa import law, model, numbers

COLUMNS = (
    "method",
    "seed",
    "steps",
    "images",
    "test_log_likelihood",
    "standard_error",
    "difference_to_mean_field_kl",
    "paired_difference_se",
    "twice_the_draws",
    "skipped",
    "seconds",
)

DRAWS = 500
RATE = 1e-3  # of Adam, after the mean field they have in common


def measure(settings: Settings, report: Report) -> Measured:
    """One row per E-step and seed. All start from one mean field and its model, and see the same
    batches."""
    data = binarized_mnist()
    train = data.train_images[: settings["train"]]
    rows: list[Row] = []
    histories: dict[str, np.ndarray] = {}
    for seed in settings.seeds:
        chosen = np.random.default_rng(seed).permutation(len(data.test_images))
        test = data.test_images[chosen[: settings["images"]]]
        k_common, k_learn, k_test, k_twice = jr.split(jr.key(seed), 4)
        common, first = model.learn(train, steps=settings["start"], key=k_common), None
        for e_step in e_steps():
            learned = learn(e_step, common, train, settings["steps"], k_learn)
            found = test_log_likelihoods(learned.parameters, test, k_test, DRAWS)
            first = found if first is None else first
            row = {
                "method": e_step.name,
                "seed": seed,
                "steps": settings["steps"],
                **_numbers(found, first),
                "twice_the_draws": float(
                    test_log_likelihoods(learned.parameters, test, k_twice, 2 * DRAWS).mean()
                ),
                "skipped": learned.skipped,
                "seconds": learned.seconds,
            }
            report(row)
            rows.append(row)
            histories.setdefault(e_step.name, learned.log_joint)
    labels = {e_step.name: e_step.label for e_step in e_steps()}
    return Measured(tuple(rows), {"learning.png": figure.learning(rows, histories, labels)})


def _numbers(found: np.ndarray, first: np.ndarray) -> Row:
    mean, error = numbers.mean_and_error(found)
    difference, paired = numbers.mean_and_error(found - first)
    return {
        "images": len(found),
        "test_log_likelihood": mean,
        "standard_error": error,
        "difference_to_mean_field_kl": difference,
        "paired_difference_se": paired,
    }


def learn(
    e_step: EStep, common: opvi.Learned, images: np.ndarray, steps: int, key: jax.Array
) -> opvi.Learned:
    """On from the mean field `common` with this E-step."""
    q_key, learn_key = jr.split(jr.fold_in(key, 1))
    start = common.amortised
    assert isinstance(start, opvi.AmortisedMeanField)
    return opvi.learn(
        model.model,
        images,
        common.parameters,
        e_step.widen(start, q_key),
        e_step.objective,
        key=learn_key,
        steps=steps,
        batch_size=100,
        estimator=e_step.estimator,
        learning_rate=RATE,
    )


def test_log_likelihoods(
    parameters: law.Parameters, images: np.ndarray, key: jax.Array, draws: int
) -> np.ndarray:
    """The bound of log p(x) of each image."""
    keys = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.arange(len(images)))
    values = np.asarray(images, np.float32)
    return np.asarray(_bounds(parameters, jnp.asarray(values), keys, draws), np.float64)


test_log_likelihoods.__test__ = False  # pyright: ignore  (a number of the test images, not pytest's)


def _bounds_of_all(
    parameters: law.Parameters, images: jax.Array, keys: jax.Array, draws: int
) -> jax.Array:
    def of_one(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
        image, key = inputs
        pixels = law.Pixels(image, parameters)
        mode, precision = law.laplace(pixels)
        scale = jnp.linalg.cholesky(jnp.linalg.inv(precision))
        proposal = opvi.FullRank(mode.shape[0], loc=mode, scale_tril=scale)
        return opvi.importance_bound(law.posterior(pixels), proposal, key, draws)

    return jax.lax.map(of_one, (images, keys), batch_size=10)


_bounds = jax.jit(_bounds_of_all, static_argnums=3)
