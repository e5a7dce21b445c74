"""Computed numbers are compared with limits by ``core/verdicts.py``, so that their last bits decide nothing.

A limit is a name such as ``limit`` or ``xi``, a constant or a literal that is a float or a fraction, and 0 or 1 beside
an estimate. Constants below ``SLACK_LIKE`` are slack themselves. Comparisons that refuse an argument look at the number
that was typed. The rooms below ``estimation`` compare exact fractions.
"""

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

DECIDING_ROOMS = ("collection", "estimation", "microdata", "planning", "reports/text", "verbs")
LIMITS = {"allowed", "asked", "bound", "bounds", "demand", "limit", "match", "threshold", "wanted", "worst", "xi"}
ESTIMATES = {"estimate", "pi_hat", "theta"}
SLACK_LIKE = 1e-5
REFUSES = ("CountsError", "InputError", "ParameterError", "PlanError", "ReportError", "WrongTypeError")
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)

SEARCHES = (  # numerical searches, sums that are cut off, and matrices whose limit is checked when they are made
    "estimation/joint/odds.py",
    "estimation/left_inverse.py",
    "estimation/maximisation/",
    "estimation/regression/",
    "planning/blackwell.py",
    "planning/extremal.py",
    "planning/sample_allocation.py",
    "microdata/matrices/flow_program.py",
    "microdata/matrices/flow_rounding.py",
    "microdata/matrices/flow_solver.py",
    "microdata/matrices/matrix_patterns.py",
    "microdata/matrices/mixing.py",
    "microdata/matrices/optimal_flows.py",
    "microdata/matrices/settled_flows.py",
    "microdata/risk/arrivals.py",
    "microdata/risk/binomial_sums.py",
    "microdata/risk/kronecker_arrivals.py",
    "microdata/risk/match_chances.py",
)
NOT_VERDICTS = {
    # exact fractions and integers
    ("microdata/records/value_counts.py", "table.kept > self._limit"),
    ("microdata/records/value_counts.py", "table.kept > self._limit // 2"),
    ("planning/comparison.py", "pair.measure.blank < target < pair.measure.limit"),
    ("planning/improvement.py", "bound - design.parity_exact() <= tolerance * (bound - 1)"),
    ("planning/order.py", "1 / ours - low > allowed * (1 + 1 / ours)"),
    ("planning/order.py", "_margin(refusal) > self.allowed * most"),
    ("planning/order.py", "self._residual(C) <= self.allowed"),
    ("planning/set_sizes.py", "math.ceil(real)"),
    ("microdata/matrices/bounds.py", "bound < WIDE"),
    ("microdata/matrices/infeasibility.py", "bound < share"),
    ("microdata/matrices/infeasibility.py", "limit - AT_LIMIT <= asked < limit"),
    ("microdata/matrices/match_caps.py", "math.ceil(1 / allowed)"),
    ("microdata/risk/joined_columns.py", "math.ceil(FEWEST_PEOPLE / people)"),
    ("microdata/risk/joined_columns.py", "math.ceil(LOOKED_FOR / people)"),
    ("reports/text/privacy_report.py", "gamma < INFORMATIVE"),
    ("reports/text/privacy_report.py", "parity < INFORMATIVE"),
    # numbers as they were typed or stored
    ("collection/results.py", "0.0001 <= margin <= 0.5"),
    ("verbs/row_designs.py", "1 / LARGEST <= abs(value) <= LARGEST"),
    # differences held against a tolerance of their own
    (
        "estimation/sampling/sampling_description.py",
        "np.abs(totals - d * g @ x).max() <= REACHED * max(1.0, np.abs(totals).max())",
    ),
    ("estimation/sampling/replicate_weights.py", "abs(low - rho) <= NEAR"),
    ("estimation/sampling/replicate_weights.py", "left_out <= 0.5 + ROUNDING"),
    ("estimation/sampling/replicate_weights.py", "np.abs(units - whole) > NEAR * units"),
    ("estimation/sampling/replicate_weights.py", "np.ptp(ratios[1]) <= NEAR * high"),
    ("microdata/analysis/matrix_estimates.py", "values[-1] * SINGULAR < values[0]"),
    ("microdata/folder/release_folder.py", "abs(rounded_up(x) - x) > 1e-09 * max(1.0, x)"),
    ("microdata/matrices/infeasibility.py", "math.ceil(float(value) * STEPS - 1e-06)"),
    # steps of a search, terms that are left out, seconds to wait
    ("collection/accounts.py", "math.ceil(left)"),
    ("estimation/outside_estimates.py", "high - low > 0.001 * high"),
    ("estimation/outside_estimates.py", "high > 0.001"),
    ("estimation/share_intervals.py", "at_outer > 0.1 * reach"),
    ("microdata/matrices/infeasibility.py", "high > low * 1.01"),
    ("microdata/matrices/infeasibility.py", "math.ceil(high * 100)"),
    ("microdata/risk/identity_disclosure.py", "q > _NEAR_ONE"),
    ("microdata/risk/released_counts.py", "likely > likely.max(axis=1, keepdims=True) - _DROP"),
    ("microdata/risk/released_counts.py", "np.ceil(blocks.most * _LEVELS)"),
}


def name_of(node: ast.AST) -> str:
    """The last name of a variable, an attribute or a function; nothing where it has none."""
    return getattr(node, "attr", getattr(node, "id", ""))


def parts_of(node: ast.expr) -> Iterator[ast.expr]:
    """What a side of a comparison is computed from, as far as its size goes."""
    if isinstance(node, ast.BinOp):
        yield from (*parts_of(node.left), *parts_of(node.right))
    elif isinstance(node, ast.UnaryOp | ast.Subscript | ast.Starred):
        yield from parts_of(node.value if not isinstance(node, ast.UnaryOp) else node.operand)
    elif isinstance(node, ast.Call) and name_of(node.func) in ("abs", "float", "max", "min"):
        yield from (part for argument in node.args for part in parts_of(argument))
    else:
        yield node


def is_inexact(node: ast.expr) -> bool:
    """Whether a constant is a float or a fraction, and not as small as slack."""
    numbers = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, float)]
    fractions = any(name_of(n) == "Fraction" for n in ast.walk(node))
    return fractions or any(abs(number) > SLACK_LIKE for number in numbers)


def constants_of(tree: ast.Module) -> set[str]:
    """The names in capitals that a module assigns a limit to, also several at once."""
    found = set()
    for node in (one for one in tree.body if isinstance(one, ast.Assign)):
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            found |= {name_of(name) for name, value in zip(names, values, strict=False) if is_inexact(value)}
    return {name for name in found if name.isupper()}


def limits_of(tree: ast.Module, modules: Mapping[str, set[str]]) -> set[str]:
    """The constants that a module has or imports and that are limits."""
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    taken = ((alias, modules.get(str(node.module), set())) for node in imports for alias in node.names)
    return constants_of(tree) | {alias.asname or alias.name for alias, there in taken if alias.name in there}


def is_limit(side: ast.expr, constants: set[str]) -> bool:
    """Whether a side of a comparison has a limit in it."""
    return any(
        (isinstance(part, ast.Constant) and isinstance(part.value, float) and abs(part.value) > SLACK_LIKE)
        or name_of(part) in constants
        or bool({*name_of(part).split("_")} & LIMITS)
        for part in parts_of(side)
    )


def is_end(side: ast.expr, other: ast.expr) -> bool:
    """Whether a side is 0 or 1 and the other one an estimate, which is to lie between these."""
    estimates = any(name_of(part) in ESTIMATES for part in parts_of(other))
    return estimates and isinstance(side, ast.Constant) and side.value in (0, 1)


def bare_comparisons(tree: ast.Module, modules: Mapping[str, set[str]]) -> list[str]:
    """Comparisons with a limit that are not those of ``core/verdicts.py``, and numbers that are rounded up."""
    constants, nodes = limits_of(tree, modules), [*ast.walk(tree)]
    refusing = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)
        if any(name_of(one) in REFUSES for one in ast.walk(node.body[-1]))
        for inner in ast.walk(node.test)
    }
    rounded = [node for node in nodes if isinstance(node, ast.Call) and name_of(node.func) == "ceil"]
    compared = [node for node in nodes if isinstance(node, ast.Compare) and isinstance(node.ops[0], ORDERS)]
    bare = [node for node in compared if id(node) not in refusing and has_limit(node, constants)]
    return [ast.unparse(node) for node in (*rounded, *bare)]


def has_limit(node: ast.Compare, constants: set[str]) -> bool:
    """Whether a comparison is with a limit, or of an estimate with 0 or 1; not one of the length of a list."""
    sides = [node.left, *node.comparators]
    if any(isinstance(side, ast.Call) and name_of(side.func) == "len" for side in sides):
        return False
    ends = (is_end(one, other) or is_end(other, one) for one, other in pairwise(sides))
    return any(is_limit(side, constants) for side in sides) or any(ends)


def test_no_bare_comparison_of_a_computed_number_with_a_limit(root: Path) -> None:
    house = root / "src/maskwell"
    files = {path.relative_to(house).as_posix(): path for path in house.rglob("*.py")}
    rooms = {name: path for name, path in files.items() if name.startswith(DECIDING_ROOMS)}
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in rooms.items()}
    modules = {f"maskwell.{name[:-3].replace('/', '.')}": constants_of(tree) for name, tree in trees.items()}
    searched = {name: tree for name, tree in trees.items() if not name.startswith(SEARCHES)}
    found = {(name, one) for name, tree in searched.items() for one in bare_comparisons(tree, modules)}
    bare = sorted(f"{name}: {comparison}" for name, comparison in found - NOT_VERDICTS)
    assert not bare, f"use at_most, below, at_least, above or ceil_of of core/verdicts.py: {bare}"
    assert sorted(NOT_VERDICTS - found) == []


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ("NOTED = 0.5\nkept = gain >= NOTED", ["gain >= NOTED"]),
        ("A, B = 1, Fraction(1, 20)\nkept = more <= B", ["more <= B"]),
        ("kept = risk <= float(plan.match) + SLACK", ["risk <= float(plan.match) + SLACK"]),
        ("few = smallest * limit < 1", ["smallest * limit < 1"]),
        ("sparse = (expected < 5).mean() > 0.2", ["(expected < 5).mean() > 0.2"]),
        ("inside = (pi_hat > 0) & (estimate.pi_hat < 1)", ["pi_hat > 0", "estimate.pi_hat < 1"]),
        ("n = math.ceil(n * (margin / M) ** 2)", ["math.ceil(n * (margin / M) ** 2)"]),
        ("if value > bound:\n    raise InfeasibleError(text)", ["value > bound"]),
        ("if value > bound:\n    raise ParameterError(text)", []),
        ("kept = at_most(risk, plan.match)\nfew = below(gain, 0.5)\nn = ceil_of(x)", []),
        ("FEW = 5\nROUNDING = 1e-12\nfew = n < FEW or abs(x - y) <= ROUNDING or len(x) > limit", []),
    ],
)
def test_a_bare_comparison_is_recognised(source: str, bare: list[str]) -> None:
    assert bare_comparisons(ast.parse(source), {}) == bare


def test_a_constant_of_another_module_is_recognised() -> None:
    tree = ast.parse("from maskwell.other import LEAST\nkept = part < LEAST")
    assert bare_comparisons(tree, {"maskwell.other": {"LEAST"}}) == ["part < LEAST"]
    assert bare_comparisons(tree, {"maskwell.other": constants_of(ast.parse("LEAST = 9"))}) == []
