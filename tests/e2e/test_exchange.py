"""Exports and imports, against the programs whose files they are."""

import csv
import io
import json
import math
import shutil
import subprocess

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
from torch.utils.tensorboard import SummaryWriter

from harness import BIN, poll

FLAGS = ("--worker-binary", BIN.parent / "test-bin" / "ddp-fake-worker")
STEPS = range(1, 31)


def trains(daemon, script, *args):
    return daemon.submit("--mode", "pretrain", "--nproc", 1, "--watch-every", 10, "--model-option", f"rank-0={script}", *args)


@pytest.fixture(scope="module")
def job(daemon):
    """The fake worker's loss at step n is 1 / n, its times are n; histograms as its own comment says."""
    script = "begin " + " ".join(f"step {n}" for n in STEPS) + " hist 10 hist 20 finish"
    job = trains(daemon, script)
    assert daemon.wait(job) == "SUCCEEDED"
    return job


def load(folder):
    loaded = EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    loaded.Reload()
    return loaded


def test_tensorboard_reads_an_export(daemon, job, tmp_path):
    path = daemon.ctl("metrics", "export", job, "--format", "tensorboard", "-o", tmp_path / "run").strip()
    assert path.startswith(str(tmp_path / "run" / "events.out.tfevents."))
    loaded = load(tmp_path / "run")
    scalars = loaded.Scalars("loss")
    assert [(s.step, s.wall_time, s.value) for s in scalars] == [(n, float(n), float(np.float32(1 / n))) for n in STEPS]
    spread = loaded.Histograms("grad/w")
    assert [h.step for h in spread] == [10, 20]
    value = spread[0].histogram_value
    # Counts 1 to 64 from -1 to 1.
    assert (value.min, value.max, value.num) == (-1, 1, sum(range(1, 65)))
    assert value.bucket == [float(n) for n in range(1, 65)]
    assert np.allclose(value.bucket_limit, [-1 + n / 32 for n in range(1, 65)], rtol=0, atol=1e-15)
    assert value.sum == pytest.approx(sum((i + 1) * (-1 + (i + 0.5) / 32) for i in range(64)))


def test_an_exact_export_has_every_bit(daemon, job, tmp_path):
    daemon.ctl("metrics", "export", job, "--format", "tensorboard", "--exact", "--series", "loss", "-o", tmp_path)
    loaded = load(tmp_path)
    assert [float(tensor_util.make_ndarray(t.tensor_proto)) for t in loaded.Tensors("loss")] == [1 / n for n in STEPS]
    assert loaded.Tags()["histograms"] == []


def test_two_exports_of_one_second_are_two_files(daemon, job, tmp_path):
    paths = {daemon.ctl("metrics", "export", job, "--format", "tensorboard", "-o", tmp_path) for _ in range(3)}
    assert len(paths) == 3


def test_rows(daemon, job, tmp_path):
    file = tmp_path / "loss.csv"
    daemon.ctl("metrics", "export", job, "--format", "csv", "-o", file)
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert [(r["series"], int(r["step"]), float(r["time"]), float(r["value"])) for r in rows] == [
        ("loss", n, float(n), 1 / n) for n in STEPS]
    lines = daemon.ctl("metrics", "export", job, "--format", "jsonl", "-o", "-").splitlines()
    found = [json.loads(line) for line in lines]
    assert [(f["step"], float(f["value"])) for f in found if f["type"] == "scalar"] == [(n, 1 / n) for n in STEPS]
    assert [f["counts"] for f in found if f["type"] == "histogram" and f["series"] == "grad/w"] == [list(range(1, 65))] * 2

    done = daemon.run("metrics", "export", job, "--format", "csv", "-o", file)
    assert done.returncode == 2 and "is there already; --force replaces it" in done.stderr
    daemon.ctl("metrics", "export", job, "--format", "csv", "-o", file, "--force")


def test_refusals(daemon, job, tmp_path):
    done = daemon.run("metrics", "export", job, "--format", "parquet", "-o", tmp_path / "x")
    assert done.returncode == 2 and "use --format csv" in done.stderr
    done = daemon.run("metrics", "export", job, "--format", "csv", "--series", "los", "-o", tmp_path / "x")
    assert done.returncode == 4 and "there is no series los" in done.stderr
    done = daemon.run("metrics", "export", "0zzzzzzzzzzz", "--format", "csv", "-o", tmp_path / "x")
    assert done.returncode == 4
    done = daemon.run("metrics", "import", tmp_path / "nothing", "--dry-run")
    assert done.returncode == 2 and "does not exist" in done.stderr
    done = daemon.run("metrics", "import", tmp_path, "--dry-run")
    assert done.returncode == 2 and "there is no event file" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_following_a_job_across_a_killed_daemon(daemon, tmp_path):
    script = "begin " + " ".join(f"step {n}" for n in range(1, 6)) + " wait-stop finish"
    job = trains(daemon, script)
    args = [BIN / "ddpctl", "--no-autostart", "metrics", "export", job, "--follow"]
    events = subprocess.Popen([*args, "--format", "tensorboard", "-o", tmp_path / "run"], env=daemon.env, stderr=subprocess.PIPE)
    rows = subprocess.Popen([*args, "--format", "csv", "--series", "loss", "-o", tmp_path / "rows.csv"], env=daemon.env, stderr=subprocess.PIPE)
    file = tmp_path / "rows.csv"
    poll(lambda: file.exists() and file.read_text().count("\n") == 6, "five rows while the job runs")
    daemon.kill()
    daemon.start()
    daemon.ctl("cancel", job)
    assert events.wait(60) == 0, events.stderr.read()
    assert rows.wait(60) == 0, rows.stderr.read()
    assert [(int(r["attempt"]), int(r["step"]), float(r["value"])) for r in csv.DictReader(io.StringIO(file.read_text()))] == [
        (1, n, 1 / n) for n in range(1, 6)]
    assert [s.step for s in load(tmp_path / "run").Scalars("loss")] == [1, 2, 3, 4, 5]


def batches(text):
    return [json.loads(piece) for piece in text.replace("}\n{", "}\0{").split("\0")]


def points(batch_list, series):
    return [(int(step), float(time), float(value)) for batch in batch_list for column in batch["columns"] if column["series"] == series
            for step, time, value in zip(column["step"], column["time"], column["value"])]


def test_files_of_pytorchs_summary_writer(daemon, tmp_path):
    values = np.concatenate([np.linspace(-2, 2, 1001), [7.5]])
    with SummaryWriter(tmp_path / "run" / "a") as writer:
        for n in range(100):
            writer.add_scalar("loss", 1 / (n + 1), n, walltime=1000 + n / 8)
        writer.add_scalar("new", 0.1, 1, walltime=5, new_style=True)
        writer.add_scalar("bad", math.nan, 1, walltime=5)
        writer.add_scalar("bad", math.inf, 2, walltime=6)
        writer.add_histogram("spread", values, 3, bins=50, walltime=7)
        writer.add_text("note", "hello\nü", 4, walltime=8)
        writer.add_image("picture", np.zeros((3, 2, 2)), 1)
    with SummaryWriter(tmp_path / "run" / "b") as writer:
        writer.add_scalar("loss", 5, 0)

    done = daemon.run("metrics", "import", tmp_path / "run" / "a", "--dry-run", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert "a: 103 points, 1 histograms, 1 texts" in done.stderr and "left out" in done.stderr
    found = batches(done.stdout)
    assert points(found, "loss") == [(n, 1000 + n / 8, float(np.float32(1 / (n + 1)))) for n in range(100)]
    assert points(found, "new") == [(1, 5.0, float(np.float32(0.1)))]
    assert [str(v) for _, _, v in points(found, "bad")] == ["nan", "inf"]
    (spread,) = [h for batch in found for h in batch["histograms"]]
    counts = [int(c) for c in spread["counts"]]
    assert (spread["min"], spread["max"], sum(counts), len(counts)) == (-2.0, 7.5, 1002, 64)
    # The writer's bins are (7.5 + 2) / 50 wide, ours (7.5 + 2) / 64: no border is further off than one of its bins.
    for i in range(1, 64):
        border = -2 + 9.5 * i / 64
        assert np.sum(values < border - 0.19) - 1 <= sum(counts[:i]) <= np.sum(values < border + 0.19) + 1
    assert [(t["series"], t["text"]) for batch in found for t in batch["texts"]] == [("note/text_summary", "hello\nü")]

    done = daemon.run("metrics", "import", tmp_path / "run", "--name", "x", "--dry-run")
    assert "x/run/a: 103 points" in done.stderr and "x/run/b: 1 points" in done.stderr


def test_a_restart_with_purge_step(daemon, tmp_path):
    with SummaryWriter(tmp_path, filename_suffix=".1") as writer:
        for n in range(10):
            writer.add_scalar("loss", n, n)
            writer.add_scalar("acc", n, n)
    with SummaryWriter(tmp_path, purge_step=6, filename_suffix=".2") as writer:
        writer.add_scalar("loss", 60, 6)
    done = daemon.run("metrics", "import", tmp_path, "--dry-run", "-o", "json")
    found = batches(done.stdout)
    assert [(s, v) for s, _, v in points(found, "loss")] == [(n, n) for n in range(6)] + [(6, 60)]
    assert [s for s, _, _ in points(found, "acc")] == list(range(6))
    # TensorBoard's own reader says the same.
    assert [(s.step, s.value) for s in load(tmp_path).Scalars("loss")] == [(n, n) for n in range(6)] + [(6, 60)]


def test_an_export_is_imported_as_it_was(daemon, job, tmp_path):
    daemon.ctl("metrics", "export", job, "--format", "tensorboard", "--exact", "-o", tmp_path)
    found = batches(daemon.run("metrics", "import", tmp_path, "--dry-run", "-o", "json").stdout)
    assert points(found, "loss") == [(n, float(n), 1 / n) for n in STEPS]
    spread = [h for batch in found for h in batch["histograms"] if h["series"] == "grad/w"]
    assert [[int(c) for c in h["counts"]] for h in spread] == [list(range(1, 65))] * 2
    shutil.rmtree(tmp_path)


def test_lists_show_no_loss_that_an_import_does_not_have(daemon, tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("reward", 5, 3)
    job = daemon.ctl("metrics", "import", tmp_path).strip()
    for verb in (("list",), ("top", "--once")):
        text = daemon.ctl(*verb)
        (row,) = [line for line in text.splitlines() if line.startswith(job)]
        assert "0.0000" not in row
    assert "done: step" not in daemon.run("watch", job).stderr
