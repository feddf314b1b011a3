"""The sections of the page, in its order. Each turns facts into HTML, or is empty."""

from kernalign.report.sections.doubt import doubt
from kernalign.report.sections.drivers import drivers
from kernalign.report.sections.goodness import goodness
from kernalign.report.sections.rows import rows
from kernalign.report.sections.search import search
from kernalign.report.sections.use import use

#: Title and function of each section.
SECTIONS = (
    ("How good is it?", goodness),
    ("What drives the predictions?", drivers),
    ("Where is the model unsure?", doubt),
    ("Which training rows speak for a prediction?", rows),
    ("How was the model found?", search),
    ("How to use the model", use),
)

__all__ = ["SECTIONS"]
