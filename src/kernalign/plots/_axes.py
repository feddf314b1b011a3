"""Axes to draw on, and the colours and marks that all pictures share."""

from __future__ import annotations

from typing import Any

#: Told apart by people with any colour vision, in print, and on white (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = "osD^vP*X"


def axes(ax: Any, size: tuple[float, float] = (6.0, 3.8)) -> Any:
    """`ax`, or new axes where it is None."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "Pictures need matplotlib, which is not installed: pip install 'kernalign[plot]'."
        ) from None
    if ax is not None:
        return ax
    if _in_notebook():
        from matplotlib import pyplot as plt

        return plt.subplots(figsize=size, layout="constrained")[1]
    # A figure of its own leaves pyplot's list of open figures, and its windows, alone.
    return Figure(figsize=size, layout="constrained").subplots()


def _in_notebook() -> bool:
    """Whether pyplot is in use already: figures then belong to it, and show up by themselves."""
    import sys

    return "matplotlib.pyplot" in sys.modules


def plain(ax: Any) -> None:
    """Take away the lines that carry nothing."""
    ax.spines[["top", "right"]].set_visible(False)


def whole_numbers(axis: Any) -> None:
    """Ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def shortened(text: str, longest: int = 24) -> str:
    """A name that fits beside a picture, without its middle if it is long.

    Names of columns differ at their ends more often than in the middle.
    """
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[len(text) - end :]}"
