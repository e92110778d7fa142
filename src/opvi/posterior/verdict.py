"""The verdict on a fit: may it be used, for what, and why."""

import enum
from collections.abc import Mapping
from typing import Any

import equinox as eqx


class PoorFitWarning(UserWarning):
    """A fit whose verdict is not good."""


class Status(enum.StrEnum):
    """What the draws may be used for. A member equals its name: `verdict.status == "good"`."""

    good = "good"
    means_only = "means_only"
    unreliable = "unreliable"

    @property
    def message(self) -> str:
        return _MESSAGES[self]


_MESSAGES = {
    Status.good: "No check found a difference that matters between the draws and the posterior.",
    Status.means_only: "Posterior means can be used; standard deviations and intervals cannot.",
    Status.unreliable: "Do not use these draws as the posterior.",
}


class Verdict(eqx.Module):
    """A status, the reasons in sentences, and the numbers behind them.

    - `status`: whether the fit is good. Whether the run *converged* is another question:
    - `converged`: whether the iterates had become stationary; None where nobody looked.
    - `reasons`: what is wrong, the worst first, naming latents; empty when nothing is.
    - `numbers`: what the checks measured.
    """

    status: Status = eqx.field(static=True)
    reasons: tuple[str, ...] = eqx.field(static=True, default=())
    numbers: Mapping[str, float] = eqx.field(default_factory=dict)
    converged: bool | None = eqx.field(static=True, default=None)

    @property
    def good(self) -> bool:
        return self.status is Status.good

    def as_dict(self) -> dict[str, Any]:
        """Plain types, for a file."""
        return {
            "status": self.status.value,
            "reasons": list(self.reasons),
            "numbers": {name: float(value) for name, value in self.numbers.items()},
            "converged": self.converged,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Verdict":
        """What `as_dict` wrote."""
        return cls(
            Status(plain["status"]),
            tuple(plain["reasons"]),
            dict(plain["numbers"]),
            plain["converged"],
        )

    def __repr__(self) -> str:
        lines = [f"Verdict: {self.status.value}. {self.status.message}"]
        lines += [f"  - {reason}" for reason in self.reasons]
        if self.converged is not None:
            lines.append(f"  converged: {'yes' if self.converged else 'no'}")
        if self.numbers:
            numbers = ", ".join(f"{name} {value:.3g}" for name, value in self.numbers.items())
            lines.append(f"  {numbers}")
        return "\n".join(lines)
