"""One experiment each: tasks, methods and settings.

What the paper leaves open is run in every reading (`experiments.readings`) where a choice changes
much; other open choices say so here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments import problems
from experiments.cells import Experiment
from experiments.generators import FREQUENCIES
from experiments.landscape import Landscape
from experiments.methods import Learn, PenaltyPath
from experiments.readings import readings
from kernalign import (
    ContinuousAlignment,
    ContinuousRisk,
    Dirichlet,
    DiscreteAlignment,
    Gaussian,
    LpNormMKL,
    Reweighted,
    UniformWeights,
)

Methods = dict[str, Callable[[Any], Any]]

GAMMAS = (0, 1, 2, 5, 10, 20, 40)
#: Ranges of bandwidths: of the finite dictionaries, and of the continuous search beside them.
RANGES = {"gaussians50": (1e-3, 1e3), "mnist": (500.0, 50000.0), "letter": (1.0, 200.0)}
#: The paper gives no dictionary for the eleven sets: 20 geometric values on standardised features.
RANGES["eleven"] = (0.1, 100.0)
#: Methods on a finite dictionary.
FINITE = ("DA", "D1", "D2", "DU")
#: Steps of the frequency grids on which DA shows how fine a dictionary must be.
STEPS = (0.5, 0.2, 0.1, 0.05)


def finite(kernels: Sequence[Any]) -> Methods:
    return {
        "DA": Learn(DiscreteAlignment(kernels)),
        "D1": Learn(LpNormMKL(kernels, p=1)),
        "D2": Learn(LpNormMKL(kernels, p=2)),
        "DU": Learn(UniformWeights(kernels)),
    }


def one_bandwidth(bounds: tuple[float, float]) -> Methods:
    family = Gaussian(bounds=bounds)
    return {
        "CA-1D": Learn(ContinuousAlignment(family)),
        "CR": Learn(ContinuousRisk(family)),
        "CR-DC": Learn(ContinuousRisk(family, solver="dc")),
    }


def many_bandwidths() -> PenaltyPath:
    # No bounds: an irrelevant feature must be free to have an infinite bandwidth.
    return PenaltyPath(ContinuousAlignment(Gaussian(ard=True), n_starts=1))


def beyond_the_paper(bounds: tuple[float, float]) -> Methods:
    """Other weights on the kernels that CA found, and other ways to grow."""
    family = Gaussian(bounds=bounds)
    found = ContinuousAlignment(family)
    return {
        "CA uniform": Learn(Reweighted(found, UniformWeights())),
        "CA alignf": Learn(Reweighted(found, DiscreteAlignment())),
        "CA D1": Learn(Reweighted(found, LpNormMKL(p=1))),
        "CA D2": Learn(Reweighted(found, LpNormMKL(p=2))),
        "CA corrected": Learn(ContinuousAlignment(family, corrective=True)),
        "CA best step": Learn(ContinuousAlignment(family, selection="step")),
    }


def fixed_frequencies() -> Methods:
    names = ("2", "12", "60")
    subsets = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    return {
        "SVM " + "+".join(names[k] for k in subset): Learn(
            UniformWeights([Dirichlet().at(float(FREQUENCIES[k])) for k in subset])
        )
        for subset in subsets
    }


def dirichlet() -> Experiment:
    family = Dirichlet(bounds=(0, 10))
    continuous: Methods = {
        "CA": Learn(ContinuousAlignment(family)),
        "CR": Learn(ContinuousRisk(family)),
        "CR+SVM": Learn(ContinuousRisk(family), two_stages=True),
    }
    finer: Methods = {
        f"DA {step:g}": Learn(
            DiscreteAlignment([family.at(float(s)) for s in np.arange(0, 10 + step / 2, step)])
        )
        for step in STEPS
    }
    return Experiment(
        "dirichlet",
        "The sine problem with Dirichlet kernels",
        {"sine": problems.dirichlet},
        {
            **fixed_frequencies(),
            **continuous,
            **finite([family.at(float(s)) for s in range(10)]),
            **finer,
        },
        resolution=0.1,
    )


def dirichlet_gaussian() -> Experiment:
    """The range of sigma is open; 0 is no bandwidth, so the finite methods have 1..9."""
    family = Gaussian(bounds=(0.01, 10))
    return Experiment(
        "dirichlet-gaussian",
        "The sine problem with Gaussian kernels",
        {"sine": problems.dirichlet},
        {
            "CA": Learn(ContinuousAlignment(family)),
            "CR": Learn(ContinuousRisk(family)),
            **finite([family.at(float(s)) for s in range(1, 10)]),
        },
        choices=readings(["scale"]),
    )


def gaussians50() -> Experiment:
    low, high = RANGES["gaussians50"]
    single = one_bandwidth((low, high))
    del single["CR-DC"]
    unpenalised = Learn(ContinuousAlignment(Gaussian(ard=True), penalty=0.0))
    return Experiment(
        "gaussians50",
        "Two Gaussians in 50 dimensions",
        {f"gamma={g}": partial(problems.gaussians50, gamma=g) for g in GAMMAS},
        {
            "CA-1D": single["CA-1D"],
            "CA-nD": many_bandwidths(),
            "CA-nD lambda=0": unpenalised,
            "CR": single["CR"],
            **finite(Gaussian().grid(low, high, 50)),
        },
        choices=readings(["scale", "labels"]),
    )


def landscape() -> Experiment:
    tasks: dict[str, Any] = {
        f"mnist {name}": partial(problems.mnist, name=name) for name in ("odd-even", "3-8", "1-7")
    } | {f"letter {name}": partial(problems.letter, name=name) for name in ("C-G", "I-J", "B-R")}
    methods: Methods = {
        f"CA-1D {data}": Landscape(
            ContinuousAlignment(Gaussian(bounds=RANGES[data])),
            RANGES[data][0] / 10,
            RANGES[data][1],
        )
        for data in ("mnist", "letter")
    }
    only: dict[str, Sequence[str]] = {task: [f"CA-1D {task.split()[0]}"] for task in tasks}
    return Experiment("landscape", "What each iteration of CA minimises", tasks, methods, only)


def mnist() -> Experiment:
    low, high = RANGES["mnist"]
    return Experiment(
        "mnist",
        "MNIST digits",
        {name: partial(problems.mnist, name=name) for name in problems.MNIST},
        {
            **one_bandwidth((low, high)),
            **finite(Gaussian().linspace(low, high, 20)),
            **beyond_the_paper((low, high)),
        },
    )


def letter() -> Experiment:
    low, high = RANGES["letter"]
    return Experiment(
        "letter",
        "Pairs of letters",
        {name: partial(problems.letter, name=name) for name in problems.LETTER},
        {
            **one_bandwidth((low, high)),
            "CA-nD": many_bandwidths(),
            **finite(Gaussian().linspace(low, high, 20)),
            **beyond_the_paper((low, high)),
        },
        choices=readings(["scale"]),
    )


def eleven() -> Experiment:
    low, high = RANGES["eleven"]
    return Experiment(
        "eleven",
        "The eleven benchmark sets",
        {name: partial(problems.eleven, name=name) for name in problems.ELEVEN},
        {
            **one_bandwidth((low, high)),
            "CA-nD": many_bandwidths(),
            **finite(Gaussian().grid(low, high, 20)),
            **beyond_the_paper((low, high)),
        },
        choices=readings(["scale"]),
    )


#: In the order in which they are run and reported.
EXPERIMENTS: dict[str, Callable[[], Experiment]] = {
    "dirichlet": dirichlet,
    "dirichlet-gaussian": dirichlet_gaussian,
    "gaussians50": gaussians50,
    "landscape": landscape,
    "mnist": mnist,
    "letter": letter,
    "eleven": eleven,
}
