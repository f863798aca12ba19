"""`ddp-worker --standalone`: the same training as under the daemon, in one process."""

import csv
import json
import signal
import subprocess

import numpy as np
import pytest

from harness import BIN, poll, write_csv

SLOTS = 1


def start(spec, out, cwd, binary="ddp-worker"):
    """Standard output and error go to the files out.txt and err.txt in `cwd`."""
    with open(cwd / "out.txt", "w") as stdout, open(cwd / "err.txt", "w") as stderr:
        return subprocess.Popen([BIN / binary, "--standalone", spec, "--out", out], cwd=cwd, stdout=stdout, stderr=stderr)


def run(tmp_path, spec, out="alone", binary="ddp-worker"):
    """(exit code, standard output, standard error)"""
    if isinstance(spec, dict):
        file = tmp_path / "job.json"
        file.write_text(json.dumps(spec))
        spec = file
    code = start(spec, out, tmp_path, binary).wait(timeout=240)
    return code, (tmp_path / "out.txt").read_text(), (tmp_path / "err.txt").read_text()


def series(folder, name):
    with open(folder / "metrics.csv", newline="") as file:
        return [(int(row["step"]), float(row["value"])) for row in csv.DictReader(file) if row["series"] == name]


def two_moons(path, n=1000):
    rng = np.random.default_rng(7)
    label = rng.integers(0, 2, n)
    angle = rng.uniform(0, np.pi, n)
    x = np.where(label == 0, np.cos(angle), 1 - np.cos(angle)) + rng.normal(0, 0.1, n)
    y = np.where(label == 0, np.sin(angle), 0.5 - np.sin(angle)) + rng.normal(0, 0.1, n)
    return write_csv(path, ["x", "y", "label"], zip(x.tolist(), y.tolist(), label.tolist()))


def moons_job(tmp_path, *args):
    return ("--mode", "finetune", "--model", "mlp", "--model-option", "hidden=64,64", "--data", two_moons(tmp_path / "moons.csv"),
            "--feature-columns", "x,y", "--label-column", "label", "--nproc", 1, "--batch-size", 32, *args)


def weights(checkpoints):
    return (sorted(checkpoints.glob("step-*"))[-1] / "model.safetensors").read_bytes()


def test_the_same_numbers_as_under_the_daemon(daemon, tmp_path):
    job = daemon.train(*moons_job(tmp_path, "--epochs", 3, "--checkpoint-every", 20, "--valid-every", 10))
    code, out, err = run(tmp_path, daemon.job(job)["spec"])
    assert code == 0, err
    for name in ("loss", "acc", "lr", "grad_norm", "valid_loss", "valid_acc", "train_loss"):
        expected = daemon.metrics(job, name)
        assert expected and series(tmp_path / "alone", name) == expected, name
    assert weights(tmp_path / "alone" / "checkpoints") == weights(daemon.home / "jobs" / job / "checkpoints")
    steps = daemon.metrics(job, "loss")[-1][0]
    lines = out.splitlines()
    assert lines[0] == f"goes from step 0 to {steps}"
    assert lines[-1] == f"done at step {steps}"
    loss, acc, valid, valid_acc = (daemon.values(job, name)[-1] for name in ("loss", "acc", "valid_loss", "valid_acc"))
    last = [line for line in lines if line.startswith(f"step {steps}/{steps}  epoch 3/3  loss ")]
    assert len(last) == 1
    assert f"  loss {loss:.6g}  acc {acc:.4f}  lr 0.001  " in last[0] + "  "
    assert f"step {steps}/{steps}  valid_loss {valid:.6g}  valid_acc {valid_acc:.4f}" in lines
    assert "facts: " in err
    # Once more: there is nothing left to do.
    code, out, err = run(tmp_path, daemon.job(job)["spec"])
    assert (code, out) == (0, f"goes from step {steps} to {steps}\ndone at step {steps}\n"), err


def test_an_incomplete_spec_has_the_daemons_defaults(daemon, tmp_path):
    args = moons_job(tmp_path, "--epochs", 1)
    full = json.loads(daemon.ctl("submit", *args, "--dry-run", "-o", "json"))
    data = full["training"]["data"]
    spec = {"training": {"mode": "MODE_FINETUNE", "epochs": 1, "batch_size": 32,
                         "model": {"name": "mlp", "options": {"hidden": "64,64"}},
                         "data": {k: data[k] for k in ("source", "feature_columns", "label_column")}}}
    code, _, err = run(tmp_path, spec)
    assert code == 0, err
    complete = json.loads((tmp_path / "alone" / "spec.json").read_text())

    def present(message):
        return {k: present(v) if isinstance(v, dict) else v for k, v in message.items() if v not in ("", [])}

    assert present(complete) == present(full)
    # What a dry run prints is a spec, and the same one.
    code, out, err = run(tmp_path, full)
    assert (code, out.splitlines()[-1]) == (0, "done at step 29"), err


def test_ctrl_c_saves_and_the_same_command_goes_on(daemon, tmp_path):
    job = daemon.train(*moons_job(tmp_path, "--epochs", 20, "--batch-size", 8, "--keep", 1))
    (tmp_path / "job.json").write_text(json.dumps(daemon.job(job)["spec"]))
    process = start("job.json", "alone", tmp_path)
    poll(lambda: "\nstep " in (tmp_path / "out.txt").read_text(), "a step is reported")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    end = (tmp_path / "out.txt").read_text().splitlines()[-1]
    step = int(end.split()[3].rstrip(","))
    assert end == f"stopped at step {step}, saved; the same command goes on from there"
    assert "stops after this step and saves" in (tmp_path / "err.txt").read_text()
    assert 0 < step < daemon.metrics(job, "loss")[-1][0]
    assert (tmp_path / "alone" / "checkpoints" / f"step-{step:08d}" / "manifest.json").exists()
    assert series(tmp_path / "alone", "loss") == daemon.metrics(job, "loss")[:step]
    code, out, err = run(tmp_path, tmp_path / "job.json")
    assert code == 0, err
    assert out.startswith(f"goes from step {step} to ")
    assert f"goes on from the checkpoint of step {step}" in err
    assert series(tmp_path / "alone", "loss") == daemon.metrics(job, "loss")
    assert weights(tmp_path / "alone" / "checkpoints") == weights(daemon.home / "jobs" / job / "checkpoints")


def test_a_second_ctrl_c_ends_at_once(tmp_path):
    # One pass over 2048 texts takes a second or more, and a stop waits for its end.
    spec = {"training": {"mode": "MODE_PRETRAIN", "batch_size": 2048, "micro_batch": 2048, "data": {"limit": 8192, "valid": "none"}}}
    (tmp_path / "job.json").write_text(json.dumps(spec))
    process = start("job.json", "alone", tmp_path)
    poll(lambda: "\nstep " in (tmp_path / "out.txt").read_text(), "a step is reported", timeout=120)
    process.send_signal(signal.SIGINT)
    poll(lambda: "once more" in (tmp_path / "err.txt").read_text(), "the first Ctrl-C is answered")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == -signal.SIGINT
    assert "stopped" not in (tmp_path / "out.txt").read_text()


def test_starts_from_a_path_and_from_no_job(daemon, tmp_path):
    parent = daemon.train(*moons_job(tmp_path, "--epochs", 1))
    spec = daemon.job(parent)["spec"]
    spec["training"]["init_from"] = str(daemon.checkpoint(parent))
    del spec["training"]["model"]
    code, _, err = run(tmp_path, spec)
    assert code == 0, err
    assert "loaded 6 of 6" in err
    spec["training"]["init_from"] = parent
    code, out, err = run(tmp_path, spec, "other")
    assert (code, out) == (3, "")
    assert "training.init_from: names a job, and there is no daemon here" in err


@pytest.mark.parametrize(
    "change,message",
    [
        ({"lr": 0}, "training.lr: must be a finite number > 0, got 0"),
        ({"lrr": 1}, 'training: unknown field "lrr"; did you mean "lr"?'),
        ({"mode": "pretrain"}, "training.mode: must be one of MODE_UNSPECIFIED, MODE_PRETRAIN, MODE_FINETUNE"),
        ({"data": {"source": "/nowhere/a.csv"}}, "/nowhere/a.csv"),
        ({"model": {"name": "text-encodr"}}, "training.model.name: "),
    ],
)
def test_a_wrong_spec_is_refused_and_starts_nothing(tmp_path, change, message):
    code, out, err = run(tmp_path, {"training": {"mode": "MODE_PRETRAIN", **change}})
    assert (code, out) == (3, "")
    assert err.startswith("ddp-worker: ") and message in err
    assert not (tmp_path / "alone").exists()


def test_two_ranks_need_the_daemon(tmp_path):
    code, _, err = run(tmp_path, {"resources": {"nproc": 2}, "training": {"mode": "MODE_PRETRAIN"}})
    assert code == 3
    assert "resources.nproc: a worker without a daemon is one rank" in err


def test_missing_file_and_wrong_arguments(tmp_path):
    code, out, err = run(tmp_path, tmp_path / "none.json")
    assert (code, out) == (3, "")
    assert f"{tmp_path}/none.json" in err and "No such file" in err
    done = subprocess.run([BIN / "ddp-worker", "--standalone"], capture_output=True, text=True)
    assert done.returncode == 2 and "--standalone SPEC.json" in done.stderr
    done = subprocess.run([BIN / "ddp-worker", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "--standalone SPEC.json" in done.stdout


def test_a_fault_in_the_data_is_named(tmp_path):
    # The check before the start reads only the head of the data.
    rows = [[i, i % 2] for i in range(5000)]
    rows[4000] = ["x", 0]
    data = write_csv(tmp_path / "data.csv", ["a", "b"], rows)
    spec = {"training": {"mode": "MODE_FINETUNE", "batch_size": 10,
                         "data": {"source": data, "feature_columns": ["a"], "label_column": "b"}}}
    code, out, err = run(tmp_path, spec)
    assert (code, out) == (3, ""), err
    assert f'{data}:4002: column "a": "x" is not a finite number' in err


def test_another_spec_does_not_go_on_from_the_checkpoints(tmp_path):
    data = two_moons(tmp_path / "moons.csv", 100)
    spec = {"training": {"mode": "MODE_FINETUNE", "epochs": 1, "batch_size": 10,
                         "data": {"source": data, "feature_columns": ["x", "y"], "label_column": "label"}}}
    assert run(tmp_path, spec)[0] == 0
    spec["training"]["lr"] = 0.5
    code, _, err = run(tmp_path, spec)
    assert code == 3
    assert "holds checkpoints of another spec (modified: training.lr: 0.001 -> 0.5)" in err
