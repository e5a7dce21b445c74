"""``maskwell survey``: make, open, close, export and delete surveys from the terminal."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from maskwell.cli.main import CommandGroup
from maskwell.cli.options import FilePath, example, json_option, show_values_option, text_form_options
from maskwell.cli.output import ANSWER_IS_NO, print_json, print_lines
from maskwell.core.phrases import masked
from maskwell.errors import ParameterError

if TYPE_CHECKING:
    from maskwell.collection.desk import Desk

Said: TypeAlias = tuple[dict[str, Any], list[str]]  # the JSON object that a command prints, and its lines for people
database_option = click.option(
    "--database", metavar="URL", help="Database of the service (default: maskwell-surveys.db in this folder)."
)


@click.group(cls=CommandGroup, epilog=example("maskwell survey list"))
def survey() -> None:
    """Make, list, open, close, export and delete surveys of the collection service."""


def _desk(database: str | None, *, new: bool = False, reads: bool = False) -> Desk:
    """The desk of a database; a file of one is made only where something is to be kept in a ``new`` one."""
    from maskwell.collection.desk import Desk

    desk = Desk.open(database, new=new, reads=reads)
    click.get_current_context().call_on_close(desk.store.close)  # what is in the log of SQLite goes into the file
    return desk


def _saying(function: Callable[..., Said]) -> Callable[..., None]:
    """A command that prints what it gives; in a line where the database does not answer or takes nothing."""

    @wraps(function)
    def run(*, as_json: bool, **given: Any) -> None:
        try:
            content, lines = function(**given)
            if as_json:
                print_json(content)
            else:
                print_lines(lines)
            if not content.get("equal", True):  # what was checked
                click.get_current_context().exit(ANSWER_IS_NO)
        except Exception as error:
            if "maskwell.collection.opening" not in sys.modules:
                raise
            from maskwell.collection.database import AWAY
            from maskwell.collection.opening import is_damaged, is_refused, trouble

            if isinstance(error, AWAY) or is_damaged(error) or is_refused(error):
                raise trouble(error) from error
            raise

    return run


def _command(name: str, *examples: str) -> Callable[[Callable[..., Said]], click.Command]:
    """A command with the options that all of them have."""

    def register(function: Callable[..., Said]) -> click.Command:
        command = survey.command(name, epilog=example(*examples))
        return command(database_option(json_option(_saying(function))))

    return register


def _at(database: str | None) -> str:
    """What a printed command needs so that it runs on the same database; a password is not printed."""
    if database is None:
        return ""
    return f" --database {shlex.quote(database) if masked(database) == database else 'URL'}"


@_command("add", "maskwell survey add survey.toml", "maskwell survey add survey.toml --owner ann")
@click.argument("file", type=FilePath())
@click.option("--owner", metavar="NAME", help="Account that owns the survey in the studio (default: none).")
def add(file: str, owner: str | None, database: str | None) -> Said:
    """Store a survey file as a draft, which is not open yet."""
    from maskwell.collection.desk import read_survey

    read_survey(file)  # one that is refused leaves no new database
    content = _desk(database, new=owner is None).add(file, owner)
    return content, [
        f"draft {content['code']}: {content['title']}",
        f"Next: maskwell survey open {content['code']}{_at(database)}",
    ]


@_command("owner", "maskwell survey owner 3f0c2a91d4 ann")
@click.argument("code")
@click.argument("name")
def owner(code: str, name: str, database: str | None) -> Said:
    """Make an account an owner of a survey, so that it appears in the account's studio."""
    content = _desk(database).own(code, name)
    return content, [f"owners of {content['title']}: {', '.join(content['owners'])}"]


@_command("list", "maskwell survey list")
def list_(database: str | None) -> Said:
    """List all surveys."""
    from maskwell.collection.database import NoDatabaseError

    try:
        rows = _desk(database, reads=True).surveys()
    except NoDatabaseError:
        if database is not None or "MASKWELL_DATABASE" in os.environ:  # one that was named must be there
            raise
        rows = []
    lines = [
        f"{row['code']}  {row['state']:<6}  {row['reports']:>9,} reports  {row['title']}"
        f"  ({', '.join(row['owners']) or 'not in the studio: no owner'})"
        for row in rows
    ]
    return {"surveys": rows}, lines or ["no survey yet", f"Next: maskwell survey add survey.toml{_at(database)}"]


@survey.command("texts", epilog=example("maskwell survey texts ar", "maskwell survey texts ar --for offline"))
@click.argument("language")
@click.option(
    "--for",
    "group",
    type=click.Choice(["page", "check", "offline", "form"]),
    default="page",
    help="Where the texts are shown (default: page, the respondent's page).",
)
@json_option
@_saying
def texts(language: str, group: str) -> Said:
    """Print the English texts of the pages, as a table of a survey file, for translation into a language."""
    from maskwell.collection.page_texts import text_table

    table = text_table(language, group)
    return {"language": language, "for": group, "table": table}, table.splitlines()


@_command("open", "maskwell survey open 3f0c2a91d4")
@click.argument("code")
def open_(code: str, database: str | None) -> Said:
    """Open a survey for reports; its designs are then frozen."""
    content = _desk(database).open_survey(code)
    return content, [
        f"open: {content['title']}",
        f"fingerprint {content['fingerprint']}",
        f"respondents: {content['path']}",
    ]


@_command("close", "maskwell survey close 3f0c2a91d4")
@click.argument("code")
def close(code: str, database: str | None) -> Said:
    """Close a survey: it accepts no more reports."""
    content = _desk(database).close_survey(code)
    return content, [f"closed: {content['title']}, {content['reports']:,} reports"]


@_command("invite", "maskwell survey invite 3f0c2a91d4 --count 500 -o links.txt")
@click.argument("code")
@click.option("--count", metavar="N", required=True, help="Number of links.")
@click.option("-o", "--output", metavar="FILE", required=True, help="File for the links, one for each line.")
@click.option(
    "--address", metavar="URL", default="", help="Address of the service, such as https://survey.example.org."
)
def invite(code: str, count: str, output: str, address: str, database: str | None) -> Said:
    """Make single-use links; they are written to a file and shown nowhere else."""
    content = _desk(database).invite(code, count, output, address)
    return content, [f"{content['invitations']:,} links in {output}"]


@_command("results", "maskwell survey results 3f0c2a91d4")
@click.argument("code")
def results(code: str, database: str | None) -> Said:
    """Show the results so far."""
    desk = _desk(database, reads=True)
    content = desk.results(code)
    return content, desk.result_lines(content)


@_command(
    "import",
    "maskwell survey import 3f0c2a91d4 interviews.csv",
    "maskwell survey import 3f0c2a91d4 export.csv --from kobo",
)
@click.argument("code")
@click.argument("file", type=FilePath())
@click.option(
    "--from",
    "source",
    type=click.Choice(["offline", "qualtrics", "odk", "kobo", "limesurvey", "surveyjs", "table"]),
    help="Source of the file (default: detected from its columns).",
)
@click.option("--again", is_flag=True, help="Count a file without ids again, as reports of other people.")
@text_form_options("file")
@show_values_option
def import_(code: str, file: str, source: str | None, database: str | None, *, again: bool) -> Said:
    """Import reports: an export of a survey platform or a tablet, or a table with a column for each question."""
    desk = _desk(database)
    content = desk.import_file(code, file, source, again=again)
    return content, desk.import_lines(content)


@_command("embed", "maskwell survey embed 3f0c2a91d4 --name cash --for qualtrics -o cash.js")
@click.argument("code")
@click.option("--name", metavar="NAME", required=True, help="Name of a sensitive question of the survey.")
@click.option(
    "--for",
    "platform",
    type=click.Choice(["qualtrics", "limesurvey", "surveyjs"]),
    required=True,
    help="Survey platform.",
)
@click.option("-o", "--output", metavar="FILE", required=True, help="File for the snippet; it must not exist yet.")
def embed(code: str, name: str, platform: str, output: str, database: str | None) -> Said:
    """Write a snippet that asks one question within another survey platform, which receives the report only."""
    content = _desk(database, reads=True).embed(code, name, platform, output)
    return content, [f"the snippet is in {output}; its first lines say where to paste it"]


@_command("offline", "maskwell survey offline 3f0c2a91d4 -o survey.html")
@click.argument("code")
@click.option("-o", "--output", metavar="FILE", required=True, help="File for the page; it must not exist yet.")
def offline(code: str, output: str, database: str | None) -> Said:
    """Write the survey as one page that works offline on a tablet and keeps reports until they are exported."""
    content = _desk(database, reads=True).offline(code, output)
    return content, [
        f"the page is in {output}: copy it to the tablet",
        f"later: maskwell survey import {code} reports.json{_at(database)}",
    ]


@_command("form", "maskwell survey form 3f0c2a91d4 --device dice -o form.xlsx")
@click.argument("code")
@click.option(
    "--device", type=click.Choice(["cards", "dice"]), required=True, help="Device that respondents draw with."
)
@click.option("-o", "--output", metavar="FILE", required=True, help="File for the form; it must not exist yet.")
def form(code: str, device: str, output: str, database: str | None) -> Said:
    """Write the survey as an XLSForm for ODK and KoBo, with dice or cards; only the report is entered."""
    content = _desk(database, reads=True).form(code, device, output)
    return content, [
        f"the form is in {output}: upload it to ODK Central or KoBo",
        f"later: maskwell survey import {code} EXPORT{_at(database)}",
    ]


@_command("export", "maskwell survey export 3f0c2a91d4 -o collected")
@click.argument("code")
@click.option("-o", "--output", metavar="FOLDER", required=True, help="New folder.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet", "sav", "dta"]),
    default="csv",
    help="Format of the reports (default csv).",
)
def export(code: str, output: str, kind: str, database: str | None) -> Said:
    """Write reports, designs and codebook to a new folder, ready for maskwell estimate."""
    content = _desk(database, reads=True).export(code, output, kind)
    return content, [f"{content['rows']:,} rows in {output}", *content["next"]]


@_command("check", "maskwell survey check 3f0c2a91d4")
@click.argument("code")
def check(code: str, database: str | None) -> Said:
    """Recount all reports of a survey, and compare with the running counts.

    The exit status is 1 if they differ.
    """
    desk = _desk(database, reads=True)
    content = desk.check(code)
    return content, desk.check_lines(content)


@_command("delete", "maskwell survey delete 3f0c2a91d4 --confirm")
@click.argument("code")
@click.option("--confirm", is_flag=True, help="Confirm the deletion; without it nothing is deleted.")
def delete(code: str, database: str | None, *, confirm: bool) -> Said:
    """Delete a survey with all its reports, permanently."""
    content = _desk(database).delete(code, sure=confirm)
    return content, [f"deleted: {content['title']}, {content['reports']:,} reports"]


@_command("keys", "maskwell survey keys")
def keys(database: str | None) -> Said:
    """List the access keys of programs: owner, creation, last use and expiry."""
    content = {"keys": [key.to_dict() for key in _desk(database, reads=True).accounts.list_keys()]}
    lines = [
        f"{key['handle']}  {key['account']}: {key['name']}, scope {key['scope']}, made {key['made']}, "
        f"used {key['used'] or 'never'}, expires {key['expires']}"
        for key in content["keys"]
    ]
    return content, lines or ["no key yet", "Next: make one in the studio, under Account"]


@_command("revoke", "maskwell survey revoke 5d41402abc4b")
@click.argument("handle")
def revoke(handle: str, database: str | None) -> Said:
    """Revoke an access key by its handle, which maskwell survey keys prints."""
    content = _desk(database).accounts.revoke(handle).to_dict()
    return content, [f"revoked: {content['name']}, of {content['account']}"]


@_command("password", "maskwell survey password ann")
@click.argument("name")
@click.option("--password", metavar="WORD", help="New password (default: asked for, or read from standard input).")
def password(name: str, password: str | None, database: str | None) -> Said:
    """Set a new password for an account; all its sessions and keys end."""
    desk, typed = _desk(database), _asked() if password is None else password
    content = {"account": name, "ended": desk.accounts.reset_password(name, typed)}
    ended = "session or key" if content["ended"] == 1 else "sessions and keys"
    return content, [f"the password of {name} was changed; {content['ended']:,} {ended} ended"]


def _asked() -> str:
    """A password: asked for twice on a terminal, else the first line of standard input."""
    try:
        if sys.stdin.isatty():
            return str(click.prompt("Password", hide_input=True, confirmation_prompt=True))
        lines = sys.stdin.buffer.read(_LONGEST_PASSWORD).decode().splitlines()
    except UnicodeDecodeError as error:
        raise ParameterError("the-password-must-be-text") from error
    if not lines or any(line != lines[0] for line in lines[1:2]):
        raise ParameterError("standard-input-must-hold-the-password")
    return lines[0]


_LONGEST_PASSWORD = 16_384  # bytes that are read


def _held(content: Mapping[str, Any]) -> str:
    """How many surveys and reports there are, in words."""
    return " and ".join(
        f"{content[f'{one}s']:,} {one}{'s' * (content[f'{one}s'] != 1)}" for one in ("survey", "report")
    )


@_command("backup", "maskwell survey backup -o backup.db")
@click.option("-o", "--output", metavar="FILE", required=True, help="File for the copy; it must not exist yet.")
def backup(output: str, database: str | None) -> Said:
    """Write a copy of the whole database; the service may be running."""
    content = _desk(database, reads=True).backup(output)
    return content, [f"{_held(content)} in {output}"]


@_command("restore", "maskwell survey restore backup.db")
@click.argument("file", type=FilePath())
def restore(file: str, database: str | None) -> Said:
    """Restore a copy into a database without surveys."""
    from maskwell.collection.desk import check_backup

    check_backup(file)
    content = _desk(database, new=True).restore(file)
    return content, [f"{_held(content)} restored"]
