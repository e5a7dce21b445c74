"""``maskwell serve``: run the collection service."""

from __future__ import annotations

import click

from maskwell.cli.options import example, json_option
from maskwell.cli.output import print_json, print_lines


@click.command(epilog=example("maskwell serve --example", "maskwell serve --database sqlite:///surveys.db --port 8750"))
@click.option("--host", metavar="H", help="Address to listen on; 127.0.0.1, this machine only, by default.")
@click.option("--port", metavar="P", help="Port; 8750 by default.")
@click.option("--database", metavar="URL", help="SQLite or PostgreSQL, as SQLAlchemy writes it.")
@click.option("--workers", metavar="N", help="Processes that share the work; 1 by default.")
@click.option(
    "--public-url", metavar="URL", help="The address respondents type, where a proxy stands before the service."
)
@click.option("--settings", "file", metavar="FILE", help="A TOML file with these settings.")
@click.option("--example", "with_example", is_flag=True, help="Begin with an example survey, open to be answered.")
@json_option
def serve(
    host: str | None,
    port: str | None,
    database: str | None,
    workers: str | None,
    public_url: str | None,
    file: str | None,
    *,
    with_example: bool,
    as_json: bool,
) -> None:
    """Run the collection service: respondents answer in the browser, and only reports arrive.

    The respondent's device draws the report; the service never sees an answer. Stop it with Ctrl-C.
    """
    from maskwell.collection.server import prepare, serve
    from maskwell.collection.settings import Settings

    settings = Settings.load(file, host=host, port=port, database=database, workers=workers, public_url=public_url)
    ready = prepare(settings, with_example=with_example)
    if as_json:
        print_json(ready.to_dict())
    else:
        print_lines(ready.lines())
    serve(settings)
