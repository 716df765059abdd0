"""Private names of scikit-learn, imported here only."""

# There is no public replacement for parameter validation and the fit context, which
# scikit-learn's own estimators use. If a release moves them, change this file alone.
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

__all__ = ["HasMethods", "Interval", "StrOptions", "_fit_context"]
