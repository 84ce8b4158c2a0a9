"""What the commands share: one message for an error, and the exit status that it stands for."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

from drift.errors import DriftError

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
AGAIN_AFTER = 1.0  # seconds


def run(action: Callable[[], int]) -> int:
    """The exit status of `action`; an error of ours, or of the disk, becomes one message on standard error."""
    before = signal.getsignal(signal.SIGINT)
    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, _interrupt)
        return action()
    except DriftError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        return DriftError.exit_code
    except KeyboardInterrupt:
        print("interrupted: nothing was written for the fit in progress", file=sys.stderr)
        sys.stderr.flush()
        os._exit(INTERRUPTED)  # sampler threads may still run; a normal exit would wait for them
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Interrupt, and again after a while: Python drops what is raised while it collects an object with a finaliser."""
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, AGAIN_AFTER)
    raise KeyboardInterrupt
