"""``maskwell serve``: run the collection service."""

from __future__ import annotations

from maskwell.cli import options as opt
from maskwell.cli.output import print_json, print_lines


class Asked:
    """The options of the command."""

    host: str | None = opt.option(metavar="H")
    port: str | None = opt.option(metavar="P")
    database: str | None = opt.option(metavar="URL")
    workers: str | None = opt.option(metavar="N")
    public_url: str | None = opt.option(metavar="URL")
    file: str | None = opt.option("--settings", metavar="FILE")
    with_example: bool = opt.option("--example", is_flag=True)
    as_json: bool = opt.shared(opt.json_option)


@opt.command(Asked)
def serve(asked: Asked) -> None:
    """Run the collection service: respondents answer in the browser, and only reports arrive.

    The respondent's device draws the report, so the service never sees an answer. Stop it with Ctrl-C.
    """
    from maskwell.collection.server import prepare, serve
    from maskwell.collection.settings import Settings

    given = {name: getattr(asked, name) for name in ("host", "port", "database", "workers", "public_url")}
    settings = Settings.load(asked.file, **given)
    ready = prepare(settings, with_example=asked.with_example)
    if asked.as_json:
        print_json(ready.to_dict())
    else:
        print_lines(ready.lines())
    serve(settings)
