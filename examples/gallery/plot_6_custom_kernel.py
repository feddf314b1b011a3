"""
Your own kernel: the hour of the day
====================================

23:00 and 1:00 are two hours apart, not twenty-two. A Gaussian on the hour ignores this; a kernel on
the circle does not. Any function of two data sets and some parameters can be a family.
"""

# %%
# An event takes place from 21:30 to 2:00. There are 80 observations, none of them between midnight
# and 4:00.

import matplotlib.pyplot as plt
import numpy as np

from kernalign import ContinuousAlignment, CustomFamily, KernelClassifier

rng = np.random.default_rng(1)


def observe(n, first, last):
    hour = rng.uniform(first, last, n)
    return hour[:, None], (hour > 21.5) | (hour < 2)


X, y = observe(80, 4, 24)
X_test, y_test = observe(4000, 0, 24)

# %%
# The kernel: exp(-(1 - cos(angle between)) / sigma²). It must be positive definite for every
# sigma within the bounds, which this one is.


def on_the_clock(X, Z, sigma):
    angle = 2 * np.pi * (X - Z.T) / 24
    return np.exp(-(1 - np.cos(angle)) / sigma**2)


circle = CustomFamily(on_the_clock, bounds=(0.05, 5))
model = KernelClassifier(ContinuousAlignment(circle)).fit(X, y)
plain = KernelClassifier(ContinuousAlignment()).fit(X, y)
for name, fitted in (("on the clock", model), ("plain Gaussian", plain)):
    print(f"{name:14} test error {100 * (1 - fitted.score(X_test, y_test)):.1f} %")
print(model.kernel_)

# %%
# The probability over the day. For the Gaussian kernel, midnight is the end of an interval, and the
# hours after it are close only to 4:00.

hours = np.linspace(0, 24, 400)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for fitted, label in ((model, "on the clock"), (plain, "plain Gaussian")):
    left.plot(hours, fitted.predict_proba(hours[:, None])[:, 1], label=label)
left.plot(X[:, 0], y + 0.0, "k|", ms=10)
left.axvspan(0, 2, color="0.93")
left.axvspan(21.5, 24, color="0.93")
left.set(xlabel="hour", ylabel="probability", title="Probability (grey: the truth)")
left.set_xticks(range(0, 25, 3))
left.legend(loc="upper center")
middle = np.array([[23.5]])
right.plot(hours, model.kernel_(middle, hours[:, None])[0], label="on the clock")
right.plot(hours, plain.kernel_(middle, hours[:, None])[0], label="plain Gaussian")
right.set(
    xlabel="hour", ylabel="kernel", title="Similarity to half past eleven at night"
)
right.set_xticks(range(0, 25, 3))
right.legend(loc="upper center")
plt.show()
