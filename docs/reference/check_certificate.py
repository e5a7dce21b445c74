"""Check a maskwell certificate with nothing but the standard library: python check_certificate.py C.json

P[i][j] is the chance of report i when the truth is j; parity is the largest ratio of two entries of a row of P. Every
claim is worked out from the integers of the design and compared, letter by letter, with what the file says.
"""

# fmt: off
import hashlib, json, math, re, sys
from decimal import MAX_EMAX, MIN_EMIN, Context
from fractions import Fraction as F
from itertools import pairwise

LANGUAGES = ["gamma", "beta", "bayes_factor", "epsilon"]
PARTS = {"certificate": "claims design maskwell seal version", "rho": "closed language rho1 rho2",
         "design": "exact inputs kind maskwell outputs version",
         "dense": "columns denominators", "mixture": "denominator fixed truth", "uniform": "denominator truth",
         "subset": "denominator include size", "l-diverse": "size", "unary": "denominator flip keep",
         "patterns": "denominator inside outside sets weights", "kronecker": "factors"}

def need(fact, words):
    if not fact: raise ValueError(words)
def has(x, name): return sorted(x) == PARTS[name].split()
def write(x): return json.dumps(x, sort_keys=True, separators=(",", ":"))
def digest(x, *left_out):
    return "sha256:" + hashlib.sha256(write({key: x[key] for key in x if key not in left_out}).encode()).hexdigest()
def genuine(d): return "provenance" in d and d["fingerprint"] == digest(d, "fingerprint", "provenance")
def read(text):
    need(re.fullmatch("[0-9]+(/[0-9]+)?", text) and str(F(text)) == text, f"{text[:30]!r} is not in lowest terms")
    return F(text)
def share(d, key): return read(d["exact"][key]) / read(d["exact"]["denominator"])
def count(d, side="inputs"):  # how many truths there are, or ("outputs") reports that are no sets
    if d["kind"] == "kronecker": return math.prod(count(factor, side) for factor in d["exact"]["factors"])
    labels = d["inputs" if d["kind"] in ("uniform", "mixture") else side]
    return len(range(labels["count"])) if isinstance(labels, dict) else len(labels)

def matrix(d):
    x, k = d["exact"], count(d)
    if d["kind"] == "dense":
        whole = [read(n) for n in x["denominators"]]
        P = [[read(n) / D for n, D in zip(row, whole, strict=True)] for row in zip(*x["columns"], strict=True)]
    elif d["kind"] == "patterns":
        entry = {"0": share(d, "outside"), "1": share(d, "inside")}
        P = [[w * entry[bit] for bit in S] for w, S in zip(map(read, x["weights"]), x["sets"], strict=True)]
    else:
        need(d["kind"] in ("uniform", "mixture"), "this kind of design is not written out here")
        p = share(d, "truth")
        q = [(1 - p) / k] * k if d["kind"] == "uniform" else [read(n) / read(x["denominator"]) for n in x["fixed"]]
        P = [[q[i] + p * (i == j) for j in range(k)] for i in range(len(q))]
    need({len(row) for row in P} == {k} and all(sum(column) == 1 for column in zip(*P)), "a column does not sum to one")
    need(len(P) == count(d, "outputs"), "there are not as many labels as reports")
    return P
def rows(d):  # for every row its name, its distinct entries, rising, and the truths with the largest one
    kind, k = d["kind"], count(d)
    if kind == "unary":  # up to a factor, all sets but the empty and the full one are like those of one category
        r, p = share(d, "flip"), share(d, "keep")
        need(0 < r < p < 1, "a bit is not likelier one for the truth")
        return [({"size": 0}, [F(1)], ()), ({"size": 1}, [(1 - p) * r, p * (1 - r)], ())]
    if kind in ("uniform", "subset", "l-diverse"):  # all sets of q categories alike, the truth in it with chance p
        q, p = 1 if kind == "uniform" else d["exact"]["size"], F(1)
        if kind == "subset": p = share(d, "include")
        if kind == "uniform": p = share(d, "truth") + (1 - share(d, "truth")) / k
        need(type(q) is int and 0 < F(q, k) < p <= 1, "the truth is not named more often than others")
        return [({"size": q}, [(1 - p) * k / (k - q), p * k / q], ())]  # out of the set, in it: the sums over all sets
    return [({"row": i}, sorted(set(row)), tuple(j for j, entry in enumerate(row) if entry == top))
            for i, row in enumerate(matrix(d)) for top in [max(row)]]

def ratio(entries): return F(1) if len(entries) == 1 else entries[-1] / entries[0] if entries[0] else math.inf
def parity(d):
    need(has(set(d) - {"fingerprint", "provenance"}, "design") and has(d["exact"], d["kind"]), "not a design")
    need(write([d["maskwell"], d["version"]]) == '["design",1]', "a design of another version")
    if d["kind"] == "kronecker": return math.prod(map(parity, d["exact"]["factors"]))
    return max(ratio(entries) for _, entries, _ in rows(d))
def admissible(d, level):  # every row takes two values in the ratio of the parity; the smaller one is its weight
    found, groups, impossible = {"exactly": True, "level": str(level)}, {}, []
    if d["kind"] == "kronecker":  # a row of two factors that both say something takes at least three values
        which = [i for i, factor in enumerate(d["exact"]["factors"]) if parity(factor) > 1]
        proof = [admissible(d["exact"]["factors"][i], level) for i in which if len(which) == 1]
        return {**found, "exactly": bool(proof) and proof[0]["exactly"], "factors": which, "proof": proof}
    for name, entries, top in rows(d):
        if entries == [0]: impossible.append(name["row"])
        elif ratio(entries) == level and len(entries) == 2: groups.setdefault(top, []).append((name, entries[0]))
        else:
            fault = {"fails": "C1" if ratio(entries) != level else "C2", "parity": str(ratio(entries))}
            return {**found, "exactly": False, **name, **fault, "values": len(entries)}
    witness = [{**({"rows": [name["row"] for name, _ in group], "set": top} if top else group[0][0]),
                "weight": str(sum(low for _, low in group))} for top, group in groups.items()]
    return {**found, "witness": witness, "impossible": impossible}

def bound(stated):  # what a demand allows, and whether parity must stay below it
    language = stated["language"]
    if language == "rho":
        low, high = read(stated["rho1"]), read(stated["rho2"])
        need(has(stated, "rho") and type(stated["closed"]) is bool and 0 < low < high < 1, "not rho1 < rho2")
        return high * (1 - low) / (low * (1 - high)), stated["closed"]
    need(set(stated) == {"language", language} and language in LANGUAGES, "a demand that is beyond this page")
    if language != "epsilon": return read(stated[language]), False
    x, context = read(stated["epsilon"]), Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
    need(x <= 700, "epsilon is beyond 700")  # e^epsilon to 60 digits, less a margin that covers their rounding:
    return max(F(context.exp(context.divide(x.numerator, x.denominator))) * (1 - (1 + x) / 10**55), F(1)), False
def improves(d, said):  # A = C P: the reports of P, randomized again, are those of the original A
    original, C = said["original"], said["garbling"]
    need(genuine(original) and write(original["inputs"]) == write(d["inputs"]), "not an original with the same truths")
    need(all(a[:2] < b[:2] for a, b in pairwise(C)), "the garbling is not in order")
    A, P = matrix(original), matrix(d)
    made, sums = [[F(0)] * count(d) for _ in A], [F(0)] * len(P)
    for i, u, c in [(i, u, read(c)) for i, u, c in C]:
        need(type(i) is type(u) is int and min(i, u) >= 0 < c, "not an entry of a garbling")
        made[i], sums[u] = [x + c * p for x, p in zip(made[i], P[u])], sums[u] + c
    need(set(sums) == {1} and made == A, "the garbling does not give the original back")
    return {"original": original, "parity": str(parity(original)), "garbling": C}

def claims(d, said):  # the name of each claim, and what it should say
    k, level, size = count(d), parity(d), d["exact"].get("size")
    yield "k", k
    yield "m", f"2^{k}" if d["kind"] == "unary" else f"C({k}, {size})" if size else str(count(d, "outputs"))
    yield "columns_sum_to_one", True  # or there would be no rows
    yield "parity", str(level)
    if d["kind"] == "dense": yield "row_parities", [str(ratio(entries)) for _, entries, _ in rows(d)]
    if "demand" in said:
        gamma, strict = bound(said["demand"]["stated"])
        yield "demand", {"stated": said["demand"]["stated"], "derived": True, "gamma": str(gamma), "strict": strict}
        yield "meets", level < gamma if strict else level <= gamma
    yield "admissible", None if level == math.inf else admissible(d, level)
    if "improves" in said: yield "improves", improves(d, said["improves"])
def check(text):  # whether everything holds, and the demand, if there is one, is met
    c = json.loads(text)
    d, said, form = c["design"], c["claims"], [c["maskwell"], c["version"]]
    found = dict(claims(d, said))
    results = {"text": (json.dumps(c, indent=1, ensure_ascii=False) + "\n" == text, "written in one way only"),
               "form": (has(c, "certificate") and write(form) == '["certificate",1]', form),
               "seal": (c["seal"] == digest(c, "seal"), c["seal"]), "design": (genuine(d), d["fingerprint"])}
    for name in [*found, *said]:
        holds = name in found and name in said and write(said[name]) == write(found[name])
        results[name] = holds, found.get(name, "not a claim")
    for name, (holds, words) in results.items(): print("ok" if holds else "NO", f"{name}: {write(words)}"[:100])
    return all(holds for holds, _ in results.values()) and said.get("meets", True)

if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    try: sys.exit(0 if check(open(sys.argv[1], encoding="utf-8", newline="").read()) else 1)
    except Exception as error: sys.exit(f"NO {type(error).__name__}: {error}")
