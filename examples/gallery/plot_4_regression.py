"""
Regression: a trend and a season
================================

A response that drifts slowly and swings with a period nobody told us. The union of two families
lets the learner take a wide Gaussian for the drift and find the frequency for the swing.
"""

# %%
# Ten years of monthly values: a slow curve, a wave of period one year, noise.

import matplotlib.pyplot as plt
import numpy as np

from kernalign import (
    AnyOf,
    ContinuousAlignment,
    Dirichlet,
    Gaussian,
    KernelRegressor,
)

rng = np.random.default_rng(0)
t = np.sort(rng.uniform(0, 10, 160))
truth = 0.15 * (t - 4) ** 2 + 1.2 * np.sin(2 * np.pi * t)
y = truth + 0.3 * rng.standard_normal(t.size)
X = t[:, None]

# %%
# The bounds say what we know: the drift is slower than two years, the swing at least three
# radians a year. The target kernel is y y'. Kernel ridge regression is the machine; its ridge is
# chosen by cross-validation.

families = AnyOf(Gaussian(bounds=(2, 20)), Dirichlet(bounds=(3, 20)))
union = KernelRegressor(ContinuousAlignment(families)).fit(X, y)
alone = KernelRegressor(ContinuousAlignment()).fit(X, y)
print("union:", union.kernel_)
print("alone:", alone.kernel_)
learned = zip(union.kernel_.weights, union.kernel_.kernels, strict=True)
weight, wave = max(
    (w, k.sigma[0]) for w, k in learned if isinstance(k.family, Dirichlet)
)
print(f"period found: {2 * np.pi / wave:.3f} (truth: 1)")

# %%
# Between the observations both do well. Beyond them only the kernel that knows the period goes on.

ahead = np.linspace(0, 12, 700)
figure, ax = plt.subplots(figsize=(10, 4), layout="constrained")
ax.plot(t, y, ".", color="0.6", label="observed")
ax.plot(
    ahead, union.predict(ahead[:, None]), color="C0", label="Gaussian and Dirichlet"
)
ax.plot(
    ahead, alone.predict(ahead[:, None]), color="C1", lw=1, label="Gaussian alone"
)
ax.plot(
    ahead,
    0.15 * (ahead - 4) ** 2 + 1.2 * np.sin(2 * np.pi * ahead),
    "k:",
    lw=1,
    label="truth",
)
ax.axvspan(10, 12, color="0.95")
ax.set(xlabel="year", ylabel="response", title="No observation after year ten")
ax.legend(ncols=4, loc="upper center")
plt.show()
