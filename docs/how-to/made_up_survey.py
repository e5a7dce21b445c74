"""Make up a survey of 2,000 people: what is true of them, before anyone answers."""

import csv
import math
import sys

import numpy as np

rng, answer = np.random.default_rng(7), ["no", "yes"]
write = csv.writer(sys.stdout, lineterminator="\n")
write.writerow(["evades", "age", "region", "cash", "district", "weight"])
for person in range(2000):
    district = person // 40
    age, cash = round(20 + 50 * rng.random()), rng.random() < 0.3
    region = ["north", "south"][district % 2]
    odds = math.exp(-1.6 + 1.2 * cash + 0.5 * (region == "south") - 0.01 * (age - 45))
    evades = rng.random() < odds / (1 + odds)
    write.writerow([answer[evades], age, region, answer[cash], district, 1 + person % 3])
