"""A hundred broken or odd tables, each with what must happen."""

import datetime
import decimal
import fractions
import uuid
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


@dataclass
class Case:
    """A table, and what must become of it.

    kinds : the kind of each column, if the table can be used.
    first : the first row of the encoded matrix, if it is given.
    says : parts of the error's sentence, if the table cannot be used.
    warns : parts of the warning, if there must be one.
    options : arguments of `Columns.of`.
    predict : a second table, which `encode` must take, or refuse if `says` is given.
    """

    title: str
    table: Any
    kinds: dict[str, str] = field(default_factory=dict)
    first: list[float] | None = None
    says: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    predict: Any = None


class Opaque:
    """An object of the user's own."""


class Mute:
    """An object that cannot even be printed."""

    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


N = 40
NUMBERS = [0.5 * i * i for i in range(N)]
COLOURS = ["red", "green", "blue", "green"] * (N // 4)


def frame(**columns):
    """A data frame with a good column of numbers beside the given ones."""
    return pd.DataFrame({"good": NUMBERS, **columns})


def column(values):
    """N cells that begin with the given ones and go on with the others in turn."""
    return (list(values) * N)[:N]


def replaced(values, **cells):
    """The values with some cells replaced: r3="x" puts "x" into row 3."""
    values = list(values)
    for row, value in cells.items():
        values[int(row[1:])] = value
    return values


def texts(template, numbers=NUMBERS):
    return [template(x) for x in numbers]


MIXED = [
    Case(
        "numbers and a word",
        frame(age=replaced(NUMBERS, r3="unknown")),
        says=("'age'", "row 3", "'unknown'", "missing", "kinds={'age': 'categorical'}"),
    ),
    Case(
        "numbers as text and a word",
        frame(age=replaced(texts(str), r5="about 40")),
        says=("'age'", "row 5", "'about 40'", "kinds={'age'"),
    ),
    Case(
        "numbers and words, asked to be categorical",
        frame(code=column([1, "a", 2, "b"])),
        {"code": "categorical"},
        options={"kinds": {"code": "categorical"}},
    ),
    Case(
        "numbers and numbers as text",
        frame(age=replaced(NUMBERS, r3="17", r4=" 18.5 ")),
        {"age": "numeric"},
    ),
    Case(
        "numbers and booleans", frame(a=replaced(NUMBERS, r1=True)), says=("'a'", "row 1", "True")
    ),
    Case(
        "dates and numbers",
        frame(when=replaced([datetime.date(2020, 1, 1)] * N, r2=5)),
        says=("'when'", "dates (row 0: 2020-01-01)", "numbers (row 2: 5)"),
    ),
    Case(
        "booleans and text",
        frame(a=column([True, "no"])),
        says=("'a'", "row 0", "true/false (row 0: True) and text (row 1: 'no')"),
    ),
    Case(
        "whole numbers and floats as objects",
        frame(a=np.array([1, 2.5] * 20, dtype=object)),
        {"a": "numeric"},
    ),
    Case("decimals", frame(a=[decimal.Decimal(i) / 4 for i in range(N)]), {"a": "numeric"}),
    Case("fractions", frame(a=[fractions.Fraction(i, 3) for i in range(N)]), {"a": "numeric"}),
    Case("bytes", frame(a=column([b"x", b"y"])), {"a": "categorical"}),
    Case("text and bytes", frame(a=column([b"x", "x", "y"])), {"a": "categorical"}),
    Case(
        "lists in cells",
        frame(a=[[1, 2]] * N),
        says=("'a'", "row 0", "list", "[1, 2]", "a column of each"),
    ),
    Case(
        "one list among numbers", frame(a=replaced(NUMBERS, r7=[1])), says=("'a'", "row 7", "list")
    ),
    Case("dictionaries in cells", frame(a=[{"b": 1}] * N), says=("'a'", "row 0", "dict")),
    Case("sets in cells", frame(a=[{1}] * N), says=("'a'", "row 0", "set")),
    Case("tuples in cells", frame(a=[(1, 2)] * N), says=("'a'", "row 0", "tuple")),
    Case("arrays in cells", frame(a=[np.arange(3)] * N), says=("'a'", "row 0", "ndarray")),
    Case(
        "complex numbers",
        frame(a=np.full(N, 1 + 2j)),
        says=("'a'", "row 0", "complex", "real and imaginary"),
    ),
    Case(
        "one complex number",
        frame(a=np.array(replaced(NUMBERS, r2=1j), dtype=object)),
        says=("'a'", "row 2", "complex"),
    ),
    Case("objects", frame(a=[Opaque()] * N), says=("'a'", "row 0", "Opaque")),
    Case("objects that cannot be printed", frame(a=[Mute()] * N), says=("'a'", "row 0", "Mute")),
    Case(
        "unique identifiers of their own type",
        frame(a=[uuid.UUID(int=i) for i in range(N)]),
        says=("'a'", "UUID"),
    ),
    Case("functions", frame(a=[len] * N), says=("'a'", "row 0", "builtin_function")),
    Case(
        "a data frame in a cell",
        frame(a=replaced([None] * N, r4=pd.DataFrame())),
        says=("'a'", "row 4", "DataFrame"),
    ),
    Case("lists in polars", pl.DataFrame({"a": [[1], [2]]}), says=("'a'", "row 0", "list")),
    Case(
        "structures in polars",
        pl.DataFrame({"a": [{"b": 1}, {"b": 2}]}),
        says=("'a'", "row 0", "dict"),
    ),
    Case("lists in pyarrow", pa.table({"a": [[1], [2]]}), says=("'a'", "row 0", "list")),
    Case(
        "several broken columns at once",
        frame(a=[[1]] * N, b=replaced(NUMBERS, r1="x"), c=[1j] * N, d=replaced(NUMBERS, r9=np.inf)),
        says=("4 of 5 columns", "- 'a'", "- 'b'", "- 'c'", "- 'd'", "row 9"),
    ),
    Case(
        "a long wrong value is cut",
        frame(a=replaced(NUMBERS, r0="x" * 10**6)),
        says=("'a'", "xxx...'"),
    ),
    Case(
        "a wrong value of several lines", frame(a=replaced(NUMBERS, r0="x\n\ny")), says=("'x y'",)
    ),
]

INFINITE = [
    Case("infinity", frame(a=replaced(NUMBERS, r3=np.inf)), says=("'a'", "infinite", "row 3")),
    Case(
        "minus infinity", frame(a=replaced(NUMBERS, r3=-np.inf, r4=np.inf)), says=("rows 3 and 4",)
    ),
    Case("infinity in polars", pl.DataFrame({"a": [1.0, float("inf")]}), says=("'a'", "row 1")),
    Case(
        "infinity as text",
        frame(a=replaced(texts(str), r6="-inf")),
        says=("'a'", "infinite", "row 6"),
    ),
    Case("infinities everywhere", frame(a=[np.inf] * N), says=("'a'", "35 more")),
    Case(
        "a number beyond all doubles",
        frame(a=np.array(replaced(NUMBERS, r2=10**400), dtype=object)),
        says=("'a'", "too large for a floating-point number", "row 2 holds 1000000"),
    ),
    Case("the largest doubles", frame(a=column([1.7e308, -1.7e308, 1e308])), {"a": "numeric"}),
    Case("the smallest doubles", frame(a=column([5e-324, 0.0, 1e-320])), {"a": "numeric"}),
    Case(
        "infinity in an array of numbers",
        np.array([[1.0, 2.0], [np.inf, 1.0]]),
        says=("'x0'", "row 1"),
    ),
    Case(
        "infinity in single precision",
        frame(a=np.array(column([1, 2, np.inf]), dtype=np.float32)),
        says=("'a'", "rows 2, 5"),
    ),
]

MISSING = [
    Case("all missing", frame(a=[np.nan] * N), {"a": "empty"}),
    Case("all None", frame(a=[None] * N), {"a": "empty"}),
    Case("all missing in polars", pl.DataFrame({"a": [None] * 3, "b": [1, 2, 4]}), {"a": "empty"}),
    Case(
        "mostly words for missing", frame(a=replaced(["?"] * N, r1="3", r2="4.5")), {"a": "numeric"}
    ),
    Case(
        "numbers and words for missing",
        frame(a=replaced(texts(str), r0="NA", r1="n/a", r2="-")),
        {"a": "numeric"},
        [220.5, 1.0, 0.0],
    ),
    Case("one value, or missing", frame(a=column([5.0, None])), {"a": "numeric"}, [0.0, 0.0]),
    Case(
        "one category, or missing", frame(a=column(["x", None])), {"a": "categorical"}, [0.0, 0.0]
    ),
    Case(
        "pandas' NA among objects",
        frame(a=np.array(column([1, pd.NA]), dtype=object)),
        {"a": "numeric"},
    ),
    Case(
        "None, NaN and NaT together",
        frame(a=np.array(column(["x", None, np.nan, pd.NaT, "y", "x"]), dtype=object)),
        {"a": "categorical"},
    ),
    Case(
        "Int64 with NA",
        frame(a=pd.array(column([1, None, 3]), dtype="Int64")),
        {"a": "numeric"},
        [1.0, 0.0, 0.0],
    ),
    Case(
        "boolean with NA",
        frame(a=pd.array(column([True, None, False]), dtype="boolean")),
        {"a": "boolean"},
        [0.0, 0.0],
    ),
    Case(
        "every column is empty",
        pd.DataFrame({"a": [None, None], "b": [np.nan, np.nan]}),
        says=("No column can be used", "'a'", "'b'", "missing"),
    ),
    Case(
        "a missing decimal",
        frame(a=replaced([decimal.Decimal(i) for i in NUMBERS], r0=decimal.Decimal("NaN"))),
        {"a": "numeric"},
    ),
    Case(
        "missing at predict only",
        frame(a=COLOURS),
        {"a": "categorical"},
        predict=frame(a=replaced(COLOURS, r0=None)),
        warns=("'a' (1 row)",),
    ),
    Case(
        "a number missing at predict only",
        frame(a=NUMBERS[::-1]),
        {"a": "numeric"},
        predict=frame(a=replaced(NUMBERS, r0=None)),
        warns=("'a' (1 row)", "median"),
    ),
]

CONSTANT = [
    Case("one number", frame(a=[3] * N), {"a": "constant"}),
    Case("one text", frame(a=["x"] * N), {"a": "constant"}),
    Case("one category", frame(a=pd.Categorical(["x"] * N, ["x", "y"])), {"a": "constant"}),
    Case("one truth", frame(a=[True] * N), {"a": "constant"}),
    Case("one date", frame(a=[datetime.datetime(2020, 1, 1)] * N), {"a": "constant"}),
    Case("one number as text", frame(a=["3,5"] * N), {"a": "constant"}),
    Case(
        "every column is constant",
        pd.DataFrame({"a": [1, 1], "b": ["x", "x"]}),
        says=("No column can be used", "'a'", "one value"),
    ),
    Case(
        "a constant column of an array stays",
        np.array([[1.0, 2.0], [1.0, 3.0]]),
        {"x0": "numeric", "x1": "numeric"},
        [1.0, 2.0],
    ),
]

WRITTEN = [
    Case(
        "decimal points at predict were commas",
        frame(a=texts(lambda x: f"{x:.2f} €".replace(".", ","))),
        {"a": "numeric"},
        predict=frame(a=["0.13"] * N),
        says=("'a'", "'0.13'", "a decimal comma, such as 12,50, in the fit"),
    ),
    Case(
        "decimal commas",
        frame(a=texts(lambda x: f"{x:.2f}".replace(".", ","))),
        {"a": "numeric"},
        [0.0, 0.0],
    ),
    Case(
        "thousands commas",
        frame(a=texts(lambda x: f"{1e4 + 10 * x:,.2f}")),
        {"a": "numeric"},
        [0.0, 1e4],
    ),
    Case(
        "thousands points",
        frame(a=texts(lambda x: f"{1e6 + 7 * x:,.0f}".replace(",", "."))),
        {"a": "numeric"},
        [0.0, 1e6],
    ),
    Case(
        "thousands spaces",
        frame(a=texts(lambda x: f"{1e5 + 3 * x:,.1f}".replace(",", "\u202f").replace(".", ","))),
        {"a": "numeric"},
        [0.0, 1e5],
    ),
    Case(
        "Swiss thousands",
        frame(a=texts(lambda x: f"{1e5 + 3 * x:,.1f}".replace(",", "'"))),
        {"a": "numeric"},
        [0.0, 1e5],
    ),
    Case("dollars", frame(a=texts(lambda x: f"${x:,.2f}")), {"a": "numeric"}, [0.0, 0.0]),
    Case(
        "negative dollars",
        frame(a=texts(lambda x: f"-${x + 1:,.2f}")),
        {"a": "numeric"},
        [0.0, -1.0],
    ),
    Case(
        "euros behind",
        frame(a=texts(lambda x: f"{x:.2f} €".replace(".", ","))),
        {"a": "numeric"},
        [0.0, 0.0],
    ),
    Case(
        "currency codes", frame(a=texts(lambda x: f"EUR {x + 2:.1f}")), {"a": "numeric"}, [0.0, 2.0]
    ),
    Case("percent", frame(a=texts(lambda x: f"{x + 3:g}%")), {"a": "numeric"}, [0.0, 3.0]),
    Case(
        "parentheses for losses",
        frame(a=texts(lambda x: f"({x + 4:.1f})")),
        {"a": "numeric"},
        [0.0, -4.0],
    ),
    Case(
        "a typographic minus",
        frame(a=texts(lambda x: f"\u2212{x + 5:.1f}")),
        {"a": "numeric"},
        [0.0, -5.0],
    ),
    Case("exponents", frame(a=texts(lambda x: f"{x + 6:.3e}")), {"a": "numeric"}, [0.0, 6.0]),
    Case("spaces around", frame(a=texts(lambda x: f"  {x + 7} ")), {"a": "numeric"}, [0.0, 7.0]),
    Case("two currencies", frame(a=column(["$5", "€5", "$6"])), {"a": "categorical"}),
    Case("percent on some cells only", frame(a=column(["5%", "0.05", "6%"])), {"a": "categorical"}),
    Case(
        "postal codes with zeros in front",
        frame(a=column(["01069", "01067", "01069"])),
        {"a": "categorical"},
    ),
    Case(
        "one wrong price",
        frame(a=replaced(texts(lambda x: f"${x:.2f}"), r8="ask us")),
        says=("'a'", "row 8", "'ask us'"),
    ),
    Case(
        "the fit's decimal mark at predict",
        frame(a=texts(lambda x: f"{x + 0.25:.2f}".replace(".", ","))),
        {"a": "numeric"},
        predict=frame(a=["1,234"] * N),
    ),
    Case(
        "numbers as text at predict",
        frame(a=NUMBERS[::-1]),
        {"a": "numeric"},
        predict=frame(a=texts(str)),
    ),
    Case(
        "words at predict",
        frame(a=NUMBERS[::-1]),
        {"a": "numeric"},
        predict=frame(a=replaced(texts(str), r2="lots")),
        says=("'a'", "row 2", "'lots'"),
    ),
    Case("degrees and minutes", frame(a=column(["5°", "6°"])), {"a": "categorical"}),
]

IDENTIFIERS = [
    Case(
        "an index that was saved",
        frame(**{"Unnamed: 0": list(range(N))}),
        {"Unnamed: 0": "identifier"},
        warns=("'Unnamed: 0'", "left out", "kinds"),
    ),
    Case(
        "row numbers", frame(a=list(range(1, N + 1))), {"a": "identifier"}, warns=("'a'", "1 to 40")
    ),
    Case(
        "row numbers in any order",
        frame(a=list(np.random.default_rng(0).permutation(N))),
        {"a": "identifier"},
        warns=("'a'",),
    ),
    Case(
        "row numbers asked for",
        frame(a=list(range(N))),
        {"a": "numeric"},
        options={"kinds": {"a": "numeric"}},
    ),
    Case("years are no row numbers", frame(a=list(range(1980, 1980 + N))), {"a": "numeric"}),
    Case(
        "large identifiers",
        frame(customer_id=[10**9 + 7919 * i for i in range(N)]),
        {"customer_id": "identifier"},
        warns=("'customer_id'",),
    ),
    Case(
        "identifiers in camel case",
        frame(PassengerId=[7919 * i for i in range(N)]),
        {"PassengerId": "identifier"},
        warns=("PassengerId",),
    ),
    Case(
        "distinct amounts are no identifiers",
        frame(paid=[7919 * i for i in range(N)]),
        {"paid": "numeric"},
    ),
    Case(
        "names",
        frame(name=[f"Person {i}" for i in range(N)]),
        {"name": "text"},
        warns=("'name'", "40 different texts"),
    ),
    Case(
        "hashes",
        frame(key=[f"{i * 7919:x}z" for i in range(N)]),
        {"key": "text"},
        warns=("'key'",),
    ),
    Case(
        "names asked for",
        frame(name=[f"Person {i}" for i in range(N)]),
        {"name": "categorical"},
        options={"kinds": {"name": "categorical"}},
    ),
    Case(
        "names dropped",
        frame(name=[f"Person {i}" for i in range(N)]),
        {"name": "dropped"},
        options={"kinds": {"name": "drop"}},
    ),
    Case(
        "a broken column dropped",
        frame(a=[[1]] * N),
        {"a": "dropped"},
        options={"kinds": {"a": "drop"}},
    ),
    Case(
        "numbers of 20 digits",
        frame(card=[10**19 + 3 * 10**12 * i for i in range(N)]),
        {"card": "identifier"},
        warns=("'card'",),
    ),
    Case(
        "only names",
        pd.DataFrame({"a": ["x y", "z w"]}),
        says=("No column can be used", "'a'", "kinds={'a': 'categorical'}"),
    ),
]

DATES = [
    Case("dates", frame(a=pd.date_range("2020-01-01", periods=N)), {"a": "datetime"}),
    Case(
        "dates with a zone",
        frame(a=pd.date_range("2020-01-01", periods=N, tz="Asia/Tokyo")),
        {"a": "datetime"},
    ),
    Case(
        "dates as text", frame(a=[f"2020-03-{1 + i % 28:02d}" for i in range(N)]), {"a": "datetime"}
    ),
    Case(
        "dates and times as text",
        frame(a=[f"2020-03-{1 + i % 28:02d}T{i % 24:02d}:30:00Z" for i in range(N)]),
        {"a": "datetime"},
    ),
    Case("German dates", frame(a=[f"{1 + i % 28}.3.2020" for i in range(N)]), {"a": "datetime"}),
    Case("day first", frame(a=[f"{1 + i % 28}/3/2020" for i in range(N)]), {"a": "datetime"}),
    Case(
        "month first",
        frame(a=[f"3/{1 + i % 28}/2020 1:05 PM" for i in range(N)]),
        {"a": "datetime"},
    ),
    Case(
        "slashes at predict were points",
        frame(a=[f"{1 + i % 28}.3.2020" for i in range(N)]),
        {"a": "datetime"},
        predict=frame(a=["02/01/2022"] * N),
        says=("'a'", "row 0", "'02/01/2022'", "day first, such as 31.12.2020", "year first"),
    ),
    Case(
        "points at predict were slashes",
        frame(a=[f"3/{1 + i % 28}/2020" for i in range(N)]),
        {"a": "datetime"},
        predict=frame(a=["02.01.2022"] * N),
        says=("'a'", "row 0", "'02.01.2022'", "month first, such as 12/31/2020"),
    ),
    Case(
        "year last at predict was year first",
        frame(a=[f"2020-03-{1 + i % 28:02d}" for i in range(N)]),
        {"a": "datetime"},
        predict=frame(a=["02.01.2022"] * N),
        says=("'a'", "row 0", "year first, such as 2020-12-31"),
    ),
    Case(
        "year first at predict was day first",
        pd.DataFrame({"a": [f"{1 + i % 28}.3.2020" for i in range(N)]}),
        {"a": "datetime"},
        # The median is the tenth; the fifteenth was a Sunday.
        first=[5.0, np.sin(2 * np.pi * 6 / 7), np.cos(2 * np.pi * 6 / 7)],
        predict=pd.DataFrame({"a": ["2020-03-15"] * N}),
    ),
    Case(
        "a day that does not exist",
        frame(a=replaced([f"2020-02-{1 + i % 28:02d}" for i in range(N)], r30="2020-02-30")),
        says=("'a'", "row 30", "'2020-02-30'"),
    ),
    Case(
        "missing dates",
        frame(a=replaced(list(pd.date_range("2020-01-01", periods=N)), r0=pd.NaT)),
        {"a": "datetime"},
    ),
    Case(
        "missing dates as text",
        frame(a=replaced([f"2020-03-{1 + i % 28:02d}" for i in range(N)], r0="", r1=None)),
        {"a": "datetime"},
    ),
    Case("durations", frame(a=pd.to_timedelta(NUMBERS, unit="h")), {"a": "numeric"}),
    Case("times of day", frame(a=[datetime.time(i % 24, 30) for i in range(N)]), {"a": "datetime"}),
    Case("periods", frame(a=pd.period_range("2020-01", periods=N, freq="M")), {"a": "datetime"}),
    Case(
        "dates of the first century",
        frame(a=[datetime.date(1 + i, 1, 1) for i in range(N)]),
        {"a": "datetime"},
    ),
    Case(
        "dates at predict were numbers",
        frame(a=pd.date_range("2020-01-01", periods=N)),
        {"a": "datetime"},
        predict=frame(a=NUMBERS),
        says=("'a'", "numbers", "dates"),
    ),
    Case(
        "numbers at predict were dates",
        frame(a=NUMBERS[::-1]),
        {"a": "numeric"},
        predict=frame(a=pd.date_range("2020-01-01", periods=N)),
        says=("'a'", "dates", "numbers"),
    ),
]

SHAPES = [
    Case(
        "duplicated names",
        pd.DataFrame([[1, 2, 3]] * 3, columns=["a", "b", "a"]),
        says=("'a'", "2 columns have this name", "0, 2", "rename"),
    ),
    Case(
        "duplicated names in pyarrow",
        pa.table([[1, 2], [3, 4]], names=["a", "a"]),
        says=("'a'", "rename"),
    ),
    Case(
        "duplicated names and a broken column",
        pd.DataFrame([[1, 2, [3]]] * 3, columns=["a", "a", "b"]),
        says=("'a'", "'b'", "list"),
    ),
    Case(
        "a number and its text as names",
        pd.DataFrame([[1, 2], [3, 4]], columns=[1, "1"]),
        says=("'1'", "rename"),
    ),
    Case(
        "numbers as names",
        pd.DataFrame({0: [1.5, 2.5], 1: [3.0, 5.0]}),
        {"0": "numeric", "1": "numeric"},
        [1.5, 3.0],
    ),
    Case(
        "names of two levels",
        pd.DataFrame([[1, 5], [2, 7]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])),
        {"('a', 'x')": "numeric"},
    ),
    Case("an empty name", pd.DataFrame({"": [1.5, 2.5]}), {"": "numeric"}),
    Case("no rows", pd.DataFrame({"a": []}), says=("no rows",)),
    Case("no columns", pd.DataFrame(index=[0, 1]), says=("no columns",)),
    Case("one row", pd.DataFrame({"a": [1]}), says=("No column can be used", "one value")),
    Case("a series", pd.Series([1, 2]), says=("one column", "frame[['x']]")),
    Case("a list of numbers", [1, 2, 3], says=("one column",)),
    Case("a number", 3, says=("rows and columns",)),
    Case("a text", "table.csv", says=("rows and columns",)),
    Case("nothing", None, says=("rows and columns",)),
    Case("rows of different lengths", [["a", 1], ["b"]], says=("same length",)),
    Case(
        "columns of different lengths",
        {"a": [1, 2], "b": [1]},
        says=("same number of rows", "'a' 2", "'b' 1"),
    ),
    Case("three dimensions", np.zeros((2, 2, 2)), says=("rows and columns",)),
    Case("a lazy frame", pl.LazyFrame({"a": [1]}), says=("collect",)),
    Case("a sparse column", frame(a=pd.arrays.SparseArray(column([0.0, 1.5]))), {"a": "numeric"}),
    Case("a number for a column", {"a": 1}, says=("'a'", "list or an array", "Got 1", "[1]")),
    Case("text for a column", {"a": "abc"}, says=("'a'", "list or an array", "['abc']")),
    Case(
        "a list of dictionaries",
        [{"a": 1.5, "b": "x"}, {"a": 2, "b": "x"}, {"a": 3, "c": 5}],
        {"a": "numeric", "b": "categorical", "c": "numeric"},
    ),
    Case(
        "an array of objects",
        np.array([[1, "x"], [2.5, "x"], [3, "y"]], dtype=object),
        {"x0": "numeric", "x1": "categorical"},
    ),
    Case(
        "an array of text",
        np.array([["1", "x"], ["2", "x"], ["4", "y"]]),
        {"x0": "numeric", "x1": "categorical"},
    ),
    Case(
        "a structured array",
        np.array([(1.5, "x"), (2.5, "x")], dtype=[("a", float), ("b", "U1")]),
        {"a": "numeric", "b": "constant"},
    ),
    Case(
        "a missing column at predict",
        frame(a=COLOURS),
        {"a": "categorical"},
        predict=pd.DataFrame({"good": [1.0]}),
        says=("The feature names should match", "now missing", "- a"),
    ),
    Case(
        "an unknown column at predict",
        frame(a=COLOURS),
        {"a": "categorical"},
        predict=frame(a=COLOURS, b=COLOURS),
        says=("unseen at fit time", "- b"),
    ),
    Case(
        "too few columns at predict",
        np.array([["x", 1], ["y", 2], ["x", 4]], dtype=object),
        {"x0": "categorical"},
        predict=np.array([["x"]], dtype=object),
        says=("X has 1 features", "2 features"),
    ),
    Case(
        "duplicated names at predict",
        frame(a=COLOURS),
        {"a": "categorical"},
        predict=pd.DataFrame([[1.0, "red", "red"]], columns=["good", "a", "a"]),
        says=("'a'", "rename"),
    ),
    Case(
        "a lazy frame at predict",
        frame(a=COLOURS),
        {"a": "categorical"},
        predict=pl.LazyFrame({"a": [1]}),
        says=("collect",),
    ),
]

CATEGORIES = [
    Case(
        "a categorical dtype of numbers",
        frame(a=pd.Categorical(column([3, 1]))),
        {"a": "categorical"},
        [0.0, 0.0],
    ),
    Case(
        "an ordered dtype",
        frame(a=pd.Categorical(column(["low", "high"]), ["low", "mid", "high"], ordered=True)),
        {"a": "ordered"},
        [0.0, 0.0],
    ),
    Case("intervals", frame(a=pd.cut(NUMBERS, 4)), {"a": "ordered"}, [0.0, 0.0]),
    Case(
        "levels given",
        frame(a=column(["S", "L", "M"])),
        {"a": "ordered"},
        [0.0, 0.0],
        options={"kinds": {"a": ["S", "M", "L"]}},
    ),
    Case(
        "levels given, one forgotten",
        frame(a=column(["S", "L", "M"])),
        says=("'a'", "row 1", "'L'", "levels"),
        options={"kinds": {"a": ["S", "M"]}},
    ),
    Case(
        "ordered without an order",
        frame(a=COLOURS),
        says=("'a'", "order", "kinds"),
        options={"kinds": {"a": "ordered"}},
    ),
    Case(
        "unseen categories at predict",
        frame(a=COLOURS),
        {"a": "categorical"},
        predict=frame(a=["pink"] * N),
    ),
    Case(
        "text at fit, numbers at predict",
        frame(a=COLOURS),
        {"a": "categorical"},
        predict=frame(a=NUMBERS),
        says=("'a'", "text", "'red'"),
    ),
    Case(
        "text without categories",
        frame(a=COLOURS),
        says=("'a'", "row 0", "'red'", "categorical_features"),
        options={"categorical_features": None},
    ),
    Case(
        "an unknown kind",
        frame(a=COLOURS),
        says=("kinds['a']", "'numeric'", "'colour'"),
        options={"kinds": {"a": "colour"}},
    ),
    Case(
        "a kind for no column",
        frame(a=COLOURS),
        says=("'b'", "does not have", "'good'"),
        options={"kinds": {"b": "numeric"}},
    ),
    Case(
        "a categorical feature that is no column",
        frame(a=COLOURS),
        says=("'b'", "categorical_features"),
        options={"categorical_features": ["b"]},
    ),
    Case(
        "a position beyond the table",
        frame(a=COLOURS),
        says=("column 7", "2 columns"),
        options={"categorical_features": [7]},
    ),
    Case(
        "a mask of the wrong length",
        frame(a=COLOURS),
        says=("one entry per column, 2", "Got 1"),
        options={"categorical_features": [True]},
    ),
    Case(
        "a word for categorical features",
        frame(a=COLOURS),
        says=("'from_dtype'", "'all'"),
        options={"categorical_features": "all"},
    ),
    Case(
        "kinds that are no dictionary",
        frame(a=COLOURS),
        says=("dictionary", "list"),
        options={"kinds": ["a"]},
    ),
    Case(
        "text asked to be numeric",
        frame(a=COLOURS),
        says=("'a'", "row 0", "'red'", "numbers"),
        options={"kinds": {"a": "numeric"}},
    ),
    Case(
        "text asked to be dates",
        frame(a=COLOURS),
        says=("'a'", "row 0", "'red'"),
        options={"kinds": {"a": "datetime"}},
    ),
]

CASES = [
    *MIXED,
    *INFINITE,
    *MISSING,
    *CONSTANT,
    *WRITTEN,
    *IDENTIFIERS,
    *DATES,
    *SHAPES,
    *CATEGORIES,
]
