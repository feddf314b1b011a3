"""What a file holds of each class; importing this package makes all of them known."""

from kernalign.persistence.schemas import (
    estimators,
    kernels,
    learners,
    models,
    pipelines,
    steps,
    tables,
)

__all__ = ["estimators", "kernels", "learners", "models", "pipelines", "steps", "tables"]
