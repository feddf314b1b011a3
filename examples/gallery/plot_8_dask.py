"""
Rows on a cluster
=================

Chunks of a Dask array stay on their workers. Here the cluster is this process; for a real cluster,
only the address of the client changes.
"""

# %%
# This example uses 16,000 rows. Chunks must not divide the features, and need not have equal
# lengths.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client

from kernalign import ContinuousAlignment, KernelClassifier

rng = np.random.default_rng(0)
rows = rng.uniform(-3, 3, size=(16_000, 2))
labels = (np.sin(2 * rows[:, 0]) + np.cos(2 * rows[:, 1]) > 0).astype(int)
# Port 0 means any free port: another cluster may use the usual port of the dashboard.
client = Client(
    processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0"
)
X = da.from_array(rows[:12_000], chunks=((5000, 4000, 3000), (2,)))

# %%
# The kernel is learned by exact passes over all pairs of chunks, or on a sample if there are too
# many. The sums of the second stage are added chunk by chunk. Only labels are sent to the client.

clf = KernelClassifier(ContinuousAlignment(), n_components=300).fit(
    X, labels[:12_000]
)
print(clf.kernel_)
print(clf.solver_, f"{1 - clf.score(rows[12_000:], labels[12_000:]):.3f}")

# %%
# The predictions of a Dask array are a lazy Dask array.

side = np.linspace(-3, 3, 120)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
predicted = clf.predict(da.from_array(grid, chunks=(4800, 2)))
figure, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
ax.pcolormesh(
    side, side, predicted.compute().reshape(120, 120), cmap="coolwarm", alpha=0.7
)
ax.scatter(
    *rows[:300].T,
    c=labels[:300],
    cmap="coolwarm",
    s=8,
    edgecolors="white",
    linewidths=0.3,
)
ax.set(
    xlabel="first feature",
    ylabel="second feature",
    title="Learned from three chunks",
)
client.close()
plt.show()
