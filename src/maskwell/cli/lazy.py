"""Commands that are imported when they are called, and errors that always look the same."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click

from maskwell.cli.output import BAD_INPUT, FAULT, OK, STOPPED, print_error, print_lines
from maskwell.errors import LeftoverWarning, MaskwellError

SHOW_VALUES = "--show-values"


class CommandGroup(click.Group):
    """A group that suggests the nearest command for one it does not know."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Find the command, or say which there are."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = self.list_commands(ctx)
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"for a list of them: {ctx.command_path} --help"
            raise MaskwellError(f"no such command: {ctx.command_path} {name}", hint=hint)
        return super().resolve_command(ctx, args)


class LazyGroup(CommandGroup):
    """A group that knows names and summaries of its commands, and imports a command only when it is called.

    ``lazy`` maps each name to ``"module:attribute"`` and the summary shown by ``--help``.
    """

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self._lazy.items()])

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, *rest: Any, **extra: Any
    ) -> NoReturn:
        """Run, print errors as every error is printed, and exit."""
        given = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        sys.exit(self._run(given, prog_name or "maskwell", *rest, **extra))

    def _run(self, args: list[str], prog_name: str, *rest: Any, **extra: Any) -> int:
        as_json = "--json" in args
        try:
            with _notes_for_warnings():
                status = super().main(args, prog_name, *rest, **extra)
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
            print_error("stopped", "stopped before the end", "nothing was written; run it again", as_json=as_json)
            return STOPPED
        except OSError as error:
            reason = error.strerror or type(error).__name__  # its text, where another library made it, may hold values
            message = f"{error.filename}: {reason}" if error.filename else reason
            print_error("system", message, "check paths, permissions and free space", as_json=as_json, typed=args)
        except MemoryError:
            print_error("memory", "not enough memory", "use fewer categories or columns at once", as_json=as_json)
        except Exception as error:  # noqa: BLE001 - what nobody thought of; its text may hold values of the data
            print_error("fault", _fault(error), _kept(error), as_json=as_json)
            return FAULT
        else:
            return status if isinstance(status, int) else OK
        return BAD_INPUT


def _fault(error: Exception) -> str:
    """What went wrong within maskwell, without the text of the error."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"a fault of maskwell itself: {type(error).__name__} in {Path(where.filename).name}, line {where.lineno}"


def _kept(error: Exception) -> str:
    """Keep the traceback in a file for its owner alone, and say where."""
    try:
        handle, path = tempfile.mkstemp(prefix="maskwell-fault-", suffix=".txt", text=True)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(traceback.format_exception(error))
    except OSError:
        return "please report it, with the command that you typed"
    return f"please report it; {path} has the traceback, which may hold values of your data"


@contextmanager
def _notes_for_warnings() -> Iterator[None]:
    """What earlier runs left is told like any other note."""
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
    """What click found wrong, in the form of our own messages: no capital, no full stop.

    >>> _usage_message(click.UsageError("Missing option '--p'."))
    "missing option '--p'"
    """
    if isinstance(error, click.NoSuchOption):
        return f"no such option: {error.option_name}"
    swallowed = _swallowed(error)
    if swallowed:
        return swallowed
    if isinstance(error, click.BadParameter) and _choices(error):
        return f"{_name(error)}: there is no choice {error.message.partition(' is not one of ')[0]}"
    text = error.format_message().strip().removesuffix(".")
    return text[:1].lower() + text[1:]


def _swallowed(error: click.ClickException) -> str:
    """What went wrong where an option without its value took the next option for it; empty if none did."""
    context = getattr(error, "ctx", None)
    if context is None or "extra argument" not in error.format_message():
        return ""
    return swallowed_option(context)


def swallowed_option(context: click.Context) -> str:
    """The fault of a command in which an option took the name of another for its value; empty without one."""
    options = [one for one in context.command.get_params(context) if isinstance(one, click.Option)]
    known = {name for option in options for name in option.opts}
    taken = [(option.opts[-1], context.params.get(str(option.name))) for option in options]
    return next((f"{name} has no value: {value!r} is an option" for name, value in taken if value in known), "")


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
        return f"choose one of: {', '.join(_choices(error))}"
    if isinstance(error, click.NoSuchOption) and context is not None:
        known = [name for parameter in context.command.get_params(context) for name in parameter.opts]
        words = {name.lstrip("-"): name for name in known}  # the dashes are alike in all of them
        close = difflib.get_close_matches(error.option_name.lstrip("-"), words, n=1)
        if close:
            return f"did you mean {words[close[0]]}?"
    return f"see: {context.command_path if context else 'maskwell'} --help"
