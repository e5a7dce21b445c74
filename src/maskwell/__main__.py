"""`python -m maskwell` is the command line, and so is the script `maskwell`."""

import signal


def main() -> None:
    """Import the command line and run it; Ctrl-C before it can obey ends the process without a word."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from maskwell.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
