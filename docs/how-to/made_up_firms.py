"""Make up 300 managers of 60 firms: whether they paid bribes, before anyone answers."""

import csv
import sys

import numpy as np

rng = np.random.default_rng(11)
write = csv.writer(sys.stdout, lineterminator="\n")
write.writerow(["bribe", "firm", "region", "sector", "weight"])
for firm in range(60):
    region, leaning = ["north", "south"][firm % 2], rng.normal(0, 0.12)
    for manager in range(5):
        sector = "building" if manager % 2 == 0 else "trade"
        paid = rng.random() < 0.3 + leaning + 0.1 * (sector == "building")
        bribe = "never" if not paid else "often" if rng.random() < 0.35 else "once"
        write.writerow([bribe, firm, region, sector, 2 + firm % 3])
