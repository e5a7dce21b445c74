"""What runs in the environment of another library: it randomizes and estimates as its own documentation shows.

    python peer_programs.py LIBRARY JOB codes.npy K EPSILON

prints one JSON object: seconds of randomizing, rows, and the estimated shares, where the library has an estimator.
Nothing of maskwell is imported here.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Result = tuple[float, "Any"]


def timed(randomize: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    reports = randomize()
    return time.perf_counter() - start, reports


def multi_freq_ldpy(job: str, codes: Any, k: int, epsilon: float) -> Result:
    """One compiled call for each row, as in its examples."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, SS, UE

    client, aggregator = {
        "k-ary": (lambda x: GRR.GRR_Client(x, k, epsilon), lambda r: GRR.GRR_Aggregator_MI(r, k, epsilon)),
        "subset": (lambda x: SS.SS_Client(x, k, epsilon), lambda r: SS.SS_Aggregator_MI(r, k, epsilon)),
        "unary": (
            lambda x: UE.UE_Client(x, k, epsilon, True),
            lambda r: UE.UE_Aggregator_MI(np.array(r), epsilon, True),
        ),
    }[job]
    client(0)  # Numba compiles at the first call
    seconds, reports = timed(lambda: [client(x) for x in codes])
    return seconds, aggregator(reports)


def pure_ldp(job: str, codes: Any, k: int, epsilon: float) -> Result:
    """Categories from 1; a client and a server."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    client, server = {
        "k-ary": lambda: (DEClient(epsilon, k), DEServer(epsilon, k)),
        "unary": lambda: (UEClient(epsilon, k, True), UEServer(epsilon, k, True)),
    }[job]()
    ones = [int(x) + 1 for x in codes]
    seconds, reports = timed(lambda: [client.privatise(x) for x in ones])
    for report in reports:
        server.aggregate(report)
    return seconds, np.asarray(server.estimate_all(range(1, k + 1))) / len(codes)


def opendp(job: str, codes: Any, k: int, epsilon: float) -> Result:
    """Exact and secure, one value at a time; it has no estimator for categories."""
    import opendp.prelude as dp

    assert job == "k-ary"
    dp.enable_features("contrib")
    keep = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    measurement, values = dp.m.make_randomized_response(list(range(k)), keep), codes.tolist()
    seconds, _ = timed(lambda: [measurement(x) for x in values])
    return seconds, None


LIBRARIES = {"multi-freq-ldpy": multi_freq_ldpy, "pure-ldp": pure_ldp, "opendp": opendp}


def main(library: str, job: str, path: str, k: str, epsilon: str) -> None:
    codes = np.load(path)
    seconds, shares = LIBRARIES[library](job, codes, int(k), float(epsilon))
    told = None if shares is None else np.asarray(shares, float).tolist()
    print(json.dumps({"seconds": seconds, "rows": len(codes), "shares": told}))


if __name__ == "__main__":
    main(*sys.argv[1:])
