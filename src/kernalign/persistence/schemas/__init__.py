"""What a file holds of each class; importing this package makes all of them known."""

from kernalign.persistence.schemas import (
    certainty,
    estimators,
    kernels,
    learners,
    models,
    pipelines,
    steps,
    tables,
)

__all__ = [
    "certainty",
    "estimators",
    "kernels",
    "learners",
    "models",
    "pipelines",
    "steps",
    "tables",
]
