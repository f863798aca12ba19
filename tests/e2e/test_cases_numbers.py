"""A and B of notes/cases.md (distributed correctness, counting), and every flag of optimizers and schedules; docs/cases.md lists all cases."""

import copy
import json
import math

import numpy as np
import pytest
import torch
import torchvision
from safetensors.torch import save_file
from torch.nn import functional as F

from harness import poll, write_csv
from rigs import FROZEN, batches, index_csv, index_job, model_of, zero_csv, zero_job

SLOTS = 4


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
