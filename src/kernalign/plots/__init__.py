"""Pictures of what was learned (matplotlib, extra `plot`).

Each `plot_*` takes and returns `ax`; the `*_info` beside it returns the data and needs no
matplotlib. A model is a fitted estimator or learner, a pipeline that ends in one, or, where the
kernel is enough, a `LearnedKernel`.
"""

from kernalign.plots.embedding import EmbeddingInfo, embedding_info, plot_embedding
from kernalign.plots.gram import GramInfo, gram_info, plot_gram
from kernalign.plots.landscape import LandscapeInfo, Step, landscape_info, plot_landscape
from kernalign.plots.path import PathInfo, path_info, plot_path
from kernalign.plots.relevance import RelevanceInfo, plot_relevance, relevance_info
from kernalign.plots.spectrum import SpectrumInfo, Term, plot_spectrum, spectrum_info

__all__ = [
    "EmbeddingInfo",
    "GramInfo",
    "LandscapeInfo",
    "PathInfo",
    "RelevanceInfo",
    "SpectrumInfo",
    "Step",
    "Term",
    "embedding_info",
    "gram_info",
    "landscape_info",
    "path_info",
    "plot_embedding",
    "plot_gram",
    "plot_landscape",
    "plot_path",
    "plot_relevance",
    "plot_spectrum",
    "relevance_info",
    "spectrum_info",
]
