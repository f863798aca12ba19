"""C and D of notes/cases.md: schedules and samples across a resume, which checkpoint it takes; docs/cases.md lists all cases."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from harness import BIN, alive, poll
from rigs import FROZEN, batches, index_csv, index_job, order

SLOTS = 4


@pytest.fixture(scope="module")
def all_slots(daemon):
    """Arguments of a job that takes all slots and goes on until it is cancelled."""
    return ("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--limit", 8192, "--batch-size", 512, "--epochs", 1000,
            "--valid", "none", "--nproc", SLOTS)


def goes_on_from(daemon, all_slots, folders, *args, expect="SUCCEEDED"):
    """A job with `args` that resumes from copies of `folders`: so a job can go on with other settings, as another number of ranks."""
    blocker = daemon.submit(*all_slots)
    job = daemon.submit(*args)
    daemon.ctl("cancel", job)  # it waits for slots, so it has not begun
    checkpoints = daemon.home / "jobs" / job / "checkpoints"
    for folder in folders:
        shutil.copytree(folder, checkpoints / folder.name)
    daemon.ctl("cancel", "--force", blocker)
    daemon.ctl("resume", job)
    assert daemon.wait(job) == expect, daemon.ctl("logs", job)
    return job


def counted(daemon, job, n, batch):
    """Of R-index with targets 2^i: how often each sample was in a step, by step. The loss of sample i is 4^i, so the sum over a step is a
    number in base 4 whose digits are the counts; in double it is exact for up to 26 samples (with micro-batches of one)."""
    steps = {}
    for step, loss in daemon.metrics(job, "loss"):
        size = len(batches(n, batch)[(step - 1) % math.ceil(n / batch)])
        total = round(loss * size)
        steps[step] = [total >> 2 * i & 3 for i in range(n)]
    return steps


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_c7_another_number_of_ranks_sees_each_remaining_sample_once(daemon, tmp_path, all_slots, ranks):
    data = index_csv(tmp_path / "d.csv", 23, target=lambda i: 2**i)
    args = index_job(data, *FROZEN, "--valid", "none", "--batch-size", 5, "--micro-batch", 1, "--epochs", 2)
    first = daemon.train(*args, "--nproc", 4, "--max-steps", 2)  # ends after 10 of 23 samples, and saves
    assert daemon.checkpoint(first).name == "step-00000002"
    second = goes_on_from(daemon, all_slots, [daemon.checkpoint(first)], *args, "--nproc", ranks)
    assert [int(a["start_step"]) for a in daemon.job(second)["attempts"] if a["worker_pids"]] == [2]
    steps = counted(daemon, first, 23, 5) | counted(daemon, second, 23, 5)
    assert list(steps) == list(range(1, 11))
    right = batches(23, 5, epoch=0) + batches(23, 5, epoch=1)
    assert [[i for i in range(23) if counts[i]] for counts in steps.values()] == [sorted(batch) for batch in right]
    for epoch in (range(1, 6), range(6, 11)):
        assert [sum(steps[step][i] for step in epoch) for i in range(23)] == [1] * 23


def test_c7_kills_repeat_and_reshuffle_nothing(daemon, tmp_path):
    """Killed after 20 of 64 samples, at the end of an epoch, and when a checkpoint has just been written."""
    data = index_csv(tmp_path / "d.csv", 64)
    slow = index_csv(tmp_path / "valid.csv", 150_000)  # makes a step last some 30 ms
    job = daemon.submit(*index_job(data, *FROZEN, "--valid", slow, "--valid-every", 1, "--batch-size", 1, "--epochs", 3, "--nproc", 1,
                                   "--checkpoint-every", 8, "--max-restarts", 9))
    for kills, saved in enumerate((16, 64, 88), start=1):
        if saved == 16:
            daemon.wait_step(job, 20)
        else:
            poll(lambda: int(daemon.job(job)["checkpoint_step"]) >= saved, f"the checkpoint of step {saved}", timeout=120)
        os.kill(daemon.worker_pids(job)[0], signal.SIGKILL)
        poll(lambda: len(daemon.job(job)["attempts"]) == kills + 1, "another attempt")
    assert daemon.wait(job) == "SUCCEEDED"
    starts = [int(attempt["start_step"]) for attempt in daemon.job(job)["attempts"]]
    assert len(starts) == 4 and starts[1] >= 16 and starts[2] >= 64 and starts[3] >= 88
    assert all(step % 8 == 0 for step in starts)
    losses = daemon.metrics(job, "loss")
    assert [step for step, _ in losses] == list(range(1, 193))
    assert [round(loss) for _, loss in losses] == order(64, 0) + order(64, 1) + order(64, 2)


def test_c8_three_and_three_epochs_are_six(daemon):
    """Moments, betas, eps and weight decay come back, too (C3): none has its default value."""
    args = ("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--model-option", "hidden=1024,512", "--model-option",
            "dropout=0.5", "--limit", 4096, "--batch-size", 256, "--epochs", 6, "--nproc", 2, "--optimizer", "adamw", "--weight-decay", 0.01,
            "--beta1", 0.8, "--beta2", 0.95, "--eps", 1e-6, "--step-size", 2, "--gamma", 0.5, "--valid", "none")
    whole = daemon.train(*args)
    job = daemon.submit(*args)
    poll(lambda: int(daemon.job(job)["checkpoint_step"]) >= 48, "the checkpoint of the third epoch", timeout=120)
    os.kill(daemon.worker_pids(job)[0], signal.SIGKILL)
    assert daemon.wait(job) == "SUCCEEDED"
    assert [int(attempt["start_step"]) >= 48 for attempt in daemon.job(job)["attempts"]] == [False, True]
    for name in ("model.safetensors", "optimizer.safetensors", "state.json"):
        assert (daemon.checkpoint(job) / name).read_bytes() == (daemon.checkpoint(whole) / name).read_bytes(), name
    for series in ("loss", "acc", "lr", "grad_norm", "train_loss", "train_acc", "epoch"):
        assert daemon.metrics(job, series) == daemon.metrics(whole, series), series
    assert daemon.values(job, "lr") == pytest.approx([1e-3 * 0.5 ** (epoch // 2) for epoch in range(6) for _ in range(16)], rel=1e-12)


def test_c9_resume_on_two_and_on_three_ranks(daemon, tmp_path, all_slots):
    """The batch is global, so an epoch keeps its 5 steps; the epoch is a part of the state and not divided out of steps."""
    data = index_csv(tmp_path / "d.csv", 100)

    def args(ranks, epochs):
        return index_job(data, "--lr", 1e-60, "--valid", "none", "--batch-size", 20, "--nproc", ranks, "--epochs", epochs)

    job = daemon.train(*args(4, 4))
    for ranks, epochs in [(2, 5), (3, 7)]:
        begin = daemon.checkpoint(job)
        kept = sorted(begin.parent.glob("step-*"))  # the newest of them counts
        assert len(kept) == 3
        job = goes_on_from(daemon, all_slots, kept, *args(ranks, epochs))
        first = {2: 4, 3: 5}[ranks]
        assert begin.name == f"step-{5 * first:08d}"
        assert daemon.values(job, "epoch") == list(range(first, epochs))
        assert [step for step, _ in daemon.metrics(job, "loss")] == list(range(5 * first + 1, 5 * epochs + 1))
        right = [sum(batch) / 20 for epoch in range(first, epochs) for batch in batches(100, 20, epoch)]
        assert daemon.values(job, "loss") == pytest.approx(right, rel=1e-6)
        assert daemon.values(job, "train_loss") == pytest.approx([49.5] * (epochs - first), rel=1e-6)
        assert daemon.values(job, "lr") == pytest.approx([1e-60 * 0.1 ** (e // 3) for e in range(first, epochs) for _ in range(5)], rel=1e-12)


def test_c9_resume_of_the_same_job_on_fewer_ranks(daemon, tmp_path):
    data = index_csv(tmp_path / "d.csv", 23, target=lambda i: 2**i)
    slow = index_csv(tmp_path / "valid.csv", 150_000)  # makes a step last some 30 ms
    epochs = 20
    job = daemon.submit(*index_job(data, *FROZEN, "--valid", slow, "--valid-every", 1, "--batch-size", 5, "--micro-batch", 1,
                                   "--epochs", epochs, "--nproc", 2))
    daemon.wait_step(job, 7)
    done = daemon.run("resume", job, "--nproc", 1)
    assert done.returncode == 5 and "only CANCELLED, FAILED and PAUSED jobs can be resumed" in done.stderr
    daemon.ctl("pause", job)
    saved = int(daemon.job(job)["checkpoint_step"])
    assert 7 <= saved < 5 * epochs
    for ranks in (0, 99):
        done = daemon.run("resume", job, "--nproc", ranks)
        assert done.returncode == 5
        assert f"--nproc (resources.nproc): must be 1 to {SLOTS} (this machine has {SLOTS} CPU slots), got {ranks}\n" in done.stderr
    assert daemon.state(job) == "PAUSED"
    daemon.ctl("resume", job, "--nproc", 1)
    assert daemon.wait(job) == "SUCCEEDED"
    found = daemon.job(job)
    assert [(a["nproc"], len(a["worker_pids"]), int(a["start_step"])) for a in found["attempts"]] == [(2, 2, 0), (1, 1, saved)]
    assert found["spec"]["resources"]["nproc"] == 1
    assert "resume requested, on 1 rank instead of 2; waits for slots" in daemon.events(job)
    steps = counted(daemon, job, 23, 5)
    right = [sorted(batch) for epoch in range(epochs) for batch in batches(23, 5, epoch)]
    assert [[i for i in range(23) if counts[i]] for counts in steps.values()] == right
    assert {count for counts in steps.values() for count in counts} == {0, 1}


def test_resume_refuses_data_that_has_changed(daemon, tmp_path):
    data = index_csv(tmp_path / "d.csv", 40)
    job = daemon.submit(*index_job(data, *FROZEN, "--valid", "none", "--batch-size", 4, "--epochs", 100_000, "--nproc", 1))
    daemon.wait_step(job, 3)
    daemon.ctl("pause", job)
    saved = daemon.checkpoint(job)
    index_csv(data, 40, target=lambda i: i)
    daemon.ctl("resume", job)
    assert daemon.wait(job) == "FAILED"
    found = daemon.job(job)
    then = json.loads((saved / "state.json").read_text())["data_fingerprint"]
    message = found["attempts"][-1]["failure"]["message"]
    now = re.search(r"fingerprint (\w+) then, (\w+) now", message)
    assert now and now[1] == then != now[2] and "training.data.source: the data has changed" in message, message
    assert len(found["attempts"]) == 2  # another try would meet the same data
    index_csv(data, 40)
    daemon.ctl("resume", job)
    daemon.wait_step(job, int(found["checkpoint_step"]) + 3)
    daemon.ctl("cancel", job)


def test_resume_on_more_ranks_than_samples(daemon, tmp_path):
    data = index_csv(tmp_path / "d.csv", 2)
    job = daemon.submit(*index_job(data, *FROZEN, "--valid", "none", "--batch-size", 2, "--epochs", 1_000_000, "--nproc", 1))
    daemon.wait_step(job, 1)
    daemon.ctl("cancel", job)
    done = daemon.run("resume", job, "--nproc", 3)
    assert done.returncode == 5 and "--nproc (resources.nproc): 3 ranks, but only 2 training samples" in done.stderr


def test_c11_the_next_epoch_and_the_end(daemon, tmp_path, all_slots):
    data = index_csv(tmp_path / "d.csv", 6)
    args = index_job(data, *FROZEN, "--valid", "none", "--batch-size", 3, "--nproc", 1, "--epochs", 5)
    three = daemon.train(*args, "--max-steps", 6)
    assert daemon.values(three, "epoch") == [0, 1, 2]
    rest = goes_on_from(daemon, all_slots, [daemon.checkpoint(three)], *args)
    assert daemon.values(rest, "epoch") == [3, 4]
    assert [step for step, _ in daemon.metrics(rest, "loss")] == [7, 8, 9, 10]
    done = daemon.run("resume", rest)
    assert done.returncode == 5 and f"cannot resume job {rest}: it is SUCCEEDED" in done.stderr
    # With nothing left to do, a resume ends at once.
    again = goes_on_from(daemon, all_slots, [daemon.checkpoint(rest)], *args)
    assert daemon.values(again, "loss") == [] and daemon.values(again, "epoch") == []
    assert "trained to the end, 10 steps" in daemon.events(again)


@pytest.mark.parametrize("ranks", [1, 4])
def test_c5_the_schedule_does_not_run_faster_on_more_ranks(daemon, tmp_path, ranks):
    data = index_csv(tmp_path / "d.csv", 4)
    job = daemon.train(*index_job(data, "--valid", "none", "--batch-size", 4, "--nproc", ranks, "--epochs", 40, "--step-size", 20))
    assert daemon.values(job, "lr") == pytest.approx([1e-3] * 20 + [1e-4] * 20, rel=1e-12)


# ---- D: checkpoints


def test_d3_only_own_names_are_chosen_and_deleted(daemon, tmp_path, all_slots):
    data = index_csv(tmp_path / "d.csv", 6)
    args = index_job(data, *FROZEN, "--valid", "none", "--batch-size", 3, "--nproc", 1)
    first = daemon.train(*args, "--epochs", 2)
    other = daemon.train(*args, "--epochs", 5, "--keep", 9)
    decoys = []
    for name in ("handpicked", "step-9", "step-0000010x"):
        decoys.append(tmp_path / name)
        shutil.copytree(daemon.checkpoint(other), decoys[-1])
    job = goes_on_from(daemon, all_slots, [daemon.checkpoint(first), *decoys], *args, "--epochs", 4, "--keep", 1)
    assert [step for step, _ in daemon.metrics(job, "loss")] == [5, 6, 7, 8]  # from step 4, not from 10
    left = {path.name for path in daemon.checkpoint(job).parent.iterdir() if path.is_dir()}
    assert left >= {"handpicked", "step-9", "step-0000010x", "step-00000008"}
    for keep in (-1, 0):
        done = daemon.run("submit", *args, "--keep", keep)
        assert done.returncode == 5 and f"--keep (training.keep): must be " in done.stderr and f"got {keep}" in done.stderr


def test_d2_nobody_goes_on_before_rank_0_has_committed(daemon):
    job = daemon.submit("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--model-option", "hidden=1024,1024", "--limit", 4096,
                        "--batch-size", 256, "--epochs", 100, "--valid", "none", "--nproc", 4, "--checkpoint-every", 1)
    poll(lambda: int(daemon.job(job)["checkpoint_step"]) > 0, "a checkpoint", timeout=120)
    pids = daemon.worker_pids(job)
    folder = daemon.home / "jobs" / job / "checkpoints"
    poll(lambda: any(name.startswith(".tmp-") for name in os.listdir(folder)), "a checkpoint in the making")
    os.kill(pids[0], signal.SIGSTOP)
    cancel = subprocess.Popen([BIN / "ddpctl", "cancel", job, "-o", "json"], env=daemon.env, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 0.5  # the delay of rank 0
    while time.monotonic() < end:
        assert all(alive(pid) for pid in pids) and cancel.poll() is None
    os.kill(pids[0], signal.SIGCONT)
    answer = json.loads(cancel.communicate(timeout=120)[0])
    saved = int(answer["checkpoint_step"])
    assert answer["state"] == "JOB_STATE_CANCELLED"
    assert saved == daemon.metrics(job, "loss")[-1][0]
    assert daemon.checkpoint(job).name == f"step-{saved:08d}"
    assert all(line.endswith(" OK") for line in daemon.ctl("checkpoints", "verify", job).splitlines())
    assert [name for name in os.listdir(folder) if name.startswith(".tmp-")] == []
