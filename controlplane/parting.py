"""Lets a process end with its parent, however the parent ends (Linux; elsewhere it does nothing)."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def with_parent(parting: signal.Signals) -> Callable[[], None]:
    """What a child runs first: from then on the kernel sends it `parting` when the calling process dies.

    Made before the fork, since nothing should be imported or looked up after it.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, int(parting), 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os.kill(os.getpid(), signal.SIGKILL)

    return arrange


def end_with_parent() -> None:
    """The same for a process that runs already: it is killed when its parent dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
