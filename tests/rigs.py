"""Data and arguments of the tiny models whose losses are known by hand (notes/cases.md: R-zero, R-index)."""

import math

import torch
from safetensors.torch import load_file

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


def order(n, epoch=0, seed=0):
    """DistributedSampler's, of all ranks together."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()


def batches(n, batch, epoch=0):
    samples = order(n, epoch)
    return [samples[i : i + batch] for i in range(0, n, batch)]


def model_of(daemon, job, step=None):
    return load_file(daemon.checkpoint(job, step) / "model.safetensors")


def blobs(path, names):
    """Rows of two features that tell their class."""
    generator = torch.Generator().manual_seed(len(names))
    rows = []
    for i in range(60):
        angle = 2 * math.pi * (i % len(names)) / len(names)
        noise = torch.randn(2, generator=generator) * 0.05
        rows.append([math.cos(angle) + noise[0].item(), math.sin(angle) + noise[1].item(), names[i % len(names)]])
    return write_csv(path, ["a", "b", "label"], rows)


def blobs_job(data, *args):
    return ("--mode", "finetune", "--model", "mlp", "--model-option", "hidden=8", "--data", data, "--feature-columns", "a,b", "--label-column",
            "label", "--valid", data, "--batch-size", 20, "--nproc", 2, *args)
