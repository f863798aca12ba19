"""D and G of notes/cases.md: weights and data that do not fit; histograms; docs/cases.md lists all cases."""

import json
import math

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from harness import poll
from rigs import FROZEN, batches, blobs, blobs_job, model_of

SLOTS = 4


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
    # So they do when another layer than the head starts fresh.
    child = daemon.train(*blobs_job(some, "--epochs", 1, "--init-from", parent, "--reinit", "layers.0.*"))
    assert "loaded 2 of 4 tensors; fresh: layers.0.weight, layers.0.bias" in daemon.events(child)
    assert model_of(daemon, child)["layers.1.weight"].shape == (10, 8)


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
