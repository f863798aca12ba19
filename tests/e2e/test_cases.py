"""Cases of notes/cases.md, groups A to D and G, that no other module has; docs/cases.md lists all of them."""

import copy
import json
import math
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
import torch
import torchvision
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from harness import BIN, alive, poll, write_csv
from rigs import FROZEN, index_csv, index_job, zero_csv, zero_job

SLOTS = 4


def order(n, epoch=0, seed=0):
    """DistributedSampler's, of all ranks together."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()


def batches(n, batch, epoch=0):
    samples = order(n, epoch)
    return [samples[i : i + batch] for i in range(0, n, batch)]


def model_of(daemon, job, step=None):
    return load_file(daemon.checkpoint(job, step) / "model.safetensors")


# ---- A: distributed correctness


def resnet_for_small_images():
    """torchvision's, with the 3x3 stem; where a channel has one value, the running statistics stand in (docs/models.md)."""
    torch.manual_seed(4)
    model = torchvision.models.resnet18(num_classes=2)
    model.conv1 = torch.nn.Conv2d(1, 64, 3, padding=1, bias=False)
    model.maxpool = torch.nn.Identity()

    def choose(norm, inputs):
        norm.training = inputs[0].numel() > inputs[0].shape[1]

    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.register_forward_pre_hook(choose)
    return model


def loss_sum(model, x, y):
    with torch.no_grad():
        return F.cross_entropy(model(x), y, reduction="sum").item()


def average_buffers(models):
    for buffers in zip(*(model.buffers() for model in models)):
        if buffers[0].is_floating_point():
            mean = sum(buffer.double() for buffer in buffers) / len(models)
            for buffer in buffers:
                buffer.copy_(mean)


@pytest.mark.parametrize("samples,ranks", [(9, 1), (5, 4)])
def test_a11_batch_norm_with_a_last_batch_of_one(daemon, tmp_path, samples, ranks):
    twin = resnet_for_small_images()
    save_file(twin.state_dict(), tmp_path / "initial.safetensors")
    x = torch.randn(samples, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    y = torch.arange(samples) % 2
    np.save(tmp_path / "x.npy", x.numpy())
    np.save(tmp_path / "y.npy", y.numpy())
    job = daemon.train("--mode", "finetune", "--model", "resnet18", "--data", tmp_path / "x.npy", "--labels", tmp_path / "y.npy", *FROZEN,
                       "--valid", "none", "--init-from", tmp_path / "initial.safetensors", "--batch-size", 4, "--epochs", 1, "--nproc", ranks)
    replicas = [copy.deepcopy(twin) for _ in range(ranks)]
    right = []
    for batch in batches(samples, 4):
        shares = [batch[rank::ranks] for rank in range(ranks)]
        right.append(sum(loss_sum(model, x[share], y[share]) for model, share in zip(replicas, shares) if share) / len(batch))
        average_buffers(replicas)
    assert daemon.values(job, "loss") == pytest.approx(right, rel=1e-4)


def test_a13_ranks_draw_dropout_masks_of_their_own(daemon, tmp_path):
    # x = 1, hidden unit i is 2^i, dropout 0.5 doubles what it keeps, target 0: the loss is 4 mask^2 with the mask as a number of 12 bits.
    bits = 12
    save_file({"layers.0.weight": 2.0 ** torch.arange(bits).view(bits, 1), "layers.0.bias": torch.zeros(bits),
               "layers.1.weight": torch.ones(1, bits), "layers.1.bias": torch.zeros(1)}, tmp_path / "w.safetensors")
    data = write_csv(tmp_path / "d.csv", ["x", "y"], [[1, 0]] * 32)

    def losses(ranks):
        return daemon.values(daemon.train(
            "--mode", "finetune", "--objective", "regression", "--model", "mlp", "--model-option", f"hidden={bits}", "--model-option",
            "dropout=0.5", "--init-from", tmp_path / "w.safetensors", "--data", data, "--feature-columns", "x", "--label-column", "y",
            "--valid", "none", *FROZEN, "--nproc", ranks, "--batch-size", ranks, "--max-steps", 16, "--epochs", 1), "loss")

    rank0 = [math.isqrt(round(loss) // 4) for loss in losses(1)]  # a lone rank is rank 0
    both = losses(2)
    rank1 = [math.isqrt(round(loss) // 2 - mask**2) for loss, mask in zip(both, rank0)]
    assert [2 * (a**2 + b**2) for a, b in zip(rank0, rank1)] == both
    assert all(a != b for a, b in zip(rank0, rank1))
    assert len(set(rank0)) == len(set(rank1)) == 16
    kept = sum(mask.bit_count() for mask in rank0 + rank1)
    assert abs(kept - 192) < 4 * math.sqrt(384 / 4)  # four standard deviations of 384 fair draws
    assert losses(2) == both


def test_a15_fewer_samples_than_a_batch(daemon, tmp_path):
    data = index_csv(tmp_path / "d.csv", 3)
    job = daemon.train(*index_job(data, *FROZEN, "--valid", "none", "--batch-size", 4, "--epochs", 2, "--nproc", 1))
    assert daemon.values(job, "loss") == [pytest.approx(1, rel=1e-6)] * 2
    assert "batch_size lowered from 4 to 3" in daemon.events(job)
    assert daemon.values(job, "valid_loss") == []
    best = json.loads((daemon.checkpoint(job).parent / "best.json").read_text())
    assert best == {"step": 1, "metric": "train_loss", "value": pytest.approx(1, rel=1e-6)}


def test_a15_a_small_and_an_empty_validation_set(daemon, tmp_path):
    data = index_csv(tmp_path / "d.csv", 8)
    one = index_csv(tmp_path / "one.csv", 1, target=lambda i: math.sqrt(5))
    job = daemon.train(*index_job(data, *FROZEN, "--valid", one, "--batch-size", 8, "--epochs", 1, "--nproc", 4))
    assert daemon.values(job, "valid_loss") == [pytest.approx(5, rel=1e-6)]
    empty = write_csv(tmp_path / "empty.csv", ["x", "y"], [])
    job = daemon.train(*index_job(data, *FROZEN, "--valid", empty, "--batch-size", 8, "--epochs", 1, "--nproc", 4))
    assert daemon.values(job, "valid_loss") == []
    assert not (daemon.checkpoint(job).parent / "best.json").exists()


def gpt_job(data, *args):
    return ("--mode", "pretrain", "--objective", "clm", "--model", "gpt", "--data", data, "--tokenizer", "bytes", "--max-tokens", 8,
            "--model-option", "dim=2", "--model-option", "layers=1", "--model-option", "heads=1", *args)


def test_a15_a_validation_set_with_nothing_to_predict(daemon, tmp_path):
    (tmp_path / "train.txt").write_text("abcd\nefgh\n")
    (tmp_path / "valid.txt").write_text("a\nb\n")  # a text of one token has no next one
    job = daemon.submit(*gpt_job(tmp_path / "train.txt", "--valid", tmp_path / "valid.txt", "--epochs", 2, "--batch-size", 2, "--nproc", 1))
    try:
        assert daemon.wait(job, timeout=60) == "SUCCEEDED"
    finally:
        daemon.run("cancel", "--force", job)  # it was once started again for ever, on a slot that the other tests want
    assert len(daemon.values(job, "loss")) == 2
    assert daemon.values(job, "valid_loss") == []
    assert not (daemon.checkpoint(job).parent / "best.json").exists()


# ---- B: accumulation and counters


def test_b1_a_loss_is_a_mean_over_tokens(daemon, tmp_path):
    # All weights are 0 but the last norm's bias (1, 0) and column 0 of the embedding: the logit of token v is z[v] everywhere.
    # P(B) = e^-4, P(A) = 1 - P(B), any other 0. The texts "AB" and "AAAA" have 1 and 3 tokens to predict.
    p_b = math.exp(-4)
    z = torch.full((259,), -100.0)
    z[ord("A") + 3] = 0
    z_b = z[ord("B") + 3] = math.log(p_b / (1 - p_b))
    names = {"ln_1.weight": (2,), "ln_1.bias": (2,), "attn.c_attn.weight": (2, 6), "attn.c_attn.bias": (6,), "attn.c_proj.weight": (2, 2),
             "attn.c_proj.bias": (2,), "ln_2.weight": (2,), "ln_2.bias": (2,), "mlp.c_fc.weight": (2, 8), "mlp.c_fc.bias": (8,),
             "mlp.c_proj.weight": (8, 2), "mlp.c_proj.bias": (2,)}
    save_file({"transformer.wte.weight": torch.stack([z, torch.zeros(259)], 1).contiguous(), "transformer.wpe.weight": torch.zeros(8, 2),
               "transformer.ln_f.weight": torch.zeros(2), "transformer.ln_f.bias": torch.tensor([1.0, 0.0]),
               **{f"transformer.h.0.{name}": torch.zeros(shape) for name, shape in names.items()}}, tmp_path / "w.safetensors")
    (tmp_path / "d.txt").write_text("AB\nAAAA\n")
    right = (4 - 3 * math.log(1 - p_b)) / 4
    for ranks, micro_batch in [(1, 2), (1, 1), (2, 1)]:
        job = daemon.train(*gpt_job(tmp_path / "d.txt", "--init-from", tmp_path / "w.safetensors", "--valid", "none", "--optimizer", "sgd",
                                    "--lr", 0.1, "--batch-size", 2, "--micro-batch", micro_batch, "--epochs", 1, "--nproc", ranks))
        assert daemon.values(job, "loss") == [pytest.approx(right, rel=1e-6)]
        # d loss / d bias[0] = sum over v of (P(v) - share of v among the 4) z[v]
        bias = model_of(daemon, job)["transformer.ln_f.bias"]
        assert bias.tolist() == pytest.approx([1 - 0.1 * (p_b - 0.25) * z_b, 0], abs=1e-6)


def test_b2_accumulation_does_not_scale_the_loss(daemon, tmp_path):
    data = zero_csv(tmp_path / "d.csv", [i % 10 for i in range(160)])
    job = daemon.train(*zero_job(data, "--valid", "none", "--nproc", 1, "--batch-size", 40, "--micro-batch", 10, "--epochs", 1))
    assert daemon.values(job, "loss") == [pytest.approx(2.302585, abs=1e-6)] * 4


@pytest.mark.parametrize("ranks", [1, 2])
def test_b2_the_last_window_is_divided_by_what_it_holds(daemon, tmp_path, ranks):
    # 10 micro-batches of 10, 4 of them a step (on one rank): steps of 40, 40 and 20 samples.
    data = index_csv(tmp_path / "d.csv", 100, target=lambda i: i / 10)
    job = daemon.train(*index_job(data, "--optimizer", "sgd", "--lr", 0.1, "--valid", "none", "--nproc", ranks, "--batch-size", 40,
                                  "--micro-batch", 10, "--epochs", 1))
    w = 0.0
    right = []
    for batch in batches(100, 40):
        right.append(sum((w - i / 10) ** 2 for i in batch) / len(batch))
        w -= 0.1 * 2 * sum(w - i / 10 for i in batch) / len(batch)
    assert len(right) == 3
    assert daemon.values(job, "loss") == pytest.approx(right, rel=1e-5)
    assert model_of(daemon, job)["w"].item() == pytest.approx(w, rel=1e-5)


def bytes_written(pid):
    """What a process has given to write() and writev(), sockets included; None when it is gone."""
    try:
        with open(f"/proc/{pid}/io") as file:
            return int(dict(line.split(": ") for line in file)["wchar"])
    except (FileNotFoundError, ProcessLookupError):
        return None


def test_b3_one_reduction_a_step_whatever_is_accumulated(daemon):
    weights, sent = [], []
    for micro_batch in (64, 4):
        job = daemon.submit("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--model-option", "hidden=512", "--limit",
                            2560, "--valid", "none", "--batch-size", 128, "--micro-batch", micro_batch, "--epochs", 6, "--nproc", 2,
                            "--optimizer", "sgd", "--lr", 0.001, "--backend", "gloo")
        pid = poll(lambda: daemon.job(job)["attempts"] and daemon.worker_pids(job), "workers")[1]  # it writes no checkpoints
        last = 0
        while (now := bytes_written(pid)) is not None:
            last = max(last, now)
        assert daemon.wait(job) == "SUCCEEDED"
        sent.append(last)
        weights.append(model_of(daemon, job))
    for name, tensor in weights[0].items():
        torch.testing.assert_close(tensor, weights[1][name], rtol=0, atol=1e-6)
    # 120 steps of 784 * 512 + 512 + 512 * 10 + 10 gradients, each sent once; 16 times that if each micro-batch were reduced.
    once = 120 * 4 * (784 * 512 + 512 + 512 * 10 + 10)
    assert all(0.8 * once < n < 1.5 * once for n in sent), [n / once for n in sent]


def test_b7_twenty_million_samples_are_counted(daemon, tmp_path):
    """A float32 counter would stop at 16,777,216."""
    n, zeros = 20_000_000, 17_000_001
    labels = np.ones(n, dtype=np.uint8)
    labels[:zeros] = 0
    np.save(tmp_path / "x.npy", np.zeros((n, 1), dtype=np.uint8))
    np.save(tmp_path / "y.npy", labels)
    np.save(tmp_path / "few.npy", np.arange(4, dtype=np.uint8).reshape(4, 1))
    np.save(tmp_path / "few_y.npy", labels[zeros - 2 : zeros + 2])
    job = daemon.train("--mode", "finetune", "--model", "rig-zero", *FROZEN, "--data", tmp_path / "few.npy", "--labels",
                       tmp_path / "few_y.npy", "--valid", tmp_path / "x.npy", "--valid-labels", tmp_path / "y.npy", "--epochs", 1,
                       "--batch-size", 4, "--nproc", 2)
    assert f"valid_samples {n}" in daemon.events(job)
    assert daemon.values(job, "valid_acc") == [zeros / n]
    assert daemon.values(job, "valid_loss") == [pytest.approx(math.log(2), rel=1e-6)]


# ---- C: schedules and resume


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


def test_d4_names_that_do_not_fit_are_refused(daemon, tmp_path):
    data = blobs(tmp_path / "d.csv", ["u", "v", "w"])
    parent = daemon.train(*blobs_job(data, "--lr", 0.05, "--epochs", 3))
    weights = model_of(daemon, parent)
    wrong = {
        "prefix": ({f"module.{name}": tensor for name, tensor in weights.items()}, "layers.0.weight"),
        "one too many": (weights | {"layers.7.weight": torch.zeros(2)}, 'tensor "layers.7.weight" [2] has no place in the model'),
        "one too few": ({name: tensor for name, tensor in weights.items() if name != "layers.0.bias"}, 'no tensor "layers.0.bias" [8]'),
    }
    for name, (tensors, message) in wrong.items():
        save_file(tensors, tmp_path / f"{name}.safetensors")
        done = daemon.run("submit", *blobs_job(data, "--init-from", tmp_path / f"{name}.safetensors"))
        assert done.returncode == 5 and "training.init_from" in done.stderr and message in done.stderr, done.stderr
    child = daemon.train(*blobs_job(data, *FROZEN, "--epochs", 1, "--init-from", parent))
    assert "loaded 4 of 4 tensors" in daemon.events(child)
    assert daemon.values(child, "valid_loss") == [pytest.approx(daemon.values(parent, "valid_loss")[-1], rel=1e-6)]


def test_d5_another_number_of_classes(daemon, tmp_path):
    ten = blobs(tmp_path / "ten.csv", [f"t{i}" for i in range(10)])
    four = blobs(tmp_path / "four.csv", ["a", "b", "c", "d"])
    parent = daemon.train(*blobs_job(ten, "--epochs", 1))
    weights = tmp_path / "ten.safetensors"
    save_file(model_of(daemon, parent), weights)
    done = daemon.run("submit", *blobs_job(four, "--init-from", weights))
    assert done.returncode == 5 and 'tensor "layers.1.weight" has the shape [10, 8], the model needs [4, 8]' in done.stderr, done.stderr
    for source in (parent, weights):
        child = daemon.train(*blobs_job(four, "--epochs", 1, "--init-from", source, "--reinit", "layers.1.*"))
        assert "loaded 2 of 4 tensors; fresh: layers.1.weight, layers.1.bias" in daemon.events(child)
        assert model_of(daemon, child)["layers.1.weight"].shape == (4, 8)
    # A job brings its classes along, which the new data does not have.
    for source in (parent, f"{parent}@last", daemon.checkpoint(parent)):
        done = daemon.run("submit", *blobs_job(four, "--init-from", source))
        assert done.returncode == 5
        assert '--data (training.data.source): the label "a" is none of the 10 classes that the model knows' in done.stderr, done.stderr
    # Fewer of the same ones are fine, and keep their numbers.
    some = blobs(tmp_path / "some.csv", ["t7", "t3"])
    child = daemon.train(*blobs_job(some, "--epochs", 1, "--init-from", parent))
    assert "loaded 4 of 4 tensors" in daemon.events(child)


# ---- G: data


def test_g10_a_file_of_5_gb_costs_no_memory(daemon, tmp_path):
    data = tmp_path / "zeros.bin"
    with open(data, "wb") as file:
        file.truncate(5_000_000_000)
    job = daemon.submit("--mode", "pretrain", "--model", "gpt", "--model-option", "dim=16", "--model-option", "layers=1", "--model-option",
                        "heads=1", "--data", data, "--valid", "none", "--max-tokens", 64, "--batch-size", 4, "--max-steps", 10, "--nproc", 1)
    pid = poll(lambda: daemon.job(job)["attempts"] and daemon.worker_pids(job), "a worker")[0]
    peak = 0
    while True:
        try:
            with open(f"/proc/{pid}/status") as file:
                peak = max([peak, *(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))])
        except (FileNotFoundError, ProcessLookupError):
            break
    assert daemon.wait(job) == "SUCCEEDED"
    losses = daemon.values(job, "loss")
    assert len(losses) == 10
    assert losses[0] == pytest.approx(math.log(50257), abs=0.2)  # GPT-2's initial weights know nothing
    assert f"train_samples {(5_000_000_000 // 2 - 1) // 64}" in daemon.events(job)
    assert "text_batches" not in daemon.events(job)  # windows have one length
    assert 0 < peak < 500 * 1024, f"{peak} KiB"


def test_g12_a_token_outside_the_vocabulary_is_named_when_it_is_met(daemon, tmp_path):
    tokens = np.arange(100_001, dtype=np.uint16) % 50
    tokens[90_001] = 50
    tokens.tofile(tmp_path / "d.bin")
    job = daemon.train("--mode", "pretrain", "--model", "gpt", "--model-option", "dim=4", "--model-option", "layers=1", "--model-option", "heads=1",
                       "--data", tmp_path / "d.bin", "--vocab-size", 50, "--max-tokens", 16, "--valid", "none", "--batch-size", 512, "--epochs",
                       1, "--nproc", 2, expect="FAILED")
    found = daemon.job(job)
    assert f"{tmp_path}/d.bin: byte 180002: token 50 is outside the vocabulary of 50" in found["failure"]["message"]
    assert found["failure"]["retryable"] is False and len(found["attempts"]) == 1


def test_g12_unseen_words_keep_the_vocabulary(daemon, tmp_path):
    (tmp_path / "old.txt").write_text("the cat sat\nthe dog ran\n" * 4)
    (tmp_path / "new.txt").write_text("the façade ran\n" * 4)
    args = ("--mode", "pretrain", "--objective", "clm", "--model", "gpt", "--model-option", "dim=4", "--model-option", "layers=1",
            "--model-option", "heads=1", "--valid", "none", "--epochs", 1, "--batch-size", 4, "--nproc", 1)
    parent = daemon.train(*args, "--data", tmp_path / "old.txt")
    child = daemon.train(*args, "--data", tmp_path / "new.txt", "--init-from", parent)
    # Padding, unknown, mask, and five words.
    for job in (parent, child):
        assert "vocabulary 8" in daemon.events(job) and model_of(daemon, job)["transformer.wte.weight"].shape == (8, 4)
    assert all(math.isfinite(loss) for loss in daemon.values(child, "loss"))


# ---- Every flag of optimizers and schedules, and histograms, end to end


def cosine(s, total, lr, low):
    return low + (lr - low) * (1 + math.cos(math.pi * s / total)) / 2


RECIPES = {
    "adam by steps": (
        ("--optimizer", "adam", "--beta1", 0.8, "--beta2", 0.95, "--eps", 1e-3, "--weight-decay", 0.01, "--step-size", 1, "--gamma", 0.5),
        lambda p: torch.optim.Adam(p, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.01), None, lambda s: 0.1 * 0.5 ** (s // 3)),
    "adamw by cosine": (
        ("--optimizer", "adamw", "--weight-decay", 0.1, "--schedule", "cosine", "--warmup", 2, "--min-lr", 0.02),
        lambda p: torch.optim.AdamW(p, weight_decay=0.1), None, lambda s: 0.1 * (s + 1) / 2 if s < 2 else cosine(s - 2, 7, 0.1, 0.02)),
    "sgd by milestones": (
        ("--optimizer", "sgd", "--momentum", 0.9, "--nesterov", "true", "--schedule", "multistep", "--milestones", "1,2", "--gamma", 0.5),
        lambda p: torch.optim.SGD(p, momentum=0.9, nesterov=True), None, lambda s: 0.1 * 0.5 ** (s // 3)),
    "sgd on a line": (
        ("--optimizer", "sgd", "--momentum", 0.5, "--weight-decay", 0.01, "--schedule", "linear", "--min-lr", 0.01, "--clip", 0.5),
        lambda p: torch.optim.SGD(p, momentum=0.5, weight_decay=0.01), 0.5, lambda s: 0.1 + (0.01 - 0.1) * s / 9),
    "adam, constant": (("--schedule", "constant", "--clip", 1), lambda p: torch.optim.Adam(p), 1, lambda s: 0.1),
}


@pytest.mark.parametrize("name", RECIPES)
def test_every_flag_of_optimizers_and_schedules(daemon, tmp_path, name):
    flags, make, clip, rate = RECIPES[name]
    data = index_csv(tmp_path / "d.csv", 24, target=lambda i: i / 10)
    job = daemon.train(*index_job(data, "--lr", 0.1, "--valid", "none", "--batch-size", 8, "--nproc", 2, "--epochs", 3, *flags))
    w = torch.nn.Parameter(torch.zeros(1))
    optimizer = make([w])
    rates, losses = [], []
    for batch in [batch for epoch in range(3) for batch in batches(24, 8, epoch)]:
        rates.append(rate(len(rates)))
        optimizer.param_groups[0]["lr"] = rates[-1]
        optimizer.zero_grad()
        loss = ((w - torch.tensor(batch) / 10) ** 2).mean()
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_([w], clip)
        optimizer.step()
        losses.append(loss.item())
    assert daemon.values(job, "lr") == pytest.approx(rates, rel=1e-12)
    assert daemon.values(job, "loss") == pytest.approx(losses, rel=1e-4)
    assert model_of(daemon, job)["w"].item() == pytest.approx(w.item(), rel=1e-5)


def test_histograms_of_parameters_and_gradients(daemon, tmp_path):
    data = blobs(tmp_path / "d.csv", ["u", "v", "w"])
    twin = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    generator = torch.Generator().manual_seed(6)
    for parameter in twin.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator)
    tensors = dict(zip(["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"], twin.parameters()))
    save_file({name: tensor.detach().clone() for name, tensor in tensors.items()}, tmp_path / "w.safetensors")
    job = daemon.train(*blobs_job(data, *FROZEN, "--init-from", tmp_path / "w.safetensors", "--epochs", 2, "--watch-every", 2))
    found = json.loads(daemon.ctl("histograms", job, "--max-steps", 10, "-o", "json"))["histograms"]
    assert {(h["series"], int(h["step"])) for h in found} == {(f"{kind}/{name}", step) for kind in ("param", "grad") for name in tensors
                                                              for step in (2, 4, 6)}
    rows = [line.split(",") for line in open(data).read().splitlines()[1:]]
    x = torch.tensor([[float(a), float(b)] for a, b, _ in rows])
    y = torch.tensor(["uvw".index(label) for _, _, label in rows])
    steps = batches(60, 20, 0) + batches(60, 20, 1)
    for histogram in found:
        kind, name = histogram["series"].split("/")
        values = tensors[name]
        if kind == "grad":
            batch = steps[int(histogram["step"]) - 1]
            values = torch.autograd.grad(F.cross_entropy(twin(x[batch]), y[batch]), values)[0]
        assert (histogram["min"], histogram["max"]) == pytest.approx((values.min().item(), values.max().item()), rel=1e-4, abs=1e-6)
        counts = [int(count) for count in histogram["counts"]]
        assert len(counts) == 64 and sum(counts) == values.numel() and histogram["non_finite"] == "0"
        if kind == "param":
            assert counts == np.histogram(values.detach().double().numpy(), bins=64)[0].tolist()
