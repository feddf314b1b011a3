"""
Regression: a trend and a season
================================

The response has a slow trend and an oscillation of unknown period. With the union of two families,
the learner uses a wide Gaussian for the trend and finds the frequency of the oscillation.
"""

# %%
# Ten years of monthly values: a slow trend, an oscillation with a period of one year, and noise.

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
# The bounds express prior knowledge: the trend is slower than two years, the frequency at least
# three radians per year. The target kernel is y y'. The machine is kernel ridge regression; its
# ridge parameter is selected by cross-validation.

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
# Between the observations both are accurate. Only the kernel with the period extrapolates.

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
