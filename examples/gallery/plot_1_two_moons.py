"""
Two moons with noise features
=============================

Two features separate the classes; eighteen are noise. A kernel with one bandwidth for all features
is dominated by the noise. With one bandwidth per feature, the kernel learns which features are
relevant: an irrelevant one gets ``sigma = inf`` and is ignored.
"""

# %%
# The data are two moons and eighteen noise features.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier

X, y = make_moons(1400, noise=0.2, random_state=0)
noise = np.random.default_rng(0).standard_normal((1400, 18))
X = np.hstack([X, noise])
X_train, y_train, X_test, y_test = X[:400], y[:400], X[400:], y[400:]

# %%
# One bandwidth for all features, then one per feature. Both select C by cross-validation.

one = KernelClassifier(ContinuousAlignment(Gaussian())).fit(X_train, y_train)
many = KernelClassifier(ContinuousAlignment(Gaussian(ard=True))).fit(
    X_train, y_train
)
for name, model in (("one bandwidth", one), ("one per feature", many)):
    print(f"{name:16} test error {100 * (1 - model.score(X_test, y_test)):4.1f} %")

# %%
# The relevance of a feature is 1/sigma², summed over the learned kernels by their weights.

kernel = many.kernel_
relevance = sum(
    w / k.sigma**2 for w, k in zip(kernel.weights, kernel.kernels, strict=True)
)
print(
    f"features without any relevance: {np.sum(relevance == 0)} of {relevance.size}"
)

# %%
# Left: the decision function over the two moons, with all noise features at zero. Right: the
# relevance of each feature.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
first, second = np.meshgrid(np.linspace(-1.8, 2.8, 120), np.linspace(-1.3, 1.8, 90))
grid = np.zeros((first.size, X.shape[1]))
grid[:, 0], grid[:, 1] = first.ravel(), second.ravel()
decision = many.decision_function(grid).reshape(first.shape)
left.contourf(first, second, decision, levels=20, cmap="coolwarm", alpha=0.6)
left.contour(first, second, decision, levels=[0], colors="k")
left.scatter(
    *X_train[:, :2].T,
    c=y_train,
    cmap="coolwarm",
    s=12,
    edgecolors="k",
    linewidths=0.3,
)
left.set(
    title="Decision over the two moons", xlabel="feature 1", ylabel="feature 2"
)
right.bar(np.arange(1, relevance.size + 1), relevance / relevance.sum(), color="C1")
right.set(
    title="Two features matter, 18 do not",
    xlabel="feature",
    ylabel="share of relevance",
)
right.set_xticks([1, 5, 10, 15, 20])
plt.show()
