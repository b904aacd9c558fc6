"""The command: ``python -m turnstone`` and ``turnstone`` of the wheel."""

import signal
import sys

from turnstone import _native


def main() -> int:
    """Runs the command that the shell asked for, and gives its exit code."""
    # The command ends with a signal as the binary does, not with a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["turnstone", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
