"""What the commands share: one message for an error, and the exit status that it stands for."""

import os
import sys
from collections.abc import Callable

from drift.errors import DriftError

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def run(action: Callable[[], int]) -> int:
    """The exit status of `action`; an error of ours, or of the disk, becomes one message on standard error."""
    try:
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
