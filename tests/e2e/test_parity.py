"""ddpd against PyTorch on the same weights and data, and against itself on other numbers of ranks and another backend."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file

from harness import write_csv
from python_ddp import make_model

SLOTS = 3
STEPS = 20
SAMPLES = 96
CLASSES = 5


def mlp_case(folder):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(SAMPLES, 8, generator=generator)
    y = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    names = [f"f{i}" for i in range(8)]
    data = write_csv(folder / "mlp.csv", [*names, "label"], [[*map(repr, row.tolist()), f"c{label}"] for row, label in zip(x, y.tolist())])
    config = {"model": "mlp", "widths": [8, 64, 32, CLASSES]}
    args = ("--model", "mlp", "--model-option", "hidden=64,32", "--feature-columns", ",".join(names))
    return config, (x, y), (*args, "--data", data)


def text_case(folder):
    generator = torch.Generator().manual_seed(2)
    lengths = torch.randint(3, 17, (SAMPLES,), generator=generator).tolist()
    letters = torch.randint(ord("a"), ord("z") + 1, (SAMPLES, 16), generator=generator)
    y = torch.randint(CLASSES, (SAMPLES,), generator=generator)
    texts = [bytes(row[:n].tolist()).decode() for row, n in zip(letters, lengths)]
    tokens = torch.zeros(SAMPLES, 16, dtype=torch.long)
    for i, text in enumerate(texts):
        tokens[i, : len(text)] = torch.tensor([b + 3 for b in text.encode()])  # 0, 1, 2 are pad, unknown, mask
    data = write_csv(folder / "text.csv", ["text", "label"], [[t, f"c{label}"] for t, label in zip(texts, y.tolist())])
    config = {
        "model": "text-encoder",
        "shape": {"vocab": 259, "max_tokens": 16, "dim": 32, "layers": 2, "heads": 4, "classes": CLASSES},
    }
    args = ("--model", "text-encoder", "--model-option", "dim=32", "--model-option", "dropout=0", "--tokenizer", "bytes",
            "--max-tokens", 16, "--text-column", "text")
    return config, (tokens, y), (*args, "--data", data)


@pytest.fixture(scope="module", params=[mlp_case, text_case], ids=["mlp", "text-encoder"])
def case(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parity")
    config, inputs, args = request.param(folder)
    torch.manual_seed(3)
    weights = str(folder / "initial.safetensors")
    save_file(dict(make_model(config).state_dict()), weights)
    torch.save(list(inputs), folder / "inputs.pt")
    config |= {"weights": weights, "inputs": str(folder / "inputs.pt"), "batch": 24, "steps": STEPS, "lr": 1e-3, "seed": 7,
               "out": str(folder / "losses.json")}
    (folder / "config.json").write_text(json.dumps(config))
    job = ("--mode", "finetune", "--label-column", "label", "--valid", "none", "--init-from", weights, "--batch-size", 24,
           "--max-steps", STEPS, "--lr", 1e-3, "--seed", 7, "--schedule", "constant", *args)
    return folder, job


def torchrun(folder):
    command = [pathlib.Path(sys.executable).parent / "torchrun", "--standalone", "--nproc-per-node", "2",
               pathlib.Path(__file__).with_name("python_ddp.py"), folder / "config.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "losses.json").read_text())


def test_loss_of_every_step_is_that_of_torchrun(daemon, case):
    folder, job = case
    right = torchrun(folder)
    ours = daemon.values(daemon.train(*job, "--nproc", 2), "loss")
    assert len(ours) == STEPS and right[-1] < right[0]
    assert ours == pytest.approx(right, rel=1e-5)


def test_any_number_of_ranks_gives_the_same_curve(daemon, case):
    _, job = case
    curves = [daemon.values(daemon.train(*job, "--nproc", ranks), "loss") for ranks in (1, 2, 3)]
    assert curves[1] == pytest.approx(curves[0], rel=1e-5)
    assert curves[2] == pytest.approx(curves[0], rel=1e-5)


def test_any_micro_batch_gives_the_same_curve(daemon, case):
    """Texts are grouped by length and trimmed to the longest of the micro-batch; a rank's share is 12 samples."""
    _, job = case
    whole, some, each = (daemon.values(daemon.train(*job, "--nproc", 2, "--micro-batch", n), "loss") for n in (12, 5, 1))
    assert some == pytest.approx(whole, rel=1e-5)
    assert each == pytest.approx(whole, rel=1e-5)


def test_two_runs_give_the_same_bits(daemon, case):
    _, job = case
    runs = [daemon.train(*job, "--nproc", 2) for _ in range(2)]
    assert daemon.values(runs[0], "loss") == daemon.values(runs[1], "loss")
    weights = [(daemon.checkpoint(run) / "model.safetensors").read_bytes() for run in runs]
    assert weights[0] == weights[1]


def test_gloo_gives_the_bits_of_shared_memory(daemon, case):
    """Of two ranks: a + b has one order."""
    _, job = case
    shm = daemon.train(*job, "--nproc", 2, "--backend", "shm")
    gloo = daemon.train(*job, "--nproc", 2, "--backend", "gloo")
    assert daemon.values(shm, "loss") == daemon.values(gloo, "loss")


def test_dropout_and_masks_do_not_depend_on_restarts_but_on_the_seed(daemon):
    base = ("--mode", "pretrain", "--data", "wordnet:adv", "--limit", 256, "--batch-size", 64, "--epochs", 1, "--nproc", 2,
            "--model-option", "dim=32")
    first, second = (daemon.values(daemon.train(*base), "loss") for _ in range(2))
    assert first == second
    assert daemon.values(daemon.train(*base, "--seed", 1), "loss") != first
