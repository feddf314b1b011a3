"""
The paper's sine problem: frequencies from labels
=================================================

Labels are the sign of a sum of three sines of one feature. The Dirichlet kernel
``1 + 2 cos(sigma |x - x'|)`` has one frequency; a learned combination of kernels finds all three.
"""

# %%
# The problem of the paper: x is uniform on [-10, 10], and there are three frequencies.

import matplotlib.pyplot as plt
import numpy as np

from kernalign import (
    ContinuousAlignment,
    Dirichlet,
    Gaussian,
    KernelClassifier,
    centered_alignment,
)

rng = np.random.default_rng(0)
truth = np.sqrt([2, 12, 60])


def draw(n):
    x = rng.uniform(-10, 10, n)
    return x[:, None], np.where(np.sin(np.outer(x, truth)).sum(axis=1) >= 0, 1, -1)


X, y = draw(500)
X_test, y_test = draw(2000)
model = KernelClassifier(ContinuousAlignment(Dirichlet(bounds=(0, 10)))).fit(X, y)
gaussian = KernelClassifier(ContinuousAlignment(Gaussian())).fit(X, y)
print(f"Dirichlet: test error {100 * (1 - model.score(X_test, y_test)):.1f} %")
print(f"Gaussian:  test error {100 * (1 - gaussian.score(X_test, y_test)):.1f} %")
print(model.kernel_)

# %%
# The alignment of a single kernel as a function of its frequency has dozens of local maxima. A
# local search would find the nearest one. The scan is fine enough not to miss any.

sigma = np.linspace(0.05, 10, 400)
target = np.outer(y, y)
landscape = [centered_alignment(Dirichlet().at(s)(X), target) for s in sigma]
found = [k.sigma[0] for k in model.kernel_.kernels]
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(10, 5), sharex=True, layout="constrained"
)
for ax in (top, bottom):
    for s in truth:
        ax.axvline(s, color="0.85", lw=7, zorder=0)
top.plot(sigma, landscape, color="C3")
top.set(
    ylabel="alignment", title="Alignment of one kernel (grey: the true frequencies)"
)
bottom.vlines(found, 0, model.kernel_.weights, color="C0", lw=2)
bottom.plot(found, model.kernel_.weights, "o", color="C0")
bottom.set(xlabel="frequency", ylabel="weight", title="Kernels that were learned")
bottom.set_ylim(0)
plt.show()
