"""The command ``maskwell``: its commands, imported when they are called, its streams, and how it ends.

Errors always look the same, and speak of options where Python would speak of parameters.
"""

from __future__ import annotations

import difflib
import math
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from maskwell import cli as commands
from maskwell.cli.help_page import HelpPage
from maskwell.cli.output import (
    BAD_INPUT,
    FAULT,
    OK,
    STOPPED,
    Loudness,
    NobodyReadsError,
    flushed,
    is_verbose,
    prepare_streams,
    print_error,
    print_lines,
    set_loudness,
    unwritten,
)
from maskwell.core.extras import lacking_extra
from maskwell.core.phrases import Printed, as_typed, masked
from maskwell.errors import LeftoverWarning, MaskwellError

SHOW_VALUES = "--show-values"
AT_ONCE = 1  # second


class CommandGroup(HelpPage, click.Group):
    """A group that suggests the nearest command for one it does not know."""

    command_class = HelpPage

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Find the command, or say which there are."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = self.list_commands(ctx)
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"for a list of them: {ctx.command_path} --help"
            raise MaskwellError(
                "no-such-command-command-path-name", hint=hint, command_path=ctx.command_path, name=name
            )
        resolved = super().resolve_command(ctx, args)
        if resolved[1] is not None and not isinstance(resolved[1], click.Group) and not ctx.resilient_parsing:
            _check_values(resolved[1], ctx, resolved[2])
        return resolved


class LazyGroup(CommandGroup):
    """A group that knows names and summaries of its commands, and imports a command only when it is called."""

    def __init__(self, *args: Any, summaries: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        return getattr(commands, cmd_name.replace("-", "_")) if cmd_name in self._summaries else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([*self._summaries.items()])

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, *rest: Any, **extra: Any
    ) -> NoReturn:
        """Run, print errors as every error is printed, and exit."""
        arguments = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        sys.exit(self._run(arguments, prog_name or "maskwell", *rest, **extra))

    def _run(self, args: list[str], prog_name: str, *rest: Any, **extra: Any) -> int:
        as_json, printed_to, start = "--json" in args, sys.stdout, time.monotonic()
        set_loudness(Loudness.USUAL)
        try:
            with _notes_for_warnings(), _interrupts(), as_typed():
                status = super().main(args, prog_name, *rest, **extra)
        except NobodyReadsError:
            return BAD_INPUT
        except MaskwellError as error:
            code = "usage" if type(error) is MaskwellError else error.code
            values = error.values if SHOW_VALUES in args else ""
            print_error(code, error.message, error.hint, as_json=as_json, typed=args, values=values)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.ctx.get_help())
            return OK
        except click.ClickException as error:
            print_error("usage", _usage_message(error), _usage_hint(error), as_json=as_json, typed=args)
        except (click.Abort, KeyboardInterrupt):
            ignore_signals()
            hint = "no partial output was kept; run the command again"
            print_error("stopped", "stopped before the end", hint, as_json=as_json)
            return STOPPED
        except SystemExit:
            if sys.stdout is printed_to:
                raise
            # click puts another stream there and ends with 1 where nobody reads any more, which would mean "no" here
            unwritten(BrokenPipeError())
        except OSError as error:
            reason = error.strerror or type(error).__name__  # its text, where another library made it, may hold values
            message = f"{error.filename}: {reason}" if error.filename else reason
            print_error("system", message, "check paths, permissions and free space", as_json=as_json, typed=args)
        except MemoryError:
            print_error("memory", "not enough memory", "use fewer categories or columns at once", as_json=as_json)
        except Exception as error:  # noqa: BLE001 - what nobody thought of; its text may hold values of the data
            if (lacking := lacking_extra(error, "this command")) is not None:
                print_error(lacking.code, lacking.message, lacking.hint, as_json=as_json)
                return BAD_INPUT
            print_error("fault", _fault(error), _kept(error), as_json=as_json)
            return FAULT
        else:
            if is_verbose():
                print_lines([_used(time.monotonic() - start)], err=True)
            return status if isinstance(status, int) else OK
        return BAD_INPUT


def _used(seconds: float) -> str:
    """The time of a command and, where the system counts it, the memory."""
    try:
        import resource
    except ImportError:
        memory = ""
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        memory = f", {Printed(peak / 2**20):,.0f} MiB of memory at most"
    return f"note: {Printed(seconds):.1f} s{memory}"


class _Stop:
    """End in good order, as after Ctrl-C; who presses it again at once does not disturb that."""

    def __init__(self) -> None:
        self.last = -math.inf

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self.last > AT_ONCE:
            self.last = now
            raise KeyboardInterrupt


stop = _Stop()


@contextmanager
def _interrupts() -> Iterator[None]:
    """An interrupt stays one, where a library or an import made another error of it."""
    try:
        yield
    except Exception as error:
        if stop.last > -math.inf:
            raise KeyboardInterrupt from error
        raise


def obey_signals() -> None:
    """End the command on these signals from now on; those that its parent ignores, as nohup does, stay ignored."""
    for number in _signals():
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)


def ignore_signals() -> None:
    """From now on they change nothing, where :data:`stop` obeyed them."""
    for number in _signals():
        if signal.getsignal(number) is stop:
            signal.signal(number, signal.SIG_IGN)


def _signals() -> list[int]:
    return [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def _fault(error: Exception) -> str:
    """What went wrong within maskwell, without the text of the error."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"a fault of maskwell itself: {type(error).__name__} in {Path(where.filename).name}, line {where.lineno}"


def _kept(error: Exception) -> str:
    """Keep the traceback in a file for its owner alone, and say where."""
    path = None
    try:
        handle, path = tempfile.mkstemp(prefix="maskwell-fault-", suffix=".txt", text=True)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(map(masked, traceback.format_exception(error)))
    except OSError:
        if path is not None:
            Path(path).unlink(missing_ok=True)
        return "please report it, with the command that you typed"
    return f"please report it; {path} has the traceback, which may hold values of your data"


@contextmanager
def _notes_for_warnings() -> Iterator[None]:
    """Report what earlier runs left, like any other note."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, LeftoverWarning):
                print_lines([f"note: {message}"], err=True)
            else:
                usual(message, category, *where, **more)

        warnings.simplefilter("always", LeftoverWarning)
        warnings.showwarning = show
        yield


def _usage_message(error: click.ClickException) -> str:
    """What click found wrong, in the form of our own messages: no capital, no full stop."""
    if isinstance(error, click.NoSuchOption):
        return f"no such option: {error.option_name}"
    if isinstance(error, click.BadParameter) and _choices(error):
        return f"{_name(error)}: unknown value {error.message.partition(' is not one of ')[0]}"
    text = error.format_message().strip().removesuffix(".")
    return text[:1].lower() + text[1:]


def _check_values(command: click.Command, context: click.Context, args: Sequence[str]) -> None:
    """Raise where an option without its value would take the next option for it."""
    options = {name: option for option in command.get_params(context) for name in option.opts if name.startswith("-")}
    rest = iter(args)
    for word in rest:
        if word == "--":
            return
        option = options.get(word)
        if not isinstance(option, click.Option) or option.is_flag or option.count:
            continue
        values = [next(rest, "") for _ in range(option.nargs)]
        if len(values) == 1 and values[0].partition("=")[0] in options:  # several have a check of their own
            raise MaskwellError(
                "has-no-value-is-an-option", word=word, value=values[0], metavar=option.metavar or "VALUE"
            )


def _choices(error: click.BadParameter) -> tuple[str, ...]:
    """What could have been typed, where the word was none of a few; empty otherwise."""
    kind = error.param.type if error.param is not None else None
    return tuple(map(str, kind.choices)) if isinstance(kind, click.Choice) and "one of" in error.message else ()


def _name(error: click.BadParameter) -> str:
    assert error.param is not None
    return error.param.opts[-1] if isinstance(error.param, click.Option) else error.param.human_readable_name


def _usage_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    if isinstance(error, click.BadParameter) and _choices(error):
        return f"one of: {', '.join(_choices(error))}"
    if isinstance(error, click.NoSuchOption) and context is not None:
        known = [name for parameter in context.command.get_params(context) for name in parameter.opts]
        words = {name.lstrip("-"): name for name in known}  # the dashes are alike in all of them
        close = difflib.get_close_matches(error.option_name.lstrip("-"), words, n=1)
        if close:
            return f"did you mean {words[close[0]]}?"
    reads_files = context is not None and any(parameter.name == "file" for parameter in context.command.params)
    if reads_files and "unexpected extra argument" in error.format_message():
        return "several files are read as one by their folder, or by a pattern in quotes: 'part-*.csv'"
    return f"see: {context.command_path if context else 'maskwell'} --help"


MOST_DIGITS = 100_000
"""Of an integer that is printed. Products of many designs have thousands; what is read has bounds of its own."""


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: ARG001, FBT001
    if value:
        from maskwell import __version__

        click.echo(f"maskwell {__version__}")
        ctx.exit()


@click.group(
    "maskwell",
    cls=LazyGroup,
    summaries=commands.COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="First steps: maskwell demo. Exit status: 0 success, 1 negative answer, 2 bad input, 3 internal fault.",
)
@click.option(
    "-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
def cli() -> None:
    """Randomized response: design, audit, randomize, estimate.

    Numbers may be fractions (1/6). Every command takes --json and --help.
    """


def main() -> None:
    """Run the command line."""
    obey_signals()  # so that a command that is ended leaves nothing half-written
    try:
        prepare_streams()
        sys.set_int_max_str_digits(MOST_DIGITS)
        cli()
    except KeyboardInterrupt:  # another one, in the moment before they were ignored
        _stopped()
    except SystemExit as end:
        if end.code == STOPPED:
            _stopped()
        sys.exit(flushed(end.code) if isinstance(end.code, int) else end.code)
    finally:
        ignore_signals()


def _stopped() -> NoReturn:
    """Leave at once. The interpreter may remember an interrupt that was obeyed, and end with another status."""
    ignore_signals()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(STOPPED)
