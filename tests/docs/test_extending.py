"""The skeletons on the page are whole: each is taken from it, built, and run through the law suites."""

import re
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import opvi
from tests.fixtures import skewed
from tests.goodness import p_value
from tests.laws import (
    catalogue,
    reference,
    test_divergence as divergence_law,
    test_gradients_exact as gradient_law,
    test_paired as paired_law,
    test_stein_identity as identity_law,
)

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
NAMES = {
    "operator": "TamedLangevinStein",
    "test function": "WaveTestFunction",
    "distance": "Quartic",
    "family": "LaplaceMeanField",
    "program": "program",
}


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def skeletons() -> dict[str, str]:
    """The blocks that open with their kind as a comment, by kind."""
    found = {}
    for block in blocks():
        kind = re.match(r"# (.+)\n", block)
        if kind:
            found[kind[1]] = block
    return found


def build(kind: str):
    """What the block defines, run on its own: it has to bring every import it needs."""
    names = {"__name__": "extending"}
    exec(compile(skeletons()[kind], f"{PAGE}: {kind}", "exec"), names)
    return names[NAMES[kind]]


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The pieces of the page as rows of the catalogue."""
    operator, functions, family = build("operator"), build("test function"), build("family")
    monkeypatch.setitem(catalogue.OPERATORS, "Tamed", operator)
    monkeypatch.setitem(catalogue.TEST_FUNCTIONS, "waves", lambda: functions(waves=4))
    monkeypatch.setitem(catalogue.FAMILIES, "Laplace", lambda key: family(2, key=key))
    monkeypatch.setitem(reference.INTEGRANDS, "Tamed", tamed_again)
    return SimpleNamespace(operator=operator, functions=functions, family=family)


def tamed_again(f, q, z, eps, key, known) -> jax.Array:
    """1/p div(p f / (1 + |z|^2)), by the product rule."""
    weight = 1.0 / (1.0 + jnp.sum(z**2))
    plain = reference.langevin_stein_exact(f, q, z, eps, key, known)
    return weight * plain - 2.0 * weight**2 * z @ f(z, jax.grad(known.log_density)(z))


def test_the_page_has_a_skeleton_of_each_kind() -> None:
    assert set(skeletons()) == set(NAMES)


def test_the_operator_and_the_test_function_obey_the_stein_identity(toys) -> None:
    identity_law.test_identity_under_p("Tamed", skewed(2))


@pytest.mark.float64
@pytest.mark.parametrize(
    ("operator", "test_functions", "family"),
    [
        ("Tamed", "waves", "Laplace"),
        ("LangevinStein_DivergenceFree", "waves", "SemiImplicitProgram"),
        ("KL", "none", "Laplace"),
    ],
)
def test_gradients_are_exact(operator: str, test_functions: str, family: str, toys) -> None:
    gradient_law.test_both_gradients(operator, test_functions, family)


def test_the_three_forms_of_the_divergence_agree(toys) -> None:
    divergence_law.test_three_forms_of_the_divergence_agree("waves", "Laplace")


@pytest.mark.float64
def test_the_distance_is_unbiased_in_its_paired_form() -> None:
    paired_law.test_paired_form_of_every_distance_has_t_of_the_mean(build("distance")())


def test_the_family_has_the_density_of_its_draws(toys) -> None:
    q = catalogue.make_family("Laplace")
    draws = q.sample(jr.key(0), 50_000)
    assert p_value(draws, q.log_prob, -6.0, 6.0, cells=12, fine=32) > 1e-3  # it has a cusp


def test_the_program_is_one() -> None:
    program = build("program")
    assert isinstance(program, opvi.AbstractReparameterisedFamily)
    assert program.sample(jr.key(0), 3).shape == (3, 2)


def test_all_four_go_together() -> None:
    (together,) = (block for block in blocks() if "posterior" in block)
    names = {NAMES[kind]: build(kind) for kind in NAMES}
    target = opvi.from_log_density(lambda z: -0.5 * jnp.sum((z - 1.0) ** 2), jnp.zeros(2))
    names |= {"opvi": opvi, "target": target, "key": jr.key(0), "steps": 300}
    together = together.replace("steps=steps", "steps=steps, progress=False, learning_rate=1e-2")
    exec(compile(together, f"{PAGE}: together", "exec"), names)
    # E_q[O f] pulls the centre towards that of p.
    loc = np.asarray(names["posterior"].family.loc)
    assert np.all(np.abs(loc - 1.0) < 0.5), loc
