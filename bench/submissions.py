"""Respondents in a process of their own: many connections, each sending one submission after the other.

    python -m bench.submissions http://127.0.0.1:8750 CODE FINGERPRINT [--seconds 60] [--connections 64]

The survey is the example that maskwell brings: sixteen different reports, and the first digit of a submission's random
id says which of them it holds. So whoever reads the database can check what must stand under an id.

With ``--persist`` a respondent who gets no acknowledgement sends the same submission again, as the page does, until it
has one; ``--journal`` writes down the ids that were acknowledged. SIGTERM ends it before its time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import time
from pathlib import Path
from urllib.parse import urlsplit

REPORTS = [{"hours": i >> 3, "cash": i >> 1 & 3, "declared": i & 1} for i in range(16)]
CONTENTS = [f"{i >> 3},{i >> 1 & 3},{i & 1}" for i in range(16)]
_PATIENCE = 0.05
_FINISH = 60


class Crowd:
    """What all respondents share: the bodies they send, and what became of them."""

    def __init__(self, host: str, code: str, fingerprint: str, *, persist: bool = False) -> None:
        self.persist = persist
        self.running = True
        self.times: list[float] = []
        self.accepted: list[bytes] = []
        self.failures: dict[str, int] = {}
        heads = [_head(host, code, fingerprint, reports) for reports in REPORTS]
        self._parts = {f"{i:x}".encode(): head for i, head in enumerate(heads)}
        self._ids = b""

    def fresh(self) -> bytes:
        """An id that nobody had before."""
        if not self._ids:
            self._ids = os.urandom(16 * 1024).hex().encode()
        key, self._ids = self._ids[:32], self._ids[32:]
        return key

    def request(self, key: bytes) -> bytes:
        """What is sent for an id."""
        before, after = self._parts[key[:1]]
        return before + key + after

    def failed(self, why: str) -> None:
        """Count what was no acknowledgement."""
        self.failures[why] = self.failures.get(why, 0) + 1


def _head(host: str, code: str, fingerprint: str, reports: dict[str, int]) -> tuple[bytes, bytes]:
    before, after = '{"id":"', f'","survey":"{fingerprint}","reports":{json.dumps(reports, separators=(",", ":"))}}}'
    head = (
        f"POST /api/surveys/{code}/reports HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(before) + 32 + len(after)}\r\n\r\n"
    )
    return (head + before).encode(), after.encode()


class Respondent(asyncio.Protocol):
    """One connection: sends, waits for the answer, sends the next."""

    def __init__(self, crowd: Crowd, key: bytes, ended: asyncio.Future[bytes | None]) -> None:
        self.crowd, self.key, self.ended = crowd, key, ended
        self.answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._send()

    def _send(self) -> None:
        self.began = time.perf_counter()
        self.transport.write(self.crowd.request(self.key))

    def data_received(self, data: bytes) -> None:
        """An answer, or a part of one."""
        self.answer = self.answer + data if self.answer else data
        if not _is_whole(self.answer):
            return
        status, self.answer = self.answer[9:12], b""
        if status != b"200":
            self.crowd.failed(status.decode())
            self.transport.close()
            return
        self.crowd.times.append(time.perf_counter() - self.began)
        self.crowd.accepted.append(self.key)
        self.key = b""
        if self.crowd.running:
            self.key = self.crowd.fresh()
            self._send()
        else:
            self.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell what is still without an answer."""
        if not self.ended.done():
            self.ended.set_result(self.key or None)


def _is_whole(answer: bytes) -> bool:
    head, separator, body = answer.partition(b"\r\n\r\n")
    if not separator:
        return False
    at = head.lower().find(b"content-length:") + 15
    return len(body) >= int(head[at:].partition(b"\r\n")[0])


async def _respond(crowd: Crowd, host: str, port: int, until: float) -> None:
    """Connect, and connect again while the service is away."""
    loop = asyncio.get_running_loop()
    key: bytes | None = None
    while crowd.running or (key is not None and time.perf_counter() < until + _FINISH):
        key = key or crowd.fresh()
        ended: asyncio.Future[bytes | None] = loop.create_future()
        try:
            await loop.create_connection(lambda key=key, ended=ended: Respondent(crowd, key, ended), host, port)  # type: ignore[misc]
            key = await ended
        except OSError:
            await asyncio.sleep(_PATIENCE)
        if key is not None:
            crowd.failed("connection")
            if not crowd.persist:
                key = None
                await asyncio.sleep(_PATIENCE)


async def send(crowd: Crowd, host: str, port: int, seconds: float, connections: int) -> float:
    """Let them send for some seconds; how long it took."""
    began = time.perf_counter()
    loop = asyncio.get_running_loop()
    loop.call_later(seconds, setattr, crowd, "running", False)
    loop.add_signal_handler(signal.SIGTERM, setattr, crowd, "running", False)
    await asyncio.gather(*(_respond(crowd, host, port, began + seconds) for _ in range(connections)))
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("code")
    parser.add_argument("fingerprint")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--persist", action="store_true")
    parser.add_argument("--journal", type=Path)
    args = parser.parse_args()
    place = urlsplit(args.address)
    crowd = Crowd(place.netloc, args.code, args.fingerprint, persist=args.persist)
    sending = send(crowd, str(place.hostname), int(place.port or 80), args.seconds, args.connections)
    seconds = _run(sending)
    if args.journal is not None:
        args.journal.write_bytes(b"\n".join(crowd.accepted))
    print(json.dumps(_summary(crowd, seconds)))


def _run(sending: object) -> float:
    try:
        import uvloop
    except ImportError:
        return asyncio.run(sending)  # type: ignore[arg-type]
    return uvloop.run(sending)  # type: ignore[arg-type]


def _summary(crowd: Crowd, seconds: float) -> dict[str, object]:
    times = sorted(crowd.times) or [float("nan")]
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "accepted": len(crowd.accepted),
        "seconds": seconds,
        "p50": times[len(times) // 2],
        "p99": times[int(len(times) * 0.99)],
        "longest": times[-1],
        "failures": crowd.failures,
        "cpu": used.ru_utime + used.ru_stime,
    }


if __name__ == "__main__":
    main()
