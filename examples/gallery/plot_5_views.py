"""
Several views of the same objects
=================================

Images of digits are described in four ways: by their pixels, by sums along rows, by sums along
columns, and by a view that is only noise. Each view has its own family over its own columns, and
the learner weights them.
"""

# %%
# The four views are adjacent blocks of columns in one table; ``columns=`` selects them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    Gaussian,
    KernelClassifier,
    Laplacian,
)

images, y = load_digits(return_X_y=True)
square = images.reshape(-1, 8, 8)
views = {
    "pixels": images,
    "row sums": square.sum(axis=2),
    "column sums": square.sum(axis=1),
    "noise": 10 * np.random.default_rng(0).standard_normal((len(y), 30)),
}
X = np.hstack(list(views.values()))
ends = np.cumsum([view.shape[1] for view in views.values()])
columns = {
    name: slice(end - view.shape[1], end)
    for (name, view), end in zip(views.items(), ends, strict=True)
}
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=500, stratify=y, random_state=0
)

# %%
# Views may have different families. For counts, the L1 distance is often better than the squared
# one, hence the Laplacian for the sums.

union = AnyOf(
    Gaussian(columns=columns["pixels"]),
    Laplacian(columns=columns["row sums"]),
    Laplacian(columns=columns["column sums"]),
    Gaussian(columns=columns["noise"]),
)
model = KernelClassifier(ContinuousAlignment(union)).fit(X_train, y_train)
print(model.kernel_)

# %%
# The weight of each view in the kernel, and the error of each view alone.


def error(learner):
    fitted = KernelClassifier(learner, nested=False).fit(X_train, y_train)
    return 100 * (1 - fitted.score(X_test, y_test))


alone = {
    name: error(ContinuousAlignment(f))
    for name, f in zip(views, union.families, strict=True)
}
alone["all columns\nas one"] = error(ContinuousAlignment(Gaussian()))
alone["learned\ncombination"] = 100 * (1 - model.score(X_test, y_test))
share = dict.fromkeys(views, 0.0)
for kernel, weight in zip(
    model.kernel_.kernels, model.kernel_.weights, strict=True
):
    name = next(
        n for n, c in columns.items() if c.start == kernel.family.columns[0]
    )
    share[name] += weight / model.kernel_.weights.sum()

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.bar(list(share), list(share.values()), color="C2")
left.set(title="Share of the learned kernel", ylabel="share of the weights")
bars = right.bar(
    list(alone), list(alone.values()), color=["C0"] * 4 + ["0.6", "C2"]
)
right.bar_label(bars, fmt="%.1f")
right.tick_params(axis="x", labelsize=8)
right.set(title="Test error by view", ylabel="test error %")
plt.show()
