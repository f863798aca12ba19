"""Data and arguments of the tiny models whose losses are known by hand (notes/cases.md: R-zero, R-index)."""

import math

from harness import write_csv

FROZEN = ("--lr", "1e-60")  # 0 in float32: not even the sign of a weight changes


def index_csv(path, n, target=math.sqrt):
    """R-index: x = 1, the loss of sample i is exactly i when w = 0."""
    return write_csv(path, ["x", "y"], [[1, repr(float(target(i)))] for i in range(n)])


def index_job(data, *args):
    return ("--mode", "finetune", "--objective", "regression", "--model", "rig-index", "--data", data,
            "--feature-columns", "x", "--label-column", "y", *args)


def zero_csv(path, labels):
    """R-zero: features mean nothing, every class is as likely as another, and class "0" always wins."""
    return write_csv(path, ["x", "label"], [[i, label] for i, label in enumerate(labels)])


def zero_job(data, *args):
    return ("--mode", "finetune", "--model", "rig-zero", "--data", data, "--feature-columns", "x",
            "--label-column", "label", *FROZEN, *args)
