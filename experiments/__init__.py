"""The experiments of the paper, outside the package and on its public API only.

One component a file: `datasets` and `generators` (where rows come from), `problems` (train,
validation and test parts of one repeat), `methods` (how each competitor is fitted), `configs` (one
experiment each), `runner` (cells to rows of a results file), `statistics`, `claims` (what the paper
says and when it counts as reproduced), `figures` and `report`.
"""
