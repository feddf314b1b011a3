"""A small experiment with methods that succeed, fail, hang and take their time."""

import time
from dataclasses import replace

import numpy as np

from experiments.cells import Experiment
from experiments.methods import Learn
from experiments.problems import Problem, scaled
from kernalign import Gaussian, UniformWeights


def problem(repeat):
    rng = np.random.default_rng(repeat)
    parts = []
    for _ in range(3):
        y = np.where(np.arange(20) % 2, 1, -1)
        parts.append((rng.standard_normal((20, 2)) + y[:, None], y))
    return Problem(*parts)


def works(problem):
    return {"error": 0.25}


def slow(problem):
    time.sleep(0.15)
    return {"error": 0.5}


def fails(problem):
    raise ArithmeticError("no such kernel")


def hangs(problem):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            time.sleep(0.05)
        except Exception:
            continue
    return {"error": 0.0}


def scaled_problem(repeat, scale):
    return scaled(problem(repeat), scale)


class Shared:
    """One fit, two ways to choose from it."""

    axis = "lambda"
    scores = ("alignment", "error")

    def __call__(self, problem):
        fitted = Learn(UniformWeights([Gaussian().at(100.0)]))(problem)
        return {score: replace(fitted, seconds=1.0) for score in self.scores}


def experiment(**methods):
    return Experiment("toy", "Toys", {"one": problem, "two": problem}, methods)
