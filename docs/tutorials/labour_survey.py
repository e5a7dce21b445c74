"""Make up the file of a labour survey: one row for each person, some of them easy to recognise."""

import csv
from pathlib import Path

import numpy as np

REGIONS = {"north": 0.34, "east": 0.22, "south": 0.36, "islands": 0.08}
AGES = {"15-24": 0.17, "25-34": 0.21, "35-44": 0.21, "45-54": 0.19, "55-64": 0.14, "65+": 0.08}
JOBS = ["office", "trade", "craft", "care", "farming", "transport", "teaching", "medicine", "law", "fishing"]
COMMON = np.array([0.24, 0.2, 0.17, 0.12, 0.08, 0.07, 0.06, 0.03, 0.02, 0.01])
PEOPLE = 5000


def people(rng):
    """One person after the other; jobs depend on region and sex, income on job and age."""
    for number in range(1, PEOPLE + 1):
        region = rng.choice(list(REGIONS), p=list(REGIONS.values()))
        sex = rng.choice(["female", "male"])
        age = rng.choice(list(AGES), p=list(AGES.values()))
        likely = COMMON * np.where(np.array(JOBS) == "fishing", 8.0 if region == "islands" else 0.6, 1.0)
        likely *= np.where(np.isin(JOBS, ["care", "teaching"]), 1.6 if sex == "female" else 0.6, 1.0)
        job = rng.choice(JOBS, p=likely / likely.sum())
        well_paid = 0.15 + 0.3 * (job in {"medicine", "law"}) + 0.1 * (age in {"35-44", "45-54"})
        income = "high" if rng.random() < well_paid else rng.choice(["low", "middle"], p=[0.4, 0.6])
        weight = rng.choice([150, 200, 250])
        yield [number, region, sex, age, job, income, weight]


if __name__ == "__main__":
    with Path("labour.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["person", "region", "sex", "age", "job", "income", "weight"])
        rows.writerows(people(np.random.default_rng(2026)))
