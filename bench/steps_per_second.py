"""Optimizer steps per second: ddpd, torchrun + DistributedDataParallel, and the same script tuned by hand with ddpd's tricks.

steps_per_second.py [WORKLOAD ...] [--quick]    (default: all; --quick: three small steps each, to see that everything runs)

The three sides take turns, and of each side its best round counts: a third program can only take time away. The last column is the
loss of one and the same step on each side: they learn alike.
"""

import argparse
import pathlib
import tempfile
from dataclasses import dataclass, replace

import common


@dataclass
class Workload:
    kind: str  # of plain_ddp.py
    batch: int  # global
    rounds: int
    warm_up: int  # steps that are not measured
    steps: tuple  # measured: ddpd, plain, tuned
    ours: tuple  # flags of `ddpctl submit`
    data: str = ""  # for plain_ddp.py, in the temporary folder
    bf16: bool = False  # ddpd and tuned; plain stays as it is

    def train(self, daemon, steps):
        """The id of ddpd's job, after that many steps."""
        return daemon.train(*common.STEPS_ONLY, *self.ours, "--batch-size", self.batch, "--max-steps", steps)


# The objective of DESIGN's figures, and the default one, whose vocabulary of 16,384 logits is half of its arithmetic.
EMBEDDING = ("--mode", "pretrain", "--objective", "embedding")
MLM = ("--mode", "pretrain", "--objective", "mlm")
IMAGES = ("--mode", "finetune", "--data", "fashion-mnist")


def workloads(folder, quick=False):
    """By name; quick: of small batches."""
    known = {
        "mlp small": Workload("mlp-small", 128, 3, 20, (1000, 800, 800), ("--model-option", "hidden=256,256", *common.numbers(folder)), "."),
        "mlp large": Workload("mlp-large", 512, 3, 10, (150, 150, 150), ("--model-option", "hidden=1024,1024", *common.numbers(folder)), "."),
        "text-encoder": Workload("text-encoder", 4096, 2, 1, (12, 3, 6), EMBEDDING),
        "text-encoder bf16": Workload("text-encoder", 4096, 1, 1, (12, 3, 6), (*EMBEDDING, "--precision", "bf16"), bf16=True),
        "text-encoder mlm": Workload("text-encoder-mlm", 4096, 2, 1, (12, 3, 6), MLM),
        "text mlm bf16": Workload("text-encoder-mlm", 4096, 1, 1, (12, 3, 6), (*MLM, "--precision", "bf16"), bf16=True),
        "convnet": Workload("convnet", 4096, 2, 1, (8, 4, 6), (*IMAGES, "--model", "convnet")),
        "resnet18": Workload("resnet18", 64, 2, 1, (8, 5, 5), (*IMAGES, "--model", "resnet18")),
        "gpt small": Workload("gpt", 16, 2, 1, (8, 4, 4), ("--mode", "pretrain", "--model", "gpt", "--data", folder / "tokens.bin"),
                              "tokens.bin"),
    }
    return {name: replace(one, batch=min(one.batch, 64)) for name, one in known.items()} if quick else known


def ours(daemon, workload, steps):
    """(steps per second by the times of the steps after the warm-up, losses of all steps)"""
    losses = daemon.losses(workload.train(daemon, steps + workload.warm_up))
    times = [time for time, _ in losses][workload.warm_up - 1 :]
    return (len(times) - 1) / (times[-1] - times[0]), [loss for _, loss in losses]


def bench(daemon, folder, name, workload, quick):
    steps = (3, 3, 3) if quick else workload.steps
    data = folder / workload.data if workload.data else None

    def python(steps, **more):
        result = common.torchrun(workload.kind, workload.batch, steps, data, workload.warm_up, **more)
        return result["steps_per_second"], result["losses"]

    sides = (lambda: ours(daemon, workload, steps[0]), lambda: python(steps[1]),
             lambda: python(steps[2], tuned=True, bf16=workload.bf16))
    rounds = [[side() for side in sides] for _ in range(1 if quick else workload.rounds)]
    best = [max(rate for rate, _ in results) for results in zip(*rounds)]
    at = min(steps) + workload.warm_up
    losses = "/".join(f"{losses[at - 1]:.3f}" for _, losses in rounds[0])
    print(f"{name:<18}{workload.batch:>6} {best[0]:>10.3f} {best[1]:>10.3f} {best[2]:>10.3f} {best[0] / best[1]:>10.2f} "
          f"{best[0] / best[2]:>10.2f}   {losses} at {at}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    with common.Ddpd() as daemon, tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # So many that no epoch ends while the clock runs: ddpd would save a checkpoint, and the script none.
        common.write_numbers(folder, 140000)
        common.write_tokens(folder / "tokens.bin", 1 << 20)
        known = workloads(folder, args.quick)
        if unknown := set(args.workloads) - set(known):
            parser.error(f"no workload {', '.join(sorted(unknown))}; known: {', '.join(known)}")
        print(f"steps/s, {common.RANKS} ranks, batch is global")
        print(f"{'':<18}{'batch':>6} {'ddpd':>10} {'plain':>10} {'tuned':>10} {'ddpd/plain':>10} {'ddpd/tuned':>10}   loss of a step")
        for name in args.workloads or known:
            bench(daemon, folder, name, known[name], args.quick)


if __name__ == "__main__":
    main()
