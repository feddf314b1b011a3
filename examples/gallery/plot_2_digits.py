"""
Handwritten digits: the learned kernel
======================================

There are ten classes and sixty-four pixels. The default searches families of kernels by evidence.
The plot compares the learned kernel with the *target kernel*, which is large for two images of the
same digit and small otherwise.
"""

# %%
# 600 images are used for training, the other 1197 for testing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from kernalign import KernelClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=600, stratify=y, random_state=0
)
model = KernelClassifier().fit(X_train, y_train)
print(model.kernel_)
print(f"alignment  {model.alignment_:.3f}")
print(f"C          {model.C_:g}")
print(f"test error {100 * (1 - model.score(X_test, y_test)):.1f} %")

# %%
# The Gram matrix of a sample of the test rows, ordered by class. Blocks on the diagonal are
# images of the same digit. The kernel was not learned from these rows.

order = np.argsort(y_test[:400], kind="stable")
rows, labels = X_test[:400][order], y_test[:400][order]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
left.imshow(model.kernel_(rows), cmap="viridis")
left.set_title("Learned kernel on new images")
right.imshow(labels[:, None] == labels, cmap="viridis")
right.set_title("Ideal: same digit or not")
starts = np.searchsorted(labels, np.arange(10))
for ax in (left, right):
    ax.set_xticks(starts, np.arange(10))
    ax.set_yticks(starts, np.arange(10))
plt.show()

# %%
# The most uncertain images: those with the smallest difference between the best two classes.

scores = np.sort(model.decision_function(X_test), axis=1)
unsure = np.argsort(scores[:, -1] - scores[:, -2])[:8]
said = model.predict(X_test[unsure])
figure, axes = plt.subplots(1, 8, figsize=(10, 1.9), layout="constrained")
for ax, i, digit in zip(axes, unsure, said, strict=True):
    ax.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    color = "C2" if digit == y_test[i] else "C3"
    ax.set_title(f"says {digit}\nis {y_test[i]}", fontsize=9, color=color)
    ax.set_axis_off()
plt.show()
