"""Optimizer steps per second, ddpd against torchrun + DistributedDataParallel, alternating, best of each side's rounds.

steps_per_second.py [mlp] [text-encoder]    (default: both)
"""

import sys
import tempfile

import common

ROUNDS = {"mlp": 3, "text-encoder": 1}


def bench(daemon, name, ours, kind, batch, steps, plain_steps):
    best_ours = best_plain = 0.0
    for _ in range(ROUNDS[name]):
        job = daemon.train(*ours, "--nproc", 2, "--batch-size", batch, "--valid", "none", "--max-steps", steps + common.WARM_UP)
        best_ours = max(best_ours, daemon.steps_per_second(job))
        best_plain = max(best_plain, common.torchrun(kind, plain_steps, batch)[1])
    print(f"{name:<14} global batch {batch:>5}, 2 ranks: ddpd {best_ours:9.3f} steps/s   torchrun + DDP {best_plain:9.3f} steps/s   "
          f"ratio {best_ours / best_plain:6.2f}", flush=True)


def main():
    names = sys.argv[1:] or ["mlp", "text-encoder"]
    with common.Ddpd() as daemon, tempfile.TemporaryDirectory() as folder:
        if "mlp" in names:
            data = common.mlp_csv(folder)
            bench(daemon, "mlp", ("--mode", "finetune", "--epochs", 1000, "--model-option", "hidden=256,256", *data), "mlp", 128, 3000, 1000)
        if "text-encoder" in names:
            bench(daemon, "text-encoder", ("--mode", "pretrain",), "text-encoder", 4096, 12, 4)


main()
