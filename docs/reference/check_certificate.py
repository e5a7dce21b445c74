"""Check a maskwell certificate with nothing but the standard library: python check_certificate.py C.json

P[i][j] is the chance of report i when the truth is j; parity is the largest ratio of two entries of a row. Where a
design treats all k truths alike, a row stands for all sets of a size: its entry in the set, and out of it, summed.
"""
import hashlib, json, math, sys
from decimal import MAX_EMAX, MIN_EMIN, Context
from fractions import Fraction
def F(x): return Fraction(x if set(x) <= set("0123456789/") else "other signs than digits")  # not even a minus
def text(x): return json.dumps(x, sort_keys=True, separators=(",", ":"), allow_nan=False)
def digest(x, *out): return "sha256:" + hashlib.sha256(text({k: x[k] for k in x if k not in out}).encode()).hexdigest()
def size(labels): return labels["count"] if isinstance(labels, dict) else len(labels)
def rows(d, *, whole=False):  # the rows of P by number, or by the size of the sets that they stand for
    kind, x, k = d["kind"] if d["version"] == 1 else None, d["exact"], size(d["inputs"])
    part = {key: F(x[key]) / F(x["denominator"]) for key in x if isinstance(x[key], str)}
    assert type(k) is int and k > 0 and max(part.values(), default=0) <= 1, "no number of truths, or no probability"
    if kind == "unary":  # up to a factor; every set but the empty and the full one is like a set of one
        return {0: [1], 1: [part["keep"] * (1 - part["flip"]), (1 - part["keep"]) * part["flip"]]}
    if kind in ("subset", "l-diverse") or (kind == "uniform" and not whole):  # the set holds the truth with chance p
        q = d["outputs"]["sets"]["size"] if kind != "uniform" else 1
        p = part["include"] if kind == "subset" else Fraction(kind != "uniform") or (1 + (k - 1) * part["truth"]) / k
        assert type(q) is int and 0 < q < k and p * k >= q == x.get("size", 1), "sets of another size"
        return {q: [p * k / q, (1 - p) * k / (k - q)]}
    if kind == "dense":
        P = [[F(n) / F(D) for n, D in zip(r, x["denominators"], strict=True)] for r in zip(*x["columns"], strict=True)]
    elif kind == "patterns":
        side = {"0": part["outside"], "1": part["inside"]}
        P = [[F(w) * side[bit] for bit in S] for w, S in zip(x["weights"], x["sets"], strict=True)]
    elif kind in ("mixture", "uniform"):
        assert k <= 1000, "more than a million entries"
        q = [F(n) / F(x["denominator"]) for n in x["fixed"]] if kind == "mixture" else [(1 - part["truth"]) / k] * k
        P = [[fixed + part["truth"] * (i == j) for j in range(k)] for i, fixed in enumerate(q)]
    assert all(len(row) == k for row in P) and len(P) == size(d["outputs"]), "other numbers of labels"
    assert all(sum(column) == 1 for column in zip(*P)), "a column does not sum to one"
    return dict(enumerate(P))
def ratio(row): return 1 if min(row) == max(row) else max(row) / min(row) if min(row) else math.inf
def parity(d):
    if d["kind"] != "kronecker": return max(map(ratio, rows(d).values()))
    every, labels = [*map(parity, d["exact"]["factors"])], text([d["version"], d["inputs"], d["outputs"]])
    assert every and labels == text([1, *[{"product": len(every)}] * 2]), "no product of designs"
    return math.inf if math.inf in every else math.prod(every)
def bound(stated):  # what a demand allows
    if stated["language"] == "rho":
        low, high = F(stated["rho1"]), F(stated["rho2"])
        assert 0 < low < high < 1 and len(stated) == 4 and type(stated["closed"]) is bool, "no such demand"
        return high * (1 - low) / (low * (1 - high))
    assert stated["language"] in ("gamma", "beta", "bayes_factor", "epsilon") and len(stated) == 2, "no such demand"
    x, context = F(stated[stated["language"]]), Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
    if stated["language"] != "epsilon": return x
    assert x <= 700, "e^epsilon is too large"
    return max(Fraction(1), Fraction(context.exp(context.divide(x.numerator, x.denominator))) * (1 - (1 + x) / 10**55))
def admissible(d, level):  # every row that can occur takes two values: a weight, and level times it on a set of truths
    P, sized, groups = rows(d), d["kind"] in ("uniform", "subset", "l-diverse", "unary"), {}
    for i, row in P.items():
        if any(row) and (ratio(row), len(set(row))) != (level, 2):
            fails = {"fails": "C1" if ratio(row) != level else "C2", "parity": str(ratio(row)), "values": len(set(row))}
            return {"exactly": False, "level": str(level), "size" if sized else "row": i, **fails}
        if top := max(row): groups.setdefault(tuple(j for j, entry in enumerate(row) if entry == top), []).append(i)
    witness = [{"size": same[0]} if sized else {"rows": same, "set": S} for S, same in groups.items()]
    witness = [{**one, "weight": str(sum(min(P[i]) for i in one.get("rows", P)))} for one in witness]
    return {"exactly": True, "level": str(level), "witness": witness, "impossible": [i for i in P if not any(P[i])]}
def improves(d, said):  # A = C P: the reports of the original A are those of this design, randomized once more
    A, P, C = rows(said["original"], whole=True), rows(d, whole=True), said["garbling"]
    made, sums = {i: [0] * len(A[0]) for i in A}, dict.fromkeys(P, 0)
    for i, u, c in C:
        assert type(i) is type(u) is int and F(c) > 0, "no entry of a matrix"
        made[i], sums[u] = [x + F(c) * p for x, p in zip(made[i], P[u], strict=True)], sums[u] + F(c)
    assert made == A and set(sums.values()) == {1}, "C P is not the original"
    assert said["original"]["fingerprint"] == digest(said["original"], "fingerprint", "provenance"), "another original"
    assert text(d["inputs"]) == text(said["original"]["inputs"]), "other truths"
    return {"original": said["original"], "parity": str(parity(said["original"])), "garbling": C}
def claims(d, said):  # what a certificate of this design and this demand must say
    level, products = parity(d), d["kind"] == "kronecker"
    yield "parity", str(level)
    if "demand" in said:
        stated, declared = said["demand"]["stated"], said.get("slack", {}).get("given_as_decimals", [])
        gamma, strict = bound(stated), stated.get("closed", False)
        yield "demand", {"stated": stated, "derived": True, "gamma": str(gamma), "strict": strict}
        given = ["design"] * (d["provenance"].get("given") == "decimals") + ["demand"] * ("demand" in declared)
        slack = Fraction(1, 10**9) if given and level > gamma and not strict else 0  # only where it is needed
        yield "meets", (meets := level < gamma if strict else level <= gamma * (1 + slack))
        if slack and meets: yield "slack", {"relative": str(slack), "given_as_decimals": given}
    yield "admissible", None if level == math.inf or products else admissible(d, level)
    if "improves" in said: yield "improves", improves(d, said["improves"])
def check(written):
    c = json.loads(written)
    d, found = c["design"], dict(claims(c["design"], c["claims"]))
    form = __debug__ and text([c["maskwell"], c["version"], len(c), d["version"]]) == '["certificate",1,5,1]'
    yield "form", form and json.dumps(c, indent=1, ensure_ascii=False) + "\n" == written
    yield "seal", c["seal"] == digest(c, "seal")
    yield "fingerprint", d["fingerprint"] == digest(d, "fingerprint", "provenance")
    assert set(c["claims"]) == set(found), "other claims than these"
    for name, said in c["claims"].items(): yield f"{name}: {said}"[:97], text(said) == text(found[name])
    if "demand" in found: yield "the demand is met", found["meets"]
if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    try: results = list(check(open(sys.argv[1], encoding="utf-8", newline="").read()))
    except Exception as error: sys.exit(f"NO {type(error).__name__}: {error}")
    for name, holds in results: print("ok" if holds else "NO", name)
    sys.exit(not all(holds for _, holds in results))
