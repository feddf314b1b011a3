"""Slopes of probabilities: one value and several are searched alike."""

import numpy as np
import pytest

from kernalign.machines.calibration import best_slopes


@pytest.mark.parametrize("wrong", [1, 3])
def test_one_value_has_the_same_slope_as_among_several(wrong):
    rng = np.random.default_rng(0)
    rows, weight = rng.normal(-1, 2, size=(6, 50, wrong)), rng.uniform(0.5, 2, 50)
    alone = [best_slopes(one[None], weight)[0] for one in rows]
    np.testing.assert_allclose(best_slopes(rows, weight), alone, rtol=1e-6)
