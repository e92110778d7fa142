"""The methods of the benchmark: `(posterior, key, draws) -> Outcome`, by the name on the command line.

Each does with a posterior what its documentation says a user does, once, without tuning to it:

| name | what | budget |
|---|---|---|
| `opvi` | `opvi.fit(target, key=key)` | its own |
| `opvi_gaussian` | the Gaussian stages alone | its own |
| `autonormal` | NumPyro AutoNormal, Adam 1e-2 -> 1e-4 | 20,000 steps of 1 draw |
| `automultivariatenormal` | NumPyro AutoMultivariateNormal, the same | 20,000 steps of 1 draw |
| `autoiafnormal` | NumPyro AutoIAFNormal, Adam 2e-3 -> 2e-5 | 20,000 steps of 10 draws |
| `pathfinder` | BlackJAX Pathfinder, one path, ftol 1e-12 | at most 300 L-BFGS iterations |
| `flowjax` | masked autoregressive flow, its ElboLoss, Adam 1e-3 | 5,000 steps of 100 draws |
| `nuts` | BlackJAX NUTS, diagonal metric, acceptance 0.8 | 4 chains, 1,000 + 1,000 |
"""

from benchmarks.methods._outcome import Method as Method, Outcome as Outcome
from benchmarks.methods.numpyro_guides import (
    autoiafnormal,
    automultivariatenormal,
    autonormal,
)
from benchmarks.methods.others import flowjax, nuts, pathfinder
from benchmarks.methods.ours import gaussian, opvi_default

METHODS: dict[str, Method] = {
    "opvi": opvi_default,
    "opvi_gaussian": gaussian,
    "autonormal": autonormal,
    "automultivariatenormal": automultivariatenormal,
    "autoiafnormal": autoiafnormal,
    "pathfinder": pathfinder,
    "flowjax": flowjax,
    "nuts": nuts,
}
