"""Pictures of what was learned (matplotlib, extra `plot`).

Each `plot_*` takes and returns `ax`; the `*_info` beside it returns the data and needs no
matplotlib. A model is a fitted estimator or learner, a pipeline that ends in one, or, where the
kernel is enough, a `LearnedKernel`.
"""

from kernalign.plots.calibration import CalibrationInfo, calibration_info, plot_calibration
from kernalign.plots.coverage import CoverageInfo, coverage_info, plot_coverage
from kernalign.plots.effects import EffectInfo, effect_info, plot_effect
from kernalign.plots.embedding import EmbeddingInfo, embedding_info, plot_embedding
from kernalign.plots.gram import GramInfo, gram_info, plot_gram
from kernalign.plots.importance import ImportanceInfo, importance_info, plot_importance
from kernalign.plots.landscape import LandscapeInfo, Step, landscape_info, plot_landscape
from kernalign.plots.path import PathInfo, path_info, plot_path
from kernalign.plots.relevance import RelevanceInfo, plot_relevance, relevance_info
from kernalign.plots.residuals import ResidualsInfo, plot_residuals, residuals_info
from kernalign.plots.spectrum import SpectrumInfo, Term, plot_spectrum, spectrum_info

__all__ = [
    "CalibrationInfo",
    "CoverageInfo",
    "EffectInfo",
    "EmbeddingInfo",
    "GramInfo",
    "ImportanceInfo",
    "LandscapeInfo",
    "PathInfo",
    "RelevanceInfo",
    "ResidualsInfo",
    "SpectrumInfo",
    "Step",
    "Term",
    "calibration_info",
    "coverage_info",
    "effect_info",
    "embedding_info",
    "gram_info",
    "importance_info",
    "landscape_info",
    "path_info",
    "plot_calibration",
    "plot_coverage",
    "plot_effect",
    "plot_embedding",
    "plot_gram",
    "plot_importance",
    "plot_landscape",
    "plot_path",
    "plot_relevance",
    "plot_residuals",
    "plot_spectrum",
    "relevance_info",
    "residuals_info",
    "spectrum_info",
]
