"""`python -m maskwell` is the command line, and so is the script `maskwell`."""

import gc
import signal

YOUNG_OBJECTS = 50_000
"""How many new objects start a search for cycles; 700, the usual number, costs a tenth of a short command."""


def main() -> None:
    """Import the command line and run it; Ctrl-C before it can obey ends the process without a word.

    What libraries hold when the command ends is left to the system, which frees it faster than a search for cycles.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(YOUNG_OBJECTS)
    from maskwell.cli.main import main as command_line

    try:
        command_line()
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
