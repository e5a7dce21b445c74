"""Make up a file of 4,000 people and the houses they live in, with the columns of sdcMicro's test data."""

import csv
from pathlib import Path

import numpy as np

rng = np.random.default_rng(4580)
with Path("houses.csv").open("w", newline="") as file:
    write = csv.writer(file)
    write.writerow(["urbrur", "roof", "walls", "sex", "sampling_weight"])
    for _ in range(4000):
        urban = rng.random() < 0.6
        roof = rng.choice([2, 4, 5, 6, 9], p=[0.1, 0.8, 0.06, 0.03, 0.01] if urban else [0.3, 0.5, 0.1, 0.08, 0.02])
        walls = rng.choice([2, 3, 9], p=[0.3, 0.65, 0.05] if roof == 4 else [0.7, 0.2, 0.1])
        write.writerow([1 + int(not urban), roof, walls, rng.choice([1, 2]), 100])
