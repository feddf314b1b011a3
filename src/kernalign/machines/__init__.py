"""Second stages: machines on a Gram matrix, and linear machines on explicit features."""

from kernalign.machines.least_squares import LinearModel, NormalEquations, normal_equations
from kernalign.machines.model import DualModel
from kernalign.machines.squared_hinge import SquaredHinge

__all__ = ["DualModel", "LinearModel", "NormalEquations", "SquaredHinge", "normal_equations"]
