"""Histograms from a worker that is played by script, through runner and daemon, to ddpctl."""

import json

import pytest

from harness import BIN, poll

FLAGS = ("--worker-binary", BIN.parent / "test-bin" / "ddp-fake-worker")


def submit(daemon, script):
    return daemon.submit("--mode", "pretrain", "--nproc", 1, "--watch-every", 10, "--model-option", f"rank-0={script}")


def histograms(daemon, job, *args):
    found = json.loads(daemon.ctl("histograms", job, "-o", "json", *args))["histograms"]
    return [(h["series"], int(h["step"])) for h in found]


@pytest.fixture(scope="module")
def job(daemon):
    job = submit(daemon, "begin " + " ".join(f"step {n} hist {n}" for n in range(10, 60, 10)) + " finish")
    assert daemon.wait(job) == "SUCCEEDED"
    return job


def test_the_newest_of_each_tensor_is_drawn(daemon, job):
    # The middle of bin i of 64 from -1 to 1, weighted with i + 1.
    mean = sum((i + 1) * (-1 + (i + 0.5) / 32) for i in range(64)) / sum(range(1, 65))
    # Eighths of 64, rounded up: 8 columns of each height.
    bars = "".join(bar * 8 for bar in "▁▂▃▄▅▆▇█")
    assert daemon.ctl("histograms", job) == (
        f"grad/w  step 50  2080 values, mean about {mean:.3g}, 5 not finite\n"
        f"          -1 |{bars}| 1\n"
        f"param/b  step 50  3 values, mean about 50\n"
        f"          50 |{' ' * 63}█| 50\n"
    )


def test_json_holds_every_number(daemon, job):
    first = json.loads(daemon.ctl("histograms", job, "-o", "json"))["histograms"][0]
    assert [int(count) for count in first["counts"]] == list(range(1, 65))
    assert (first["min"], first["max"], first["time"], first["non_finite"]) == (-1.0, 1.0, 50.0, "5")


def test_choice_of_series_and_steps(daemon, job):
    assert histograms(daemon, job, "--series", "grad/*") == [("grad/w", 50)]
    assert histograms(daemon, job, "--series", "nothing", "--series", "*/b") == [("param/b", 50)]
    assert histograms(daemon, job, "--step", 39) == [("grad/w", 30), ("param/b", 30)]
    assert histograms(daemon, job, "--series", "param/b", "--max-steps", 3) == [("param/b", n) for n in (10, 30, 50)]
    assert histograms(daemon, job, "--series", "param/b", "--max-steps", 9, "--step", 30) == [("param/b", n) for n in (10, 20, 30)]


def test_refusals(daemon, job):
    done = daemon.run("histograms", job, "--series", "grads/*")
    assert done.returncode == 4 and "no series matches; the first of them is grad/w" in done.stderr
    done = daemon.run("histograms", "0zzzzzzzzzzz")
    assert done.returncode == 4 and "there is no job 0zzzzzzzzzzz" in done.stderr
    done = daemon.run("histograms", job, "--step", 5)
    assert (done.returncode, done.stdout) == (0, "")
    assert "there are no histograms up to step 5; a job has them with --watch-every N" in done.stderr


def test_points_are_not_disturbed(daemon, job):
    assert daemon.metrics(job, "loss") == [(n, 1 / n) for n in range(10, 60, 10)]
    followed = [json.loads(text) for text in daemon.ctl("metrics", job, "--follow", "-o", "json").replace("}\n{", "}\0{").split("\0")]
    # One or several of the five batches a message, none of them twice and none left out.
    columns = [column for batch in followed for column in batch["columns"]]
    assert {column["series"] for column in columns} == {"loss"}
    assert [(int(step), value) for column in columns for step, value in zip(column["step"], column["value"])] == [(n, 1 / n) for n in range(10, 60, 10)]
    assert followed[-1]["seq"] == "5"


def test_a_killed_daemon_loses_none_and_doubles_none(daemon):
    steps = list(range(1, 101))
    job = submit(daemon, "begin " + " ".join(f"step {n} hist {n} sleep 20" for n in steps) + " finish")
    for some in (10, 40):
        poll(lambda: len(histograms(daemon, job, "--max-steps", 1000)) >= 2 * some, f"{some} histograms of each")
        daemon.kill()
        daemon.start()
    assert daemon.state(job) == "RUNNING"
    assert daemon.wait(job) == "SUCCEEDED"
    assert histograms(daemon, job, "--max-steps", 1000) == [(s, n) for s in ("grad/w", "param/b") for n in steps]
    assert len(daemon.job(job)["attempts"]) == 1


def test_deleted_with_the_job(daemon):
    job = submit(daemon, "begin step 1 hist 1 finish")
    assert daemon.wait(job) == "SUCCEEDED"
    daemon.ctl("delete", job)
    assert daemon.run("histograms", job).returncode == 4
