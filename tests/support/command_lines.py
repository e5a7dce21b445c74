r"""Command lines for the fuzz tests: good ones for every command, and what a hostile or clumsy hand makes of them.

They run in a folder with small files of every kind (:func:`make_folder`). Names are always relative: a command line
that goes wrong must not reach beyond the folder. Devices are made there, where that is allowed, and the original ones
are never named.
"""

import gzip
import os
import random
import shlex
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import click
from tests.support.fuzzing import run_command

from maskwell.cli.main import cli
from maskwell.procedures.registry import PROCEDURES

PEOPLE = 48
TOWNS = ("Quarrelstead", "Ymirfold", "Zwetschken", "Oddmarsh")

PLAN = """\
[release]
keys = ["sex", "region"]
id = "id"
dataset = "people"
match = 0.5

[[protect]]
variables = ["sex", "region"]
method = "inverse-frequency"
xi = 0.5

[[protect]]
variables = ["job"]
method = "method1"
theta = 0.3
"""

SURVEY = """\
[survey]
title = "Pay"
access = "invitations"
demand = { gamma = 4 }
[[question]]
name = "cash"
ask = "Paid in cash?"
answers = ["yes", "no"]
design = { gamma = 4 }
"""
CODES = {"invited": "0000000001", "open": "0000000002", "draft": "0000000003"}
"""The surveys of the database."""

COLLECTED = """\
serve --help
survey add survey.toml --database sqlite:///surveys.db
survey list --database sqlite:///surveys.db
survey open 0000000003 --database sqlite:///surveys.db
survey close 0000000002 --database sqlite:///surveys.db
survey delete 0000000002 --confirm --database sqlite:///surveys.db
survey results 0000000002 --database sqlite:///surveys.db
survey invite 0000000001 --count 3 -o links.txt --database sqlite:///surveys.db
survey export 0000000002 -o collected --database sqlite:///surveys.db
survey import 0000000002 reports.csv --database sqlite:///surveys.db
survey embed 0000000002 --name cash --for qualtrics -o new.js --database sqlite:///surveys.db
survey offline 0000000002 -o new.html --database sqlite:///surveys.db
survey form 0000000002 --device dice -o new.xlsx --database sqlite:///surveys.db
survey check 0000000002 --database sqlite:///surveys.db
survey owner 0000000002 ada --database sqlite:///surveys.db
survey texts ar --for check
survey keys --database sqlite:///surveys.db
survey revoke 66687aadf862 --database sqlite:///surveys.db
survey password ada --password "a password of words" --database sqlite:///surveys.db
survey backup -o copy.db --database sqlite:///surveys.db
survey restore backup.db --database sqlite:///new.db
"""

MADE = """\
design warner --p 0.7 -o warner.json
design forced --truth 3/4 --yes 1/6 --no 1/12 -o forced.json
design k-ary --categories never,once,often --epsilon 1 -o kary.json
design subset --categories never,once,often --size 2 --gamma 3 -o subset.json
design kronecker warner.json kary.json -o product.json
design repeated warner.json forced.json -o repeated.json
design rappor --k 4 --epsilon 2 -o rappor.json
design bits --items a,b,c --p 0.8 -o bits.json
design chow --red 5 --blue 3 --draws 2 -o chow.json
design matrix matrix.csv --categories yes,no -o dense.json
audit warner.json --rho 0.1 0.5 --certificate proof.json
release --new-key secret.key
release people.csv --plan plan.toml --key secret.key -o released
randomize data.csv --design vote=warner.json -o reports.parquet
randomize data.csv --design vote=warner.json -o reports.arrow
randomize data.csv --design vote=warner.json -o reports.csv.gz
randomize data.csv --design vote=warner.json -o reports.tsv
"""

GOOD = """\
doctor
audit warner.json
audit kary.json --rho 0.1 0.3
audit product.json --epsilon 2 --explain
audit forced.json --prior 0.15,0.85 --sensitive yes --average-security 1.2
audit bits.json --certificate new.json
audit subset.json --curves curves.csv --between lines --closed
audit rappor.json --plot new.svg
convert --rho 0.1 0.3
convert --l 2 --k 5
convert --curves curves.csv --between lines
compare warner.json forced.json --pi 0.05,0.95
compare kary.json subset.json
compare forced.json warner.json --measure hazard --prior 0.05,0.95 --at first
choose --k 10 --epsilon 1 --n 2000 -o new.json
choose --categories never,once,often --rho 0.1 0.5 --margin 0.03
sample-size warner.json --pi 0.1,0.9 --against 0.15 --power 0.8 --level 0.9
sample-size forced.json --margin 0.05 --pi 0.1,0.9 --category yes --deff 1.4 --cv-weights 0.3
sample-size --strata-file strata.csv --n 500
choose --k 3 --epsilon 1 --n 500 --plot new.svg --picture variance
sample-size warner.json --margin 0.05 --pi 0.1,0.9 --plot new.svg
improve chow.json -o new.json --certificate new-proof.json
improve rappor.json
improve forced.json --split lemmas --exactly
verify proof.json
verify proof.json --design warner.json
verify released --source people.csv --plan plan.toml
verify released/public
verify released --earlier released --ledger secret.key.ledger
device forced.json --dice
device warner.json --question "Have you ever evaded taxes?" -o new.html
device warner.json --deck 20 --not-less-private --realised new.json
device kary.json --deck 50 --paper letter
device forced.json --spinner -o new.html
device warner.json --study Taxes --forms --save-texts new.json -o new.html
randomize data.csv --design vote=warner.json -o new.csv
randomize data.csv --design vote=warner.json --design drugs=kary.json -o new.parquet --seed 7
randomize data.csv --design vote,drugs=product.json -o -
randomize data.csv --design vote=warner.json -o - --format arrow
randomize data.csv --design vote=warner.json --key secret.key --dataset survey --id id -o new.csv
randomize data.sav --design vote=warner.json -o new.sav --missing drop
randomize data.dta --design vote=warner.json -o new.tsv
randomize reports.parquet --design drugs=subset.json -o new.arrow
randomize reports.arrow --design drugs=kary.json -o new.csv.gz --force
randomize reports.csv.gz --design vote=warner.json -o new.csv
randomize - --design vote=warner.json -o -
design k-ary --k 5 --keep 0.7 -o new.json
estimate data.csv --design vote=warner.json
estimate data.csv --design vote=warner.json --interval bootstrap --seed 3
estimate reports.parquet --design vote=warner.json --by region --format md
estimate reports.arrow --design vote=warner.json --design drugs=kary.json --method ml
estimate data.csv --design vote=warner.json --weights weight --strata region --clusters town
estimate data.csv --design vote=forced.json --counts n --interval exact --level 0.9
estimate data.csv --design vote=warner.json --weights weight --replicates w --replicate-method brr
estimate people.csv --direct sex,region
tally data.csv --design vote=warner.json --counts n
tally data.csv --design vote,drugs=product.json --missing drop
tabulate data.csv --design vote=warner.json --direct region --weights weight
tabulate data.csv --design vote=warner.json --design drugs=kary.json --method ml --plot new.svg
estimate data.csv --design vote=warner.json --missing drop --missing-codes vote=NA,99
estimate data.csv --design drugs=kary.json --combine any=once+often --contrast gap=often-never --ratio r=often/any
estimate data.csv --design vote=warner.json --weights weight --by region --contrast d=north-south --where age>=30
estimate data.csv --design vote[region=north]=warner.json --design vote[region=south]=forced.json \
--design vote[region=east]=warner.json
estimate data.csv --direct region,drugs --population 10000
estimate released/public/data.csv --receipt released/public/receipt.json --columns job
estimate released/public/data.csv --receipt released/internal/receipt.json --columns job,sex --target file
estimate - --design vote=warner.json --plot new.svg
regress data.csv --formula 'vote ~ age + region' --design vote=warner.json
regress reports.parquet --formula 'vote ~ age' --design vote=warner.json --variance sandwich --exponentiate
regress data.csv --formula 'vote ~ age' --design vote=forced.json --weights weight --strata region --plot new.svg
regress data.csv --formula 'vote ~ age + (1 | town)' --design vote=warner.json --smaller-model 'vote ~ age'
regress data.csv --formula 'drugs ~ age' --design drugs=kary.json --model ordinal --predict-at age=30,60 --effects
regress data.csv --formula 'vote ~ age' --design vote=warner.json --predict data.csv
regress data.csv --formula 'vote ~ age' --design vote=warner.json --missing drop --missing-codes NA,99
regress data.csv --formula 'drugs ~ age + (1 | town)' --design drugs=kary.json --combine any=once+often
mine baskets.csv --design bits.json
mine baskets.csv --design bought=bits.json --min-support 0.2 --min-confidence 1/2 --max-items 3 --slack 1
mine flags.csv --design a,b,c=bits.json --missing drop --plot new.svg
randomize baskets.csv --design bought=bits.json -o new.parquet
release people.csv --init
release people.csv --init -o new.toml --force
release people.csv --init --match 0.2
release people.csv --init --k 5
release people.csv --init --keys sex
release people.csv --plan plan.toml --dry-run
release people.csv --plan plan.toml -o new
release people.csv --plan plan.toml -o new --ledger new.ledger --draw-anew
release people.csv --plan plan.toml --key secret.key --matrices released/internal/receipt.json -o new \
--record-risks --earlier-files people.csv
release --new-key new.key
risk people.csv --keys sex,region
risk data.csv --keys region,age --weights weight --contributions --sensitive-columns town --separator , --encoding utf-8
risk data.csv --keys region,age --weights weight --unit town --suda
risk people.csv --released released/public/data.csv --receipt released/internal/receipt.json \
--keys sex,region --plot new.svg
risk data.csv --keys region,town --records new.csv
completion bash
design matrix matrix.csv --categories yes,no -o new.json
design extremal --pi 0.5,0.3,0.2 --gamma 3
design kronecker warner.json kary.json -o new.json
design repeated warner.json forced.json
design shared --outcome 3/4=warner.json,forced.json --outcome 1/4=forced.json,warner.json
"""


def words_of(text: str) -> list[str]:
    """Words of a text, as a list that takes less room."""
    return text.split()


NUMBERS = [
    *words_of("""
    0 1 -1 2 3 0.5 1/2 1/6 -0 +1 00 0.0 1e3 1e-9 1e99999 -1e99999 1e308 1e-400 nan inf -inf Infinity 1/0 0/0 1/-2
    -1/2 1//2 1/2/3 .5 5. . 1_000 1,000 0x10 1e 1e+ 1e400/1e400 99999999999999999999 2147483648 9007199254740993
    18446744073709551616 0.1000000000000000055511151231257827 1000000 1000000000 0.9999999999999999999
    1.0000000000000000001 True None null 50% 0,5 '0.5' 1/3 2/3 7 14 15 20 100
    """),
    "½", "٣", "²", "π", '"0.5"',
]  # fmt: skip

TEXTS = [
    *words_of("""
    , ,, a a,a a,b a,b,c yes,no yes no,yes,missing {} [1,2] null %s%n%d {0}{x} $HOME `id` $(id) <b>&amp; =1+1 -- -
    --- -h --help --version --json --force -o @ @labels.txt @@ @data.csv @noise @deep * ? ~ . .. = a= =a a=b=c vote
    Vote vote,vote region town income age id missing 0.5,0.5 0.2,0.3,0.5 1/3,1/3,1/3 0.5,nan 1e999,0 2,-1 first
    second both
    """),
    "", " ", '"a,b",c', '"a', "a\nb", "a\tb", "a\rb", "a,b\n", "\x1b[2Jred\x1b[31m", "\x07\x08", "\x7f\x9b2J",
    "\u202eab", "\u2028", "\ufeffa", "\udcff\udcfe", "é,ê", "e\u0301", "日本,中文", "🙂", "𝔘" * 30, "x" * 300,
    "x" * 5000, ",".join("abcdefghijklmnopqrstuvwxyz"), ",".join(map(str, range(3000))), "(" * 500,
    "[" * 500 + "]" * 500, '{"a": 1}', "; id", "' OR 1=1 --", "\\", "\\n", "vote ",
]  # fmt: skip

ASSIGNED = [
    *words_of("""
    vote=warner.json drugs=kary.json vote=kary.json region=warner.json town=kary.json vote,drugs=product.json
    vote,vote=product.json vote,drugs=warner.json vote[region=north]=warner.json
    vote[region=north,town=x]=warner.json vote[]=warner.json vote[=]=warner.json vote[vote=yes]=warner.json
    vote[nowhere=1]=warner.json nowhere=warner.json vote=missing.json vote= =warner.json vote = vote==warner.json
    vote=folder vote=noise vote=deep vote=proof.json vote=data.csv ,=warner.json vote,=product.json
    first,second=repeated.json vote,drugs=repeated.json income=rappor.json vote=subset.json drugs=subset.json
    a,b,c=bits.json vote=loop vote=zero
    """),
    'vote[town="a, b"]=warner.json', 'vote[town="a]=warner.json', "\x1b[2J=warner.json",
]  # fmt: skip

OUTPUTS = [
    *words_of("""
    new.json new.csv new.csv.gz new.tsv new.parquet new.arrow new.sav new.dta new.xpt new.svg new.png new.pdf
    new.html new.toml new new. .new new.sas7bdat new.xyz new.CSV - . .. folder folder/ folder/new.csv
    folder/new.json missing/new.csv data.csv data.csv/new.csv warner.json pipe null full loop dangling link.csv
    """),
    "néw.csv", "ne\nw.csv", "ne\x1b[2Jw.csv", "\udcff.csv", "", " ", "n" * 300 + ".csv", "n" * 254,
]  # fmt: skip

INPUTS = [
    *words_of("""
    warner.json forced.json kary.json subset.json product.json repeated.json rappor.json bits.json chow.json
    dense.json data.csv people.csv data.sav data.dta reports.parquet reports.arrow reports.csv.gz reports.tsv
    proof.json plan.toml secret.key released/public/data.csv released/public/receipt.json
    released/internal/receipt.json released matrix.csv baskets.csv flags.csv curves.csv strata.csv labels.txt
    link.csv - . .. folder data.csv/x missing.csv missing.json missing/x.json empty.csv empty.json empty.parquet
    noise noise.csv noise.parquet noise.csv.gz noise.sav deep deep.json wrong.csv odd.csv null zero zero.csv
    zero.json loop dangling data.CSV data
    """),
    "", " ", "x" * 300, "ne\x1b[2Jw.csv", "\udcff.csv",
]  # fmt: skip

WRITTEN = {"--output", "--certificate", "--plot", "--realised", "--new-key", "--records"}


def make_folder(folder: Path) -> None:
    """Small files of every kind, good and bad, in an empty folder."""
    rng = random.Random(1)
    rows = [_person(i, rng) for i in range(PEOPLE)]
    names = "id,vote,drugs,region,town,age,income,weight,n,w1,w2,w3,w4"
    text = "\n".join([names, *rows, ""])
    people = [
        f"{i},{rng.choice('fm')},{rng.choice(('north', 'south'))},{rng.choice(('cook', 'smith'))}"
        for i in range(PEOPLE)
    ]
    files = {
        "data.csv": text,
        "people.csv": "\n".join(["id,sex,region,job", *people, ""]),
        "plan.toml": PLAN,
        "matrix.csv": "0.7,0.3\n0.3,0.7\n",
        "baskets.csv": "items,bought\n" + 'a b,101\nc,""\n"",b c\na b c,a\n' * 5,
        "flags.csv": "a,b,c\n" + "1,0,1\n0,0,1\ntrue,1,0\n,1,1\n" * 5,
        "curves.csv": "p,lower,upper\n0,0,0.3\n0.2,0.05,0.6\n0.5,0.2,0.8\n1,0.7,1\n",
        "strata.csv": "stratum,share,pi,design\nnorth,0.4,0.1,warner.json\nsouth,0.6,0.3,forced.json\n",
        "labels.txt": "never\nonce\noften\n",
        "empty.csv": "",
        "empty.json": "",
        "empty.parquet": "",
        "deep": "[" * 100_000,
        "deep.json": '{"a":' * 100_000,
        "wrong.csv": text.replace("yes", "perhaps-7").replace(",n,", ",vote,"),
        "odd.csv": text + 'one,"unclosed\n' + "a,b\n" * 3,
    }
    for name, content in files.items():
        folder.joinpath(name).write_text(content, encoding="utf-8")
    noise = rng.randbytes(3000)
    for name in ("noise", "noise.csv", "noise.parquet", "noise.sav"):
        folder.joinpath(name).write_bytes(noise)
    folder.joinpath("noise.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0)[:-20])
    folder.joinpath("folder").mkdir()
    for line in MADE.splitlines():
        ended = run_command(shlex.split(line), folder)
        assert ended.status == 0, (line, ended.err)
    _labelled_files(folder)
    if not APART:
        _surveys(folder)
    for path in folder.joinpath("released").rglob("*"):
        if path.is_file() and path.name not in (
            "data.csv",
            "receipt.json",
            "codebook.json",
            "manifest.json",
            "SHA256SUMS",
        ):
            path.unlink()  # its pictures and pages are read by no other command than verify, which misses them


def _surveys(folder: Path) -> None:
    """A database with a survey in each state, an account with a key, and a copy of it."""
    import sqlalchemy as sa

    from maskwell.collection.accounts import Accounts
    from maskwell.collection.store import Store
    from maskwell.collection.survey import Survey

    folder.joinpath("survey.toml").write_text(SURVEY, encoding="utf-8")
    folder.joinpath("reports.csv").write_text("cash\nyes\nno\n", encoding="utf-8")
    store = Store(f"sqlite:///{folder / 'surveys.db'}")
    store.create()
    for state, code in CODES.items():
        text = SURVEY if state == "invited" else SURVEY.replace('"invitations"', '"open"')
        made = store.add_survey(Survey.from_toml(text), text)
        if state != "draft":
            store.open(made)
        with store.engine.begin() as connection:
            connection.execute(
                sa.text("UPDATE surveys SET code = :code WHERE code = :made"), {"code": code, "made": made}
            )
    accounts = Accounts(store)
    accounts.make_key(accounts.add("ada", "another password"), "nightly")
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE sessions SET token = :token"), {"token": bytes(32)})  # its handle is known
    store.close()
    line = "survey backup -o backup.db --database sqlite:///surveys.db"
    assert run_command(shlex.split(line), folder).status == 0


def _person(i: int, rng: random.Random) -> str:
    vote, drugs = rng.choice(("yes", "no")), rng.choice(("never", "once", "often"))
    region, town = rng.choice(("north", "south", "east")), TOWNS[i % len(TOWNS)]
    weights = ",".join(str(rng.choice((1, 2, 3))) for _ in range(4))
    return f"person-{7000 + i},{vote},{drugs},{region},{town},{rng.randint(18, 80)},{48_000 + 17 * i},1.5,2,{weights}"


def secrets() -> list[bytes]:
    """Values of the people in the files that are no label of a design."""
    numbers = [text for i in range(PEOPLE) for text in (f"person-{7000 + i}", f"{48_000 + 17 * i}")]
    return [text.encode() for text in (*TOWNS, "perhaps-7", *numbers)]


def _labelled_files(folder: Path) -> None:
    try:
        import pandas as pd
        import pyreadstat
    except ImportError:  # the extra is not installed: the commands say so
        return
    data = pd.read_csv(folder / "data.csv")
    pyreadstat.write_sav(data, str(folder / "data.sav"))
    pyreadstat.write_dta(data, str(folder / "data.dta"))


def add_special_files(folder: Path) -> None:
    """What cannot be copied: links, a pipe and, where it is allowed, devices."""
    folder.joinpath("loop").symlink_to("loop")
    folder.joinpath("dangling").symlink_to("nowhere.json")
    folder.joinpath("link.csv").symlink_to("data.csv")
    os.mkfifo(folder / "pipe")
    for name, number in {"null": 3, "zero": 5, "zero.csv": 5, "zero.json": 5, "full": 7}.items():
        try:
            os.mknod(folder / name, 0o666 | stat.S_IFCHR, os.makedev(1, number))
        except OSError:  # not the owner of the machine
            return


@dataclass(frozen=True)
class Option:
    """An option of a command, with the values that come to mind for it."""

    name: str
    values: int
    choices: tuple[str, ...]
    kind: str


APART = () if find_spec("sqlalchemy") else ("serve", "survey")
"""Commands that are left out: those of the service, where it is not installed."""

REFUSED = ("--workers", "0")
"""Ends a line of ``serve``, which otherwise runs until it is stopped: everything is read, and then this is refused."""


@cache
def commands() -> dict[tuple[str, ...], tuple[Option, ...]]:
    """Every command, and the commands of every group, with their options."""
    listed = ((path, command) for path, command in _all(cli, ()) if path[0] not in APART)
    return {path: tuple(map(_option, _options(command))) for path, command in listed}


def _all(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from _all(inner, (*path, name))


def _options(command: click.Command) -> list[click.Option]:
    return [one for one in command.get_params(click.Context(command)) if isinstance(one, click.Option)]


def _option(option: click.Option) -> Option:
    name = option.opts[-1]
    choices = tuple(map(str, option.type.choices)) if isinstance(option.type, click.Choice) else ()
    return Option(name, 0 if option.is_flag else option.nargs, choices, _kind(name, option))


def _kind(name: str, option: click.Option) -> str:
    if name in WRITTEN and not option.is_flag:
        return "output"
    if option.multiple and name == "--design":
        return "assigned"
    return "input" if isinstance(option.type, click.Path) or name in ("--receipt", "--design") else "text"


@cache
def good_lines() -> dict[tuple[str, ...], list[list[str]]]:
    """Good command lines of every command, without its own words."""
    found: dict[tuple[str, ...], list[list[str]]] = {path: [] for path in commands()}
    lines = [shlex.split(line) for line in (GOOD + ("" if APART else COLLECTED)).splitlines()]
    lines += [["design", name, *shlex.split(one.example), "-o", "new.json"] for name, one in PROCEDURES.items()]
    for line in lines:
        path = next(path for path in (tuple(line[:2]), tuple(line[:1])) if path in found)
        found[path].append(line[len(path) :])
    return found


@dataclass(frozen=True)
class Case:
    """A command line and what stands on its standard input."""

    words: tuple[str, ...]
    stdin: bytes = b""


def good_cases(folder: Path) -> list[Case]:
    """Every good command line."""
    given = folder.joinpath("data.csv").read_bytes()
    return [Case((*path, *line), given) for path, lines in good_lines().items() for line in lines]


def case(number: int, folder: Path) -> Case:
    """The command line of a number, for a folder that :func:`make_folder` has filled."""
    rng = random.Random(f"commands {number}")
    groups = sorted({path[0] for path in commands()})
    group = rng.choice([name for name in groups if name != "demo"])
    path = rng.choice([path for path in commands() if path[0] == group])
    lines = good_lines()[path]
    words = list(rng.choice(lines)) if lines and path != ("serve",) else []
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        words = rng.choice(_CHANGES)(words, path, rng)
    if rng.random() < 0.3:
        words.insert(rng.choice((0, len(words))), "--json")
    if rng.random() < 0.1:
        words.append("--show-values")
    if rng.random() < 0.1:
        words.append("--force")
    words += REFUSED if path == ("serve",) else ()
    stdin = rng.choice(("data.csv", "data.csv", "noise", "empty.csv", "odd.csv", "wrong.csv", "deep.json"))
    start = list(path) if rng.random() < 0.99 else _changed_text(list(path), path, rng)
    return Case(tuple(word.replace("\0", "") for word in (*start, *words)), folder.joinpath(stdin).read_bytes())


def _value(option: Option, rng: random.Random) -> str:
    if option.choices and rng.random() < 0.8:
        return rng.choice(option.choices)
    if option.kind != "text" and rng.random() < 0.8:
        return rng.choice({"output": OUTPUTS, "assigned": ASSIGNED, "input": INPUTS}[option.kind])
    return rng.choice(NUMBERS) if rng.random() < 0.5 else rng.choice(TEXTS)


def _with_option(words: list[str], path: tuple[str, ...], rng: random.Random) -> list[str]:
    """One more option of the command, as it may be typed, or without its value."""
    option = rng.choice(commands()[path])
    values = [_value(option, rng) for _ in range(option.values)]
    added = [option.name, *values]
    how = rng.random()
    if how < 0.05:
        added = added[:-1]
    elif how < 0.1:
        added = [option.name[: rng.randint(3, len(option.name))], *values]
    elif how < 0.2 and values:
        added = [f"{option.name}={values[0]}", *values[1:]]
    place = len(words) if rng.random() < 0.7 else rng.randint(0, len(words))
    return words[:place] + added + words[place:]


def _without_word(words: list[str], path: tuple[str, ...], rng: random.Random) -> list[str]:
    place = rng.randrange(len(words) + 1)
    return words[:place] + words[place + 1 :]


def _with_other_value(words: list[str], path: tuple[str, ...], rng: random.Random) -> list[str]:
    """Another value for an option or an argument, of the same kind or of any."""
    places = [i for i, word in enumerate(words) if not word.startswith("--")]
    if not places:
        return words
    place = rng.choice(places)
    before = words[place - 1] if place else ""
    by_name = {option.name: option for option in commands()[path]} | {"-o": Option("-o", 1, (), "output")}
    option = by_name.get(before, Option("", 1, (), "input"))
    return [*words[:place], _value(option, rng), *words[place + 1 :]]


def _changed_text(words: list[str], path: tuple[str, ...], rng: random.Random) -> list[str]:
    """A sign more, less or other in one word; never a slash, so that no name leaves the folder."""
    places = [i for i, word in enumerate(words) if word]
    if not places:
        return words
    place = rng.choice(places)
    word = words[place]
    at = rng.randrange(len(word)) + (word[0] in "/.")
    sign = rng.choice("09-+.,=@\"'[]{}()~*: \t\n\x1b\x9bé\u202e\ud83d\ude42🙂%\\ex")
    changed = rng.choice((word[:at] + sign + word[at:], word[:at], word[:at] + sign + word[at + 1 :], word + word[at:]))
    if ("/" in changed and "/" not in word) or changed.startswith("/"):
        return words
    return [*words[:place], changed.encode("utf-8", "replace").decode(), *words[place + 1 :]]


def _repeated(words: list[str], path: tuple[str, ...], rng: random.Random) -> list[str]:
    place = rng.randrange(len(words) + 1)
    return words + words[place : place + rng.randint(1, 2)]


def _swapped(words: list[str], path: tuple[str, ...], rng: random.Random) -> list[str]:
    if len(words) < 2:
        return words
    i, j = rng.sample(range(len(words)), 2)
    words = list(words)
    words[i], words[j] = words[j], words[i]
    return words


def _with_any_word(words: list[str], path: tuple[str, ...], rng: random.Random) -> list[str]:
    place = rng.randint(0, len(words))
    return [*words[:place], rng.choice((*TEXTS, *NUMBERS, *INPUTS)), *words[place:]]


_CHANGES = [
    _with_option, _with_option, _with_option, _with_other_value, _with_other_value, _with_other_value, _without_word,
    _changed_text, _repeated, _swapped, _with_any_word,
]  # fmt: skip
