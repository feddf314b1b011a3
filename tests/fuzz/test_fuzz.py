"""A few attacks of each kind, and every one that ever found something."""

import json

import numpy as np
import pytest

from kernalign import ModelFileError, load
from tests.fuzz import files, sequences
from tests.fuzz.__main__ import ATTACKS, CASES

#: Attacks of a quick run, which takes seconds.
QUICK = {"files": 150, "bombs": 12, "fits": 6, "small-fits": 12, "commands": 20}
STORED = [(name, seed) for name, seeds in json.loads(CASES.read_text()).items() for seed in seeds]


@pytest.mark.parametrize("name", QUICK)
def test_a_quick_run(name):
    found = {seed: ATTACKS[name](seed) for seed in range(QUICK[name])}
    assert {seed: problem for seed, problem in found.items() if problem} == {}


@pytest.mark.parametrize(("name", "seed"), STORED)
def test_what_was_found_before(name, seed):
    assert ATTACKS[name](seed) is None


def test_sequences_of_calls():
    sequences.run(10)


def test_attacks_reach_beyond_the_checksum(tmp_path):
    """Most forged files are met by the schema: otherwise nothing but the seal would be attacked."""

    def meets_the_schema(seed):
        path = tmp_path / "m.kern"
        path.write_bytes(files.attacked(np.random.default_rng(seed))[0])
        try:
            load(path)
        except ModelFileError as problem:
            return "cannot be loaded" in str(problem)
        return True

    assert sum(meets_the_schema(seed) for seed in range(100)) > 40
