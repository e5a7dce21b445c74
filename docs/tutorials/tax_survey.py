"""Make up a survey about tax evasion: people in sampled towns answer by dice; only their reports are written down."""

import csv
from pathlib import Path

import numpy as np

import maskwell as mw

TOWNS = {"north": 400, "east": 250, "south": 600, "west": 150}  # towns in each region; 25 of them are visited
PEOPLE = 12  # asked in each town


def interviews(dice, rng):
    """One row for each respondent."""
    sampler = dice.sampler(mw.SeededRandom(7))  # an example that comes out the same every time; NOT PRIVATE
    for region, towns in TOWNS.items():
        for town in range(25):
            habit, residents = rng.normal(0, 0.4), rng.integers(500, 1300)  # towns differ
            for _ in range(PEOPLE):
                age, own_business = rng.integers(18, 80), rng.random() < 0.2
                odds = np.exp(-2.0 + 1.2 * own_business - 0.02 * (age - 45) + habit)
                evaded = rng.random() < odds / (1 + odds)  # the true answer never leaves this program
                report = dice.outputs.labels[sampler.sample(np.array([0 if evaded else 1])).data[0]]
                weight = round(towns / 25 * residents / PEOPLE, 1)
                work = "self-employed" if own_business else "employed"
                yield [region, towns, town, residents, weight, age, work, report]


if __name__ == "__main__":
    with Path("answers.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["region", "towns", "town", "residents", "weight", "age", "work", "report"])
        rows.writerows(interviews(mw.load_design("tax.json"), np.random.default_rng(2026)))
