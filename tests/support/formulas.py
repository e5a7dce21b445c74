"""Hostile formulas by number, and a process of its own in which they are tried.

The process listens to what Python reports about itself (``sys.addaudithook``): code that is run, files that are opened,
programs that are started. While a formula is read and worked out, there must be none of these.
"""

import json
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

MOST_MEMORY = 4 << 30
LONGEST = 30
SECRET = "secretvalue"

FACTORS = (
    "a", "b", "r", "q", "t", "k", "`two words`", "größe", "my.var", "`log`", "`np`", "np", "log", "`__builtins__`",
    "`C`", "C(k)", "C(r, Sum)", "C(r, Treatment('s'))", "C(r, contr.treatment(base='w'))", "C(k, contr.helmert)",
    "C(q, Diff)", "C(r, contr.poly(scores=[1, 2, 4]))", "C(r, levels=['w', 's', 'n'])",
    "C(r, [[1, 0], [0, 1], [-1, -1]])", "C(np.where(a > 3, 'x', 'y'))", "C(r, contr.SAS)", "log(a)", "np.log1p(b)",
    "I(a**2)", "I(a * b)", "{a / 10}", "{(a > 2) & (b < 2)}", "{r == 's'}", "bs(a, df=4)",
    "bs(b, knots=[2], degree=2)", "cr(a, df=3)", "cc(a, df=4)", "cs(b, df=3, constraints='center')", "poly(a, 2)",
    "poly(b, degree=3, raw=True)", "center(a)", "scale(b, ddof=0)", "standardize(`two words`)", "log(`two words`)",
    "np.where(a > 3, 1, 0)", "np.clip(a, 2, 4)", "np.maximum(a, b)", "exp(-a)", "log2(b)", "np.power(a, 3)",
    "I(a % 2)", "I(a // 2)", "np.round(a, 1)", "np.sqrt(np.abs(a - 3))", "center(log(a))", "I(-a + 2 * (b - 1))",
)  # fmt: skip
"""That are allowed."""

ATTACKS = (
    "__import__('os').system('true')", "open('/dev/null')", "eval('1')", "exec('1')", "compile('1', '', 'eval')",
    "__builtins__['eval']('1')", "().__class__.__base__.__subclasses__()", "a.__class__", "np.load('/dev/null')",
    "np.fromfile('/dev/null')", "np.lib.npyio.os.system('true')", "np.f2py", "a.to_csv('/dev/null')",
    "getattr(a, 'x')", "(lambda: a)()", "[z for z in a]", "(z := a)", "f'{a}'", "a[0]", "a.values",
    "np.log(a, out=b)", "I(a, _state=1)", "bs(a, df=10**9)", "poly(a, 10**9)", "lag(a, 10**9)", "I(9**9**9)",
    "I('x' * 10**9)", "I([1] * 10**9)", "I(1 << 10**9)", "C(a, levels=[1])",
    "C(r, Treatment(reference=__import__('os').system('true')))", "C(r, contr.custom({}))",
    "Q(__import__('os').system('true'))", "Q('a')", "Q('`')", "hashed(a)", "log(*a)", "log(**a)",
    "C(r, contr.treatment)", "I('`' == __import__('os').system('true') == '`')",
    "I(a + Q('`') + open('/dev/null') + Q('`'))", "\uff45xp(a)", "\uff4fpen('/dev/null')",
    "__\uff49mport__('os').system('true')", "log(a)  # '", "log(a\n)", "I(a if b else a)", "I(not a)", "I(a and b)",
    "C(C(r))", "I(C(r) + 1)", "I(poly(a, 1) * b)", "I(bs(a, df=4) + 1)", "C(poly(a, 2))", "lag(a, 1)",
    "(a + b + r + q + t + k)**10", "a*b*r*q*t*k*`two words`", "a:a:a", "((((a))))", "{{a}}", "{a}", "%in%",
    "a %in% b", "[a ~ b]", "a | b", ".", "1", "0", "-1", "1.5", "1e999", "9" * 60, "'text'", "``", "`",
    "np.where(a > 1, r, q)", "I(r + 1)", "log(r)", "exp10(a)", "np.power(a, b)", "I(a ** b)", "I(a ** 101)",
    "np.round(a, 99)", "C(k, Treatment(7))", "a:`a:b`", "`a:b` + a:b", "`Intercept`", "`1`",
    "bs(a, knots=[1e308, -1e308])", "bs(a, df=4, lower_bound=3)", "cc(a, lower_bound=9, upper_bound=1)",
    "scale(a, scale=0)", "C(id)", "C(id):C(id2)", "log(t)", "I(-t)", "I(~t)", "I(~a)", "{a @ b}", "{a; b}", "{}",
    "I()", "C()", "I(np.where(a > 1, 'x', 'y') * 10**9)", "I(np.where(a > 1, '%999999999d', '') % 3)",
    "np.where(a, 1, 2)", "I(np.where(a > 1, 'x', 'y') + 'z')", "I(np.where(a > 1, 'x', b))", "log(C(k))",
    "`a\nb`", "I(`a\nb`)",
)  # fmt: skip
"""That are refused, or harmless by now: what is here runs, opens or fills nothing that matters if it is not refused."""

_OPERATORS = (" + ", " + ", " + ", ":", "*", " - ", "/", " %in% ", "**", "^", " | ", " ~ ", "")
_SPITE = "`'\"\\\0\n\r\t#;:,.()[]{}+-*/%^~|&<>=!@$_019aЖ\u00a0\u202e\uff45\ud800é"


def formula(number: int) -> str:
    """A formula by its number: from parts that are allowed and attacks, and every other one damaged at random."""
    draw = random.Random(number)
    text = f"y ~ {_sum(draw, 0)}"
    if draw.random() < 0.05:
        text = f"{_factor(draw)} ~ {_factor(draw)}"
    for _ in range(draw.choice((0, 0, 0, 1, 1, 2, 5))):
        text = _damaged(draw, text)
    return text


def allowed_formula(number: int) -> str:
    """A formula by its number, of allowed parts only."""
    draw = random.Random(number)
    parts = [draw.choice(FACTORS[:9] + FACTORS[15:]) for _ in range(draw.randint(1, 4))]
    text = parts[0]
    for part in parts[1:]:
        joined = draw.choice(("A + B", "A:B", "A * B", "(A + B)**2", "(A)/(B)", "A %in% B", "A - B"))
        text = joined.replace("B", "\0").replace("A", text).replace("\0", part)
    return f"y ~ {draw.choice(('', '0 + ', '-1 + ', '1 + '))}{text}"


def _sum(draw: random.Random, depth: int) -> str:
    if depth > 3 or draw.random() < 0.5:
        return _factor(draw)
    if draw.random() < 0.2:
        return f"({_sum(draw, depth + 1)}){draw.choice(('', '**2', '**3', '^2', '**99', '**a'))}"
    return _sum(draw, depth + 1) + draw.choice(_OPERATORS) + _sum(draw, depth + 1)


def _factor(draw: random.Random) -> str:
    chance = draw.random()
    if chance < 0.6:
        return draw.choice(FACTORS)
    if chance < 0.85:
        return draw.choice(ATTACKS)
    name = draw.choice(
        ("log", "C", "I", "bs", "np.log", "poly", "center", "Q", "np.where", "Treatment", "lag", "scale")
    )
    given = [draw.choice((draw.choice(FACTORS), draw.choice(ATTACKS), "a", "3")) for _ in range(draw.randint(0, 3))]
    keys = [f"{draw.choice(('df', 'degree', '_state', 'levels', 'k', 'out', 'x'))}={one}" for one in given[2:]]
    return f"{name}({', '.join([*given[:2], *keys])})"


def _damaged(draw: random.Random, text: str) -> str:
    place, other = sorted(draw.randint(0, len(text)) for _ in range(2))
    return draw.choice(
        (
            lambda: text[:place] + draw.choice(_SPITE) + text[place:],
            lambda: text[:place] + text[other:],
            lambda: text[:other] + text[place:other] + text[other:],
            lambda: text[:place] + draw.choice(ATTACKS) + text[place:],
            lambda: text[:place] + f"`{text[place:other]}`" + text[other:],
            lambda: text[:place] + f"'{text[place:other]}'" + text[other:],
            lambda: text[:place] + f"({text[place:other]})" + text[other:],
            lambda: (
                text[:place] + draw.choice(("(", "-", "a+", "I(", "a:", "1,", "C(", "~", "[")) * 3000 + text[place:]
            ),
            lambda: text[:place] + draw.choice(_SPITE) * 40 + text[place:],
            lambda: text[:place] + str(draw.getrandbits(draw.choice((8, 64, 4000)))) + text[place:],
            lambda: text.replace("a", draw.choice(("a", "`a`", "\uff41", "__a__", "nothing"))),
        )
    )()


def table() -> Any:
    """A few rows of each kind of column, some with names that mean something to Python."""
    import numpy as np
    import pandas as pd

    draw = np.random.default_rng(1)
    rows = 60
    names = [
        "a",
        "b",
        "two words",
        "größe",
        "my.var",
        "log",
        "np",
        "C",
        "__builtins__",
        "__import__",
        "eval",
        "a:b",
        "1",
    ]
    numbers = {name: 1 + 4 * draw.random(rows) for name in [*names, "Intercept"]}
    texts = {"r": ["n", "s", "w"], "q": ["u", SECRET], "id": [f"{SECRET}{i}" for i in range(rows)]}
    coded = {name: pd.Categorical(draw.choice(values, rows)) for name, values in texts.items()}
    others = {"t": draw.random(rows) < 0.5, "k": draw.integers(0, 3, rows), "id2": pd.Categorical(range(rows))}
    return pd.DataFrame({**numbers, **coded, **others})


def predictors(frame: Any) -> Any:
    """The columns of a DataFrame as a regression reads them; texts are categories."""
    import numpy as np

    from maskwell.engines.formula_coding import CategoryColumn, Predictors

    def column(values: Any) -> Any:
        values = values if values.dtype.kind in "biuf" else values.astype("category")
        if not hasattr(values, "cat"):
            return values.to_numpy()
        return CategoryColumn(np.asarray(values.cat.codes, dtype=np.intp), [*values.cat.categories])

    return Predictors({name: column(values) for name, values in frame.items()}, len(frame))


# --- the process in which they are tried ------------------------------------------------------------------------------

QUIET_EVENTS = (
    "object.", "sys._getframe", "gc.", "time.sleep", "marshal.", "code.__new__", "builtins.id", "sys.settrace",
)  # fmt: skip
"""Events that say nothing: attributes of frames, and the like."""


class Listener:
    """Notes what Python reports while it is on; it cannot be removed again."""

    def __init__(self) -> None:
        self.on = False
        self.heard: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.on or event.startswith(QUIET_EVENTS):
            return
        if event == "compile" and given[1] == "<unknown>":  # ast.parse: it makes a tree and runs nothing
            return
        self.heard.append(f"{event}: {str(given)[:200]}")


def with_the_gate(text: str, rows: Any) -> str:
    """Read and work out a formula as ``regress`` does: how it ended."""
    from maskwell.engines.formula import check_columns, read_formula
    from maskwell.engines.formula_coding import Coding
    from maskwell.errors import InputError

    try:
        found = read_formula(text)
        check_columns(found.columns, [*rows.columns])
        coding, values = Coding.learn(found.right, predictors(rows))
        again = coding.apply(predictors(rows.head(9)))
    except InputError as error:
        return _checked(error.message, error.hint, text)
    assert values.shape == (len(rows), len(coding.names)) and again.shape == (9, len(coding.names))
    return "worked out"


def _checked(message: str, hint: str, text: str) -> str:
    """Check an error: one line each, that fit a terminal and hold no value of the data."""
    assert len(message) <= 93 and 0 < len(hint) <= 94 and "\n" not in message + hint, (message, hint)
    assert SECRET in text or SECRET not in message + hint, (message, hint)
    return "refused"


def without_the_gate(text: str, rows: Any) -> str:
    """What a library does that evaluates the right side as Python."""
    try:
        eval(text.partition("~")[2], {name: rows[name] for name in rows})
    except Exception:  # noqa: BLE001 - whatever it is, the listener tells what was run before
        return "refused"
    return "worked out"


def _late(*_: object) -> None:
    raise TimeoutError(f"more than {LONGEST} s")


def tried(texts: dict[str, str], work: Callable[[str, Any], str]) -> dict[str, Any]:
    """Try formulas: how many ended how, and what was wrong by their names."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.signal(signal.SIGALRM, _late)
    from maskwell.errors import ParameterError

    rows = table()
    for text in FACTORS:  # what is imported on first use is imported now
        with_the_gate(f"y ~ {text}", rows)
    str(ParameterError("example-share-is-small"))  # and the sentences of errors are read
    listener = Listener()
    ended: Counter[str] = Counter()
    wrong: dict[str, Any] = {}
    for name, text in texts.items():
        listener.heard.clear()
        signal.alarm(LONGEST)
        listener.on = True
        try:
            ended[work(text, rows)] += 1
        except Exception as error:  # noqa: BLE001 - each is a finding
            wrong[name] = f"{type(error).__name__}: {error}"[:300], text[:300]
        finally:
            listener.on = False
            signal.alarm(0)
        if listener.heard:
            wrong[name] = listener.heard[:3], text[:300]
    return {"ended": ended, "wrong": wrong}


if __name__ == "__main__":
    first, last, gate = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "gate"
    many = {str(number): formula(number) for number in range(first, last)}
    few = {one: f"y ~ {one}" for one in ATTACKS[:13] if "[" not in one}
    sys.stdout.write(json.dumps(tried(many, with_the_gate) if gate else tried(few, without_the_gate)))
