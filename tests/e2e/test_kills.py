"""Fifty kills at random moments: the run is that of a run without them, bit for bit."""

import os
import random
import signal
import time

from harness import poll

SLOTS = 2
STEPS = 3000
JOB = ("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--limit", 2048, "--batch-size", 128, "--epochs",
       1000, "--max-steps", STEPS, "--model-option", "hidden=64", "--model-option", "dropout=0.5", "--valid", "none",
       "--schedule", "cosine", "--warmup", 50, "--clip", 1, "--nproc", 2, "--checkpoint-every", 7, "--max-restarts", 60)
KILLS = 50


def training(daemon, job, attempt):
    """The attempt when it trains (its processes are then all there)."""
    found = daemon.job(job)
    attempts = found["attempts"]
    assert found["state"] not in ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"), f"ended after {len(attempts)} attempts"
    if len(attempts) == attempt and len(attempts[-1].get("worker_pids", [])) == 2 and attempts[-1].get("first_step_time"):
        return attempts[-1]
    return None


def being_written(folder, seconds=2.0):
    """Waits for a checkpoint in the making."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if any(name.startswith(".tmp-") for name in os.listdir(folder)):
            return True
    return False


def test_fifty_kills(daemon):
    reference = daemon.train(*JOB)
    job = daemon.submit(*JOB)
    folder = daemon.home / "jobs" / job / "checkpoints"
    chance = random.Random(20261202)
    kinds = {"rank 0": 0, "rank 1": 0, "runner": 0, "rank 0 while it saves": 0}
    for kill in range(KILLS):
        attempt = poll(lambda: training(daemon, job, kill + 1), f"attempt {kill + 1} trains")
        kind = list(kinds)[kill % 4]
        if kind == "rank 0 while it saves":
            assert being_written(folder)
        else:
            time.sleep(chance.uniform(0, 0.1))  # the random moment
        pid = attempt["runner_pid"] if kind == "runner" else attempt["worker_pids"][1 if kind == "rank 1" else 0]
        os.kill(int(pid), signal.SIGKILL)
        kinds[kind] += 1
        poll(lambda: len(daemon.job(job)["attempts"]) > kill + 1, f"another attempt after kill {kill + 1} ({kind})")
    assert daemon.wait(job) == "SUCCEEDED"
    assert min(kinds.values()) >= KILLS // 4
    for series in ("loss", "grad_norm", "lr", "acc", "train_loss"):
        assert daemon.metrics(job, series) == daemon.metrics(reference, series), series
    assert [step for step, _ in daemon.metrics(job, "loss")] == list(range(1, STEPS + 1))
    for name in ("model.safetensors", "optimizer.safetensors", "state.json"):
        assert (daemon.checkpoint(job) / name).read_bytes() == (daemon.checkpoint(reference) / name).read_bytes(), name
