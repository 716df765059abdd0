"""The objective after each iteration of the fit."""

from typing import Annotated, Any

from msgspec import Meta

from twofold.app.report.chart import line_chart
from twofold.app.report.clustering import Clustering
from twofold.app.report.schema import Count, Number, Part
from twofold.core.arrays import to_numpy


class Convergence(Part, frozen=True):
    """Course of the fit."""

    objective: Annotated[list[Number], Meta(min_length=1)]  # by iteration
    max_iter: Count

    def chart(self) -> dict[str, Any]:
        """Return the objective over the iterations as a ``line_chart``."""
        return line_chart(self.objective)


def build_convergence(clustering: Clustering) -> Convergence:
    """Return the course of the fit."""
    model = clustering.model
    return Convergence(to_numpy(model.objective_history_).tolist(), model.max_iter)
