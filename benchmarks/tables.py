"""Tables as people have them: `fit(table, y)` beside boosting with its own categories.

python -m benchmarks tables runs what has no row yet and prints the bars, --report only prints.
Rows are under benchmarks/results/tables. Each has the error of one method on one split (in percent
of rows, or of the variance) and the processor seconds of its fit. At most 1500 rows are fitted to.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._row import Row
from experiments.datasets import MissingDataError

RESULTS = Path(__file__).parent / "results" / "tables" / "results.jsonl"
TABLE = Path(__file__).parents[1] / "docs" / "measured" / "tables.rst"
#: Table -> its target, and whether that is a class.
TABLES = {
    "penguins": ("species", True),
    "titanic": ("Survived", True),
    "lending_club": ("Class", True),
    "hitters": ("Salary", False),
    "carseats": ("Sales", False),
    "ames": ("Sale_Price", False),
    "diamonds": ("price", False),
}
ROWS, TEST_ROWS, SPLITS = 1500, 5000, 5
OURS, BY_HAND, CATBOOST, LIGHTGBM, HIST = (
    "kernalign",
    "kernalign, prepared by hand",
    "CatBoost",
    "LightGBM",
    "HistGradientBoosting",
)


def load(name: str) -> tuple[Any, Any]:
    """The table without its target, and the target, where it is known."""
    import pandas

    path = Path(os.environ.get("KERNALIGN_DATA", "")) / "tables" / f"{name}.csv.gz"
    if not path.exists():
        raise MissingDataError(
            f"The table {name!r} is missing. Set KERNALIGN_DATA to a directory that holds "
            f"tables/{path.name}."
        )
    table = pandas.read_csv(path)
    target = TABLES[name][0]
    table = table[table[target].notna()].reset_index(drop=True)
    return table.drop(columns=target), table[target]


def split(n: int, number: int) -> tuple[Any, Any]:
    order = np.random.default_rng(number).permutation(n)
    fitted = min(ROWS, 2 * n // 3)
    return order[:fitted], order[fitted : fitted + TEST_ROWS]


# -- methods: (classes, X, y) -> a function that predicts ------------------------------------------


def ours(classes: bool, X: Any, y: Any) -> Callable[[Any], Any]:
    from kernalign import KernelClassifier, KernelRegressor

    return (KernelClassifier() if classes else KernelRegressor()).fit(X, y).predict


def by_hand(classes: bool, X: Any, y: Any) -> Callable[[Any], Any]:
    """Median and indicator for missing numbers, scaled; one indicator column for each category."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    from kernalign import KernelClassifier, KernelRegressor

    text = categories_of(X)
    numbers = [name for name in X.columns if X[name].dtype.kind in "iufb"]
    prepared = ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(
                    SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
                ),
                numbers,
            ),
            ("text", OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
        ]
    )
    last = KernelClassifier() if classes else KernelRegressor()
    return make_pipeline(prepared, last).fit(X, y).predict


def categories_of(X: Any) -> list[str]:
    """Text that repeats; names of people are of no use to any method."""
    text = [name for name in X.columns if X[name].dtype.kind not in "iufb"]
    return [name for name in text if X[name].nunique() < len(X) / 2]


def catboost(classes: bool, X: Any, y: Any) -> Callable[[Any], Any]:
    from catboost import CatBoostClassifier, CatBoostRegressor

    text = categories_of(X)
    left_out = [n for n in X.columns if X[n].dtype.kind not in "iufb" and n not in text]

    def prepared(table: Any) -> Any:
        table = table.drop(columns=left_out)
        return table.assign(**{name: table[name].fillna("missing").astype(str) for name in text})

    kind = CatBoostClassifier if classes else CatBoostRegressor
    model = kind(thread_count=1, verbose=False, allow_writing_files=False, cat_features=text)
    model.fit(prepared(X), y)
    return lambda table: np.asarray(model.predict(prepared(table))).ravel()


def _of_dtype(make: Callable[[bool], Any]) -> Callable[[bool, Any, Any], Callable[[Any], Any]]:
    def fit(classes: bool, X: Any, y: Any) -> Callable[[Any], Any]:
        import pandas

        text = categories_of(X)
        known = {name: sorted(X[name].dropna().unique()) for name in text}
        left_out = [n for n in X.columns if X[n].dtype.kind not in "iufb" and n not in text]

        def prepared(table: Any) -> Any:
            table = table.drop(columns=left_out)
            return table.assign(
                **{name: pandas.Categorical(table[name], known[name]) for name in text}
            )

        model = make(classes).fit(prepared(X), y)
        return lambda table: model.predict(prepared(table))

    return fit


def _lightgbm(classes: bool) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMClassifier if classes else LGBMRegressor)(n_jobs=1, verbose=-1)


def _hist(classes: bool) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(categorical_features="from_dtype", random_state=0)


METHODS: dict[str, Callable[[bool, Any, Any], Callable[[Any], Any]]] = {
    OURS: ours,
    BY_HAND: by_hand,
    CATBOOST: catboost,
    LIGHTGBM: _of_dtype(_lightgbm),
    HIST: _of_dtype(_hist),
}

#: The methods that are ranked.
FOUR = (OURS, CATBOOST, LIGHTGBM, HIST)
#: A figure by table and method.
Errors = dict[tuple[str, str], float]


# -- rows ------------------------------------------------------------------------------------------


def measured(name: str, number: int, method: str) -> dict[str, Any]:
    """One row: the error in percent, or why there is none."""
    X, y = load(name)
    classes = TABLES[name][1]
    train, test = split(len(X), number)
    row: dict[str, Any] = {"table": name, "split": number, "method": method}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            began = time.process_time()
            predict = METHODS[method](classes, X.iloc[train], y.iloc[train])
            row["seconds"] = round(time.process_time() - began, 2)
            found = predict(X.iloc[test])
        except ImportError:
            raise
        except Exception as problem:  # whatever a package raises is its result
            return {**row, "failed": f"{type(problem).__name__}: {problem}"[:200]}
    truth = y.iloc[test].to_numpy()
    if classes:
        wrong = np.asarray(found).astype(str) != truth.astype(str)
        return {**row, "error": round(100 * float(wrong.mean()), 4)}
    share = float(np.mean((found - truth) ** 2) / np.var(truth))
    return {**row, "error": round(100 * share, 4)}


def read() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def run_all(names: Sequence[str], methods: Sequence[str], splits: int) -> None:
    # Importing is no part of a fit.
    importlib.import_module("kernalign")

    known = {(row["table"], row["split"], row["method"]) for row in read()}
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    for number in range(splits):
        for name in names:
            for method in methods:
                if (name, number, method) in known:
                    continue
                row = measured(name, number, method)
                with RESULTS.open("a") as stream:
                    stream.write(json.dumps(row) + "\n")


# -- bars ------------------------------------------------------------------------------------------


def bars(rows: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """What the rows say, on splits that all methods have."""
    errors = means(rows, "error")
    seconds = means(rows, "seconds")
    names = [name for name in TABLES if (name, OURS) in errors]
    fitted = sum((name, OURS) in errors for name in TABLES)
    yield Row("tables that fit(table, y) fits", f"{fitted} of {len(TABLES)}", "7", "7")
    for name in names:
        shown = "  ".join(f"{errors[name, m]:.2f}" for m in METHODS if (name, m) in errors)
        yield Row(f"{name}: error, % ({', '.join(_short(m) for m in METHODS)})", shown)
    complete = [n for n in names if all((n, m) in errors for m in METHODS)]
    if not complete:
        return
    above = {n: errors[n, OURS] - errors[n, BY_HAND] for n in complete}
    over = [n for n in complete if above[n] > (0.3 if TABLES[n][1] else 1.0)]
    lower = sum(gap < 0 for gap in above.values())
    yield Row("against preparation by hand: tables above the margin", str(len(over)), "0")
    yield Row("against preparation by hand: tables with a lower error", str(lower), "", "5")
    ranks = ranks_of(errors, complete)
    for method in FOUR:
        bar, goal = ("1st", "first on 5") if method == OURS else ("", "")
        first = sum(rank == 1 for rank in ranks[method])
        mean = float(np.mean(ranks[method]))
        yield Row(f"mean rank of four: {method}", f"{mean:.2f}, first on {first}", bar, goal)
    ratio = float(np.median([seconds[n, OURS] / seconds[n, CATBOOST] for n in complete]))
    worst = max(seconds[n, OURS] / seconds[n, CATBOOST] for n in complete)
    yield Row("fit, in times of CatBoost: median, worst", f"{ratio:.2f}, {worst:.2f}", "4", "1")


def ranks_of(errors: Errors, names: Sequence[str]) -> dict[str, list[int]]:
    """Rank of each of the four methods on each table, 1 for the smallest error."""

    def rank(name: str, method: str) -> int:
        return 1 + sum(errors[name, other] < errors[name, method] for other in FOUR)

    return {method: [rank(name, method) for name in names] for method in FOUR}


def means(rows: Sequence[dict[str, Any]], what: str) -> Errors:
    """Mean over the splits of a table that every method has, by table and method."""
    values = {(r["table"], r["split"], r["method"]): r[what] for r in rows if "error" in r}
    found = {}
    for name in TABLES:
        methods = {m for t, _, m in values if t == name}
        shared = [s for s in range(SPLITS) if all((name, s, m) in values for m in methods)]
        if shared:
            for method in methods:
                found[name, method] = float(np.mean([values[name, s, method] for s in shared]))
    return found


def _short(method: str) -> str:
    return {OURS: "ours", BY_HAND: "by hand", HIST: "Hist"}.get(method, method)


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """The table of the documentation: a table a row, a method a column."""
    errors = means(rows, "error")
    names = [n for n in TABLES if all((n, m) in errors for m in METHODS)]
    ranks = {m: f"{np.mean(places):.1f}" for m, places in ranks_of(errors, names).items()}
    lines = [
        ".. This file is written by: python -m benchmarks tables --report",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :stub-columns: 1",
        "",
        "   * -",
        *(f"     - {method}" for method in METHODS),
        f"   * - mean rank of {len(FOUR)}, {len(names)} tables",
        *(f"     - {ranks.get(method, '')}".rstrip() for method in METHODS),
    ]
    for name in names:
        shown = {m: f"{errors[name, m]:.2f}" for m in METHODS}
        best = min(FOUR, key=lambda m: errors[name, m])
        shown[best] = f"**{shown[best]}**"
        lines += [f"   * - {name}", *(f"     - {shown[method]}" for method in METHODS)]
    classes = [n for n in names if TABLES[n][1]]
    lines += [
        "",
        f"Test error in % ({', '.join(classes)}), or mean squared error in % of the variance.",
        "Means over the splits that all methods have (three or four). The smallest error of the",
        "four methods that are fitted to the unprepared table is bold.",
        "",
    ]
    return "\n".join(lines)


def run(given: Sequence[str] = ()) -> Iterator[Row]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__)
    parser.add_argument("--report", action="store_true", help="only print what the rows say")
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--splits", type=int, default=SPLITS)
    options = parser.parse_args(list(given))
    if not options.report:
        run_all(options.tables, options.methods, options.splits)
    rows = read()
    TABLE.write_text(summary(rows), encoding="utf-8")
    yield from bars(rows)
