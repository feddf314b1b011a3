"""Write the stored models that later versions must load. Run once per release, never again:

    python -m tests.persistence.data.make

Each model comes with rows and what the version that wrote it predicted for them.
"""

import json
from pathlib import Path

import numpy as np

import kernalign
from kernalign import ContinuousAlignment, Gaussian, KernelClassifier, KernelRegressor, save

FOLDER = Path(__file__).parent


def main():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    words = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])]
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]
    models = {
        "classifier": KernelClassifier(ContinuousAlignment(Gaussian(ard=True))).fit(X, words),
        "regressor": KernelRegressor(ContinuousAlignment()).fit(X, y),
    }
    new = rng.normal(size=(8, 3))
    for name, model in models.items():
        path = FOLDER / f"{name}-{kernalign.__version__}.kern"
        if path.exists():
            raise SystemExit(f"{path} is there: stored models are never written anew.")
        save(model, path)
        answers = {"predict": model.predict(new).tolist()}
        if hasattr(model, "predict_proba"):
            answers["predict_proba"] = model.predict_proba(new).tolist()
        path.with_suffix(".json").write_text(json.dumps({"X": new.tolist(), "answers": answers}))


if __name__ == "__main__":
    main()
