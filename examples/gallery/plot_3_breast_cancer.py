"""
A table with named columns: breast cancer
=========================================

The data are thirty measurements of cell nuclei in different units, and a diagnosis. The steps are:
scale, learn, compare by cross-validation, then interpret the kernel.
"""

# %%
# Units differ by a factor of a thousand, so a ``StandardScaler`` comes first. The default does not
# need it, but the other models do. With pandas output, it keeps the names of the columns.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from kernalign import ContinuousAlignment, Gaussian, KernelClassifier

data = load_breast_cancer(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, train_size=284, stratify=data.target, random_state=0
)

# %%
# The default compared with the usual grid search, on the same five folds.

grid = {"C": 10.0 ** np.arange(-2, 4), "gamma": np.geomspace(1e-4, 1, 6)}
models = {
    "learned kernel": KernelClassifier(),
    "GridSearchCV(SVC)": GridSearchCV(SVC(), grid),
}
for name, model in models.items():
    pipe = make_pipeline(StandardScaler(), model)
    scores = cross_val_score(pipe, X_train, y_train)
    print(f"{name}: cross-validated error {100 * (1 - scores.mean()):.1f} %")

# %%
# One bandwidth per feature shows which measurements the kernel uses. The penalty favours equal
# bandwidths.

learner = ContinuousAlignment(Gaussian(ard=True), penalty=1e-3)
pipe = make_pipeline(StandardScaler(), KernelClassifier(learner))
pipe.set_output(transform="pandas").fit(X_train, y_train)
kernel = pipe[-1].kernel_
relevance = sum(
    w / k.sigma**2 for w, k in zip(kernel.weights, kernel.kernels, strict=True)
)
print(f"test error {100 * (1 - pipe.score(X_test, y_test)):.1f} %")

# %%
# Relevance describes the kernel; permutation importance is the loss in accuracy without a column.
# Columns with the same information (radius, perimeter, area) can be relevant but replaceable.

lost = permutation_importance(pipe, X_test, y_test, n_repeats=5, random_state=0)
top = np.argsort(relevance)[-8:]
names = data.data.columns[top]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.4), sharey=True, layout="constrained"
)
left.barh(names, relevance[top] / relevance.sum(), color="C0")
left.set(title="Relevance in the kernel", xlabel="share of 1/sigma²")
right.barh(
    names, 100 * lost.importances_mean[top], xerr=100 * lost.importances_std[top]
)
right.set(title="Permutation importance", xlabel="points of accuracy lost")
plt.show()
