"""The experiments of the paper, outside the package and on its public API only.

Rows: `datasets` and `generators` (where they come from), `problems` (train, validation and test
parts of one repeat). Runs: `methods` (how each competitor is fitted), `configs` (one experiment
each), `readings` (what the paper leaves open), `cells` and `runner` (cells to rows of a results
file), `check` (cells again). Verdicts: `claims` (what the paper says), `rules` (how evidence is
weighed), `margins`, `verdicts`. Pages: `statistics`, `tables`, `pages`, `parting`, `figures`,
`lecture` and `report`.
"""
