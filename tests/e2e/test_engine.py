"""The training engine from outside: steps that are not finite, clipping, freezing, the best epoch, schedules."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file

from harness import write_csv


def linear_csv(path, rows):
    return write_csv(path, ["x", "y"], rows)


def linear_job(data, *args):
    """One weight w = 0 at the start, prediction w * x, squared error: every number below is made by hand."""
    return ("--mode", "finetune", "--objective", "regression", "--model", "rig-index", "--data", data,
            "--feature-columns", "x", "--label-column", "y", "--optimizer", "sgd", *(() if "--schedule" in args else ("--schedule", "constant")), *args)


def weight(daemon, job, step=None):
    return load_file(daemon.checkpoint(job, step) / "model.safetensors")["w"].item()


# The square of 1e30 is no float32: the loss of a step with this sample is infinite, on the rank that has it. Its gradient,
# 2 * 1e30 of 4 samples, is 5e29.
POISON = 1e30


BAD_STEP = 5


def poisoned(tmp_path, n=32, batch=4):
    """Sample whose turn in the first epoch, by DistributedSampler's order, is in step 5, is the bad one."""
    generator = torch.Generator()
    generator.manual_seed(0)
    bad = torch.randperm(n, generator=generator).tolist()[BAD_STEP * batch - 2]
    return linear_csv(tmp_path / "p.csv", [[1, POISON if i == bad else 1] for i in range(n)])


def expected_weight(lr, updates, w=0.0):
    """`updates` steps of gradient descent on (w - 1)^2."""
    for _ in range(updates):
        w -= lr * 2 * (w - 1)
    return w


def test_b5_a_poisoned_step_stops_the_job(daemon, tmp_path):
    job = daemon.train(*linear_job(poisoned(tmp_path), "--lr", 0.1, "--batch-size", 4, "--valid", "none", "--epochs", 2,
                                   "--nproc", 2, "--checkpoint-every", 1), expect="FAILED")
    found = daemon.job(job)
    assert f"the loss is inf and the norm of the gradient 5e+29 at step {BAD_STEP}" in found["failure"]["message"]
    assert len(found["attempts"]) == 1
    losses = daemon.metrics(job, "loss")
    assert [step for step, _ in losses] == list(range(1, BAD_STEP + 1)) and losses[-1][1] == math.inf
    assert daemon.checkpoint(job).name == f"step-{BAD_STEP - 1:08d}"
    assert weight(daemon, job) == pytest.approx(expected_weight(0.1, BAD_STEP - 1), rel=1e-6)


def test_b5_a_poisoned_step_is_skipped_by_both_ranks(daemon, tmp_path):
    job = daemon.train(*linear_job(poisoned(tmp_path), "--lr", 0.1, "--batch-size", 4, "--valid", "none", "--epochs", 2,
                                   "--nproc", 2, "--nan-policy", "skip"))
    # 2 epochs of 8 steps, one in each skipped.
    assert len(daemon.values(job, "loss")) == 16
    assert sum(math.isinf(loss) for loss in daemon.values(job, "loss")) == 2
    assert daemon.values(job, "skipped_steps") == [1, 2]
    assert weight(daemon, job) == pytest.approx(expected_weight(0.1, 14), rel=1e-6)
    assert "the step changes nothing" in daemon.events(job)
    assert all(math.isfinite(loss) for loss in daemon.values(job, "train_loss"))
    assert json.loads((daemon.checkpoint(job) / "state.json").read_text())["optimizer_steps"] == 14


def test_b5_skipping_has_an_end(daemon, tmp_path):
    data = linear_csv(tmp_path / "all.csv", [[1, POISON]] * 300)
    job = daemon.train(*linear_job(data, "--lr", 0.1, "--batch-size", 2, "--valid", "none", "--epochs", 1, "--nproc", 1,
                                   "--nan-policy", "skip"), expect="FAILED")
    assert "at step 100, after 99 skipped ones" in daemon.job(job)["failure"]["message"]


@pytest.mark.parametrize("every", [0, 2])
def test_b5_rollback_leaves_the_samples_out(daemon, tmp_path, every):
    job = daemon.train(*linear_job(poisoned(tmp_path), "--lr", 0.1, "--batch-size", 4, "--valid", "none", "--epochs", 1,
                                   "--nproc", 2, "--nan-policy", "rollback", "--checkpoint-every", every))
    back = (BAD_STEP - 1) // every * every if every else 0
    assert (f"back to the checkpoint of step {back}; the samples of step {BAD_STEP} will be left out"
            in daemon.events(job))
    # Every step once, the bad one with its infinite loss.
    losses = daemon.metrics(job, "loss")
    assert [step for step, _ in losses] == list(range(1, 9))
    assert [step for step, loss in losses if math.isinf(loss)] == [BAD_STEP]
    assert weight(daemon, job) == pytest.approx(expected_weight(0.1, 7), rel=1e-6)
    assert len(daemon.job(job)["attempts"]) == 1


def test_clipping_scales_the_mean_gradient(daemon, tmp_path):
    # The gradient of (w * 1 - 8)^2 at w = 0 is -16: clipped to 1, a step of 0.1 moves w by 0.1.
    data = linear_csv(tmp_path / "d.csv", [[1, 8]] * 12)
    job = daemon.train(*linear_job(data, "--lr", 0.1, "--batch-size", 4, "--micro-batch", 1, "--valid", "none", "--epochs",
                                   1, "--nproc", 2, "--clip", 1))
    assert weight(daemon, job) == pytest.approx(0.3, abs=1e-6)
    assert daemon.values(job, "grad_norm") == pytest.approx([16, 15.8, 15.6], rel=1e-6)


def test_warmup_and_cosine(daemon, tmp_path):
    data = linear_csv(tmp_path / "d.csv", [[1, 1]] * 20)
    job = daemon.train(*linear_job(data, "--schedule", "cosine", "--lr", 0.5, "--min-lr", 0.05, "--warmup", 4, "--batch-size",
                                   4, "--valid", "none", "--epochs", 2, "--nproc", 2))
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    lr = torch.optim.lr_scheduler
    schedule = lr.SequentialLR(optimizer, [lr.LinearLR(optimizer, 1 / 4, 1.0, total_iters=3),
                                           lr.CosineAnnealingLR(optimizer, 6, eta_min=0.05)], [4])
    right = []
    for _ in range(10):
        right.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert daemon.values(job, "lr") == pytest.approx(right, rel=1e-12)


MLP = ("--mode", "finetune", "--model", "mlp", "--model-option", "hidden=16", "--data", "fashion-mnist", "--limit", 512,
       "--batch-size", 128, "--nproc", 2)


def test_frozen_tensors_stay_and_the_others_move(daemon):
    first = daemon.train(*MLP, "--epochs", 1)
    names = sorted(load_file(daemon.checkpoint(first) / "model.safetensors"))
    frozen = names[0]
    job = daemon.train(*MLP, "--epochs", 1, "--init-from", first, "--freeze", frozen)
    before = load_file(daemon.checkpoint(first) / "model.safetensors")
    after = load_file(daemon.checkpoint(job) / "model.safetensors")
    assert {name for name in names if torch.equal(before[name], after[name])} == {frozen}
    done = daemon.run("submit", *MLP, "--freeze", "body.*")
    assert done.returncode == 5 and "no parameter matches 'body.*'" in done.stderr
    done = daemon.run("submit", *MLP, "--freeze", "*")
    assert done.returncode == 5 and "every parameter is frozen" in done.stderr


def test_the_best_epoch_is_kept_and_found(daemon, tmp_path):
    # w runs away from 1 after the first epoch: lr 1.2 overshoots and the loss grows.
    data = linear_csv(tmp_path / "d.csv", [[1, 1]] * 8)
    job = daemon.train(*linear_job(data, "--lr", 1.2, "--batch-size", 8, "--valid", data, "--epochs", 6, "--nproc", 1,
                                   "--keep", 1))
    best = json.loads((daemon.home / "jobs" / job / "checkpoints" / "best.json").read_text())
    # After one step w = 2.4, the loss (2.4 - 1)^2.
    assert best == {"step": 1, "metric": "valid_loss", "value": pytest.approx(1.96, rel=1e-6)}
    folders = sorted(p.name for p in (daemon.home / "jobs" / job / "checkpoints").glob("step-*"))
    assert folders == ["step-00000001", "step-00000006"]
    child = daemon.train(*linear_job(data, "--lr", "1e-60", "--batch-size", 8, "--valid", data, "--epochs", 1, "--nproc", 1,
                                     "--init-from", f"{job}@best"))
    assert daemon.values(child, "valid_loss") == [pytest.approx(1.96, rel=1e-6)]
    done = daemon.run("submit", *linear_job(data, "--init-from", f"{job}@worst"))
    assert done.returncode == 5 and "JOB@best" in done.stderr


def test_patience_ends_a_job_that_gets_no_better(daemon, tmp_path):
    data = linear_csv(tmp_path / "d.csv", [[1, 1]] * 8)
    job = daemon.train(*linear_job(data, "--lr", 1.2, "--batch-size", 8, "--valid", data, "--epochs", 50, "--nproc", 2,
                                   "--patience", 3))
    assert len(daemon.values(job, "valid_loss")) == 4
    assert "valid_loss has not got better for 3 epochs; the best was 1.96 at step 1" in daemon.events(job)
    assert daemon.checkpoint(job).name == "step-00000004"


def test_bf16_is_near_fp32(daemon):
    full = daemon.train(*MLP, "--epochs", 2)
    half = daemon.train(*MLP, "--epochs", 2, "--precision", "bf16")
    a, b = daemon.values(full, "loss"), daemon.values(half, "loss")
    assert a != b
    assert a == pytest.approx(b, rel=0.02)  # bfloat16 has 8 bits
    assert {t.dtype for t in load_file(daemon.checkpoint(half) / "model.safetensors").values()} == {torch.float32}
