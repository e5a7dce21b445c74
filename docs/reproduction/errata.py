"""Where the sources are to be read differently: what stands there, what is right, and a computed check of each."""

from __future__ import annotations

from docs.reproduction import errata_chai_nayak, errata_nayak_zhai
from docs.reproduction.entries import Erratum


def errata() -> list[Erratum]:
    """E1 to E24."""
    found = [*errata_chai_nayak.errata(), *errata_nayak_zhai.errata()]
    return sorted(found, key=lambda erratum: int(erratum.key[1:]))
