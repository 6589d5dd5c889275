"""Every kind of desired-state row and the function that reconciles it, in the order in which they depend."""

from collections.abc import Sequence
from functools import cache

from core.reconciling import Reconciler

RECONCILERS: Sequence[Reconciler] = ()


@cache
def by_label(label: str) -> Reconciler | None:
    """The reconciler of `app_label.ModelName`; None for a label that there is not (any more)."""
    return next((reconciler for reconciler in RECONCILERS if reconciler.label == label), None)
