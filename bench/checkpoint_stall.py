"""How long a training step waits for a checkpoint of the text encoder with Adam's moments (30 MB): ddpd's asynchronous save
(checkpoint_stall.cc: the copy), the same when waited for (on the disk, synced, with checksums), and torch.save, as it is and synced,
all of them to the same disk. Medians.

checkpoint_stall.py [--quick]    (--quick: three rounds)
"""

import os
import pathlib
import statistics
import tempfile
import time

import torch

import common
import plain_models


def trained():
    """The state after one step, so that no moment is zero."""
    torch.manual_seed(0)
    model = plain_models.TextEncoder("mlm")
    optimizer = torch.optim.Adam(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    optimizer.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def torch_save(state, path, sync):
    start = time.perf_counter()
    with open(path, "wb") as file:
        torch.save(state, file)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    return 1000 * (time.perf_counter() - start)


def main():
    rounds = 3 if common.quick_asked() else 15
    torch.set_num_threads(1)
    state = trained()
    # Beside the tree, since /tmp may be memory.
    with tempfile.TemporaryDirectory(dir=common.ROOT / "build", prefix="bench.") as name:
        folder = pathlib.Path(name)
        (folder / "checkpoints").mkdir()
        ours = common.google_benchmark("bench_checkpoint_stall", folder / "checkpoints", f"--benchmark_repetitions={rounds}")
        times = {"ddpd, asynchronous": ours["async/iterations:1/manual_time_median"]["real_time"],
                 "ddpd, blocking": ours["blocking/iterations:1/manual_time_median"]["real_time"]}
        for label, sync in (("torch.save", False), ("torch.save, synced", True)):
            # A new file each time, as a script that keeps its checkpoints writes them.
            times[label] = statistics.median(torch_save(state, folder / f"{i}.{sync}.pt", sync) for i in range(rounds))
    stall = times["ddpd, asynchronous"]
    print("milliseconds that a step waits, and the asynchronous save's share of it")
    for label, time_ms in times.items():
        print(f"{label:<22}{time_ms:>10.2f} {100 * stall / time_ms:>8.1f} %")


main()
