"""Trained machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernalign._typing import Array


@dataclass(frozen=True)
class DualModel:
    """f(x) = sum_i k(x, x_i) coefficients_i + intercept.

    coefficients : (n,), or (n, c) for c outputs; intercept : number or (c,).
    """

    coefficients: Array
    intercept: Any

    def predict(self, K: Array) -> Array:
        """Outputs for the rows of K = k(X, training rows)."""
        return K @ self.coefficients + self.intercept
