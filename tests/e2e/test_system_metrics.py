"""What ranks take from the machine, where the time of steps goes, and what the model makes of its validation data."""

import csv
import io
import json
import os
import pathlib
import re
import time

import pytest

from harness import poll, write_csv

SLOTS = 2
CLASSES = ["ant", "bee", "cow"]
TINY = tuple(word for option in ("dim=16", "layers=1", "heads=2", "ffn=32", "dropout=0") for word in ("--model-option", option))
STEP_PARTS = ["step_time/data", "step_time/compute", "step_time/reduce", "step_time/optimizer"]


def points(daemon, job, series):
    """[(step, time, value)] of one series of the merged view, in order."""
    rows = csv.DictReader(io.StringIO(daemon.ctl("metrics", job, "--series", series, "--csv")))
    return [(int(row["step"]), float(row["time"]), float(row["value"])) for row in rows]


def names(daemon, job):
    return {series["series"] for series in json.loads(daemon.ctl("metrics", job, "-o", "json"))["series"]}


def samples(daemon, job):
    """[(step, text)] of the series `samples`."""
    lines = daemon.ctl("metrics", "export", job, "--format", "jsonl", "-o", "-").splitlines()
    found = [row for row in map(json.loads, lines) if row["type"] == "text"]
    assert {row["series"] for row in found} <= {"samples"}
    return [(row["step"], row["text"]) for row in found]


def rss(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_cpu_and_memory_of_each_rank(daemon):
    job = daemon.submit("--mode", "pretrain", "--nproc", 2, "--epochs", 1000, "--batch-size", 256, *TINY)
    daemon.wait_step(job, 1)
    pids = daemon.worker_pids(job)
    begin = [(time.monotonic(), cpu_seconds(pid)) for pid in pids]
    # The first point comes a second after training has begun, the next one five seconds later.
    poll(lambda: all(len(points(daemon, job, f"rank/{k}/rss_bytes")) >= 2 for k in range(2)), "two points of each rank")
    for k, pid in enumerate(pids):
        now = rss(pid)
        seconds = time.monotonic() - begin[k][0]
        percent = 100 * (cpu_seconds(pid) - begin[k][1]) / seconds
        for _, _, value in points(daemon, job, f"rank/{k}/rss_bytes"):
            assert now / 1.5 < value < now * 1.5
        measured = [value for _, _, value in points(daemon, job, f"rank/{k}/cpu_percent")]
        # On one thread. How much of a core it gets is for the machine to say.
        assert all(0 < value <= 130 for value in measured)
        assert percent / 2 < measured[-1] < percent * 2
        assert percent < 30 or measured[-1] > 30
    # What it costs: a runner is small.
    assert rss(daemon.runner_pid(job)) < 20e6
    daemon.ctl("cancel", job)
    assert daemon.wait(job) == "CANCELLED"
    before = points(daemon, job, "rank/0/rss_bytes")
    assert not [name for name in names(daemon, job) if name.startswith("gpu/")]  # there is none here

    # The new attempt's points take the place of none at or before the step that it goes on from.
    stopped_at = int(daemon.job(job)["checkpoint_step"])
    daemon.ctl("resume", job)
    poll(lambda: len(points(daemon, job, "rank/0/rss_bytes")) > len(before), "a point of the second attempt")
    after = points(daemon, job, "rank/0/rss_bytes")
    assert after[: len(before)] == before
    assert after[len(before)][0] >= stopped_at
    daemon.ctl("cancel", "--force", job)


def test_a_killed_daemon_loses_none_and_doubles_none(daemon):
    job = daemon.submit("--mode", "pretrain", "--nproc", 2, "--epochs", 1000, "--batch-size", 256, *TINY)
    poll(lambda: len(points(daemon, job, "rank/1/rss_bytes")) >= 1, "a first point")
    daemon.kill()
    time.sleep(6)  # a point falls into the time without a daemon
    daemon.start()
    poll(lambda: len(points(daemon, job, "rank/1/rss_bytes")) >= 3, "points from before, meanwhile and after")
    daemon.ctl("cancel", job)
    assert daemon.wait(job) == "CANCELLED"
    for series in ("rank/0/rss_bytes", "rank/1/rss_bytes", "rank/1/cpu_percent"):
        times = [time for _, time, _ in points(daemon, job, series)]
        gaps = [b - a for a, b in zip(times, times[1:])]
        assert len(gaps) >= 2 and all(4.9 < gap < 9 for gap in gaps), gaps
    assert len(daemon.job(job)["attempts"]) == 1


def sevens(path, lines):
    """Lines of exactly seven words."""
    path.write_text("".join(f"w{i % 50} " + "and so it goes on here\n" for i in range(lines)))
    return path


@pytest.mark.parametrize("nproc, backend", [(1, "auto"), (2, "shm"), (2, "gloo")])
def test_parts_of_a_step_are_all_of_it(daemon, tmp_path, nproc, backend):
    # One long epoch, no validation, no checkpoint on the way: between two points there is nothing but steps.
    data = sevens(tmp_path / "data.txt", 200000)
    job = daemon.submit("--mode", "pretrain", "--data", data, "--valid", "none", "--nproc", nproc, "--backend", backend, "--epochs", 1,
                        "--batch-size", 64)
    poll(lambda: len(points(daemon, job, "step_time/optimizer")) >= 8, "eight points", 120)
    daemon.ctl("cancel", job)
    assert daemon.wait(job) == "CANCELLED"
    parts = {series: points(daemon, job, series) for series in STEP_PARTS}
    steps = [step for step, _, _ in parts["step_time/data"]]
    assert len(steps) >= 8 and steps == sorted(set(steps)) and steps[-1] < 200000 // 64
    assert all([step for step, _, _ in parts[series]] == steps for series in STEP_PARTS)
    assert all(value >= 0 for series in STEP_PARTS for _, _, value in parts[series])
    assert min(value for _, _, value in parts["step_time/compute"]) > 0
    assert (max(value for _, _, value in parts["step_time/reduce"]) > 0) == (nproc > 1)
    spent = wall = tokens = 0
    rates = points(daemon, job, "tokens_per_second")
    assert [step for step, _, _ in rates] == steps
    for i in range(1, len(steps)):
        seconds = parts["step_time/data"][i][1] - parts["step_time/data"][i - 1][1]
        wall += seconds
        spent += (steps[i] - steps[i - 1]) * sum(parts[series][i][2] for series in STEP_PARTS)
        tokens += seconds * rates[i][2]
    assert 0.9 * wall < spent < 1.02 * wall
    right = 7 * 64 * (steps[-1] - steps[0])
    assert 0.98 * right < tokens < 1.02 * right


def test_tokens_are_counted_without_padding(daemon, tmp_path):
    # Every step reads all of it, so each report is about whole epochs.
    texts = [" ".join(f"t{j}" for j in range(1 + i * i % 13)) for i in range(300)]
    data = tmp_path / "data.txt"
    data.write_text("".join(text + "\n" for text in texts))
    job = daemon.submit("--mode", "pretrain", "--data", data, "--valid", "none", "--nproc", 2, "--epochs", 10000, "--batch-size", 300, *TINY)
    poll(lambda: len(daemon.metrics(job, "tokens_per_second")) >= 2, "two points", 120)
    daemon.ctl("cancel", job)
    assert daemon.wait(job) == "CANCELLED"
    mean = sum(len(text.split()) for text in texts) / len(texts)
    rates = dict(daemon.metrics(job, "samples_per_second"))
    assert len(rates) >= 2
    for step, value in daemon.metrics(job, "tokens_per_second"):
        assert value / rates[step] == pytest.approx(mean, rel=1e-12)


def animals(path, n, begin):
    """Rows whose text is one of a kind, and whose label follows from its second word."""
    rows = [(f"{i} {CLASSES[i % 3]} walks number{i}", CLASSES[i % 3]) for i in range(begin, begin + n)]
    return write_csv(path, ["text", "label"], rows), dict(rows)


def test_samples_of_a_classification(daemon, tmp_path):
    train, _ = animals(tmp_path / "train.csv", 600, 0)
    valid, labels = animals(tmp_path / "valid.csv", 100, 600)
    # The words of the validation data that training has not.
    known = {word for i in range(600) for word in f"{i} {CLASSES[i % 3]} walks number{i}".split()}
    seen = {" ".join(w if w in known else "[unknown]" for w in text.split()): label for text, label in labels.items()}
    shown = []
    for nproc in (1, 2):
        job = daemon.train("--mode", "finetune", "--data", train, "--valid", valid, "--text-column", "text", "--label-column", "label",
                           "--nproc", nproc, "--epochs", 3, "--batch-size", 50, "--lr", "0.03", *TINY)
        found = samples(daemon, job)
        assert [step for step, _ in found] == [step for step, _ in daemon.metrics(job, "valid_loss")] == [12, 24, 36]
        for _, text in found:
            lines = text.splitlines()
            assert len(lines) == 16
            for i in range(8):
                head = re.fullmatch(rf"{i + 1}\. label (\w+), predicted (\w+) \((\d\.\d\d)\)(, wrong)?", lines[2 * i])
                assert head, lines[2 * i]
                true, predicted, probability, wrong = head.groups()
                # The row that is meant: 8 of 100, evenly.
                assert true == CLASSES[(600 + i * 100 // 8) % 3] == seen[lines[2 * i + 1].strip()]
                assert predicted in CLASSES and (predicted != true) == (wrong is not None)
                assert 1 / 3 - 0.005 <= float(probability) <= 1
        # Three epochs of an easy task: the last ones are right.
        assert "wrong" not in found[-1][1] and daemon.values(job, "valid_acc")[-1] == 1
        shown.append([line for _, text in found for line in text.splitlines()[1::2]])
    assert shown[0] == shown[1]


def test_samples_of_hidden_words_and_of_continuations(daemon, tmp_path):
    data = tmp_path / "data.txt"
    lines = [f"one two three four five six {word} eight nine ten" for word in ("a", "b", "c", "d") for _ in range(100)]
    data.write_text("".join(line + "\n" for line in lines))
    job = daemon.train("--mode", "pretrain", "--data", data, "--valid", data, "--nproc", 1, "--epochs", 2, "--batch-size", 100, *TINY)
    found = samples(daemon, job)
    assert [step for step, _ in found] == [4, 8]
    for _, text in found:
        rows = text.splitlines()
        assert len(rows) == 16
        for masked, holes in zip(rows[::2], rows[1::2]):
            words = masked.split(". ", 1)[1]
            for hole in holes.strip().split(", "):
                true, guess = re.fullmatch(r"(\w+) -> (\S+) \(\d\.\d\d\)", hole).groups()
                words = words.replace("[mask]", true, 1)
            assert words in lines
    job = daemon.train("--mode", "pretrain", "--objective", "clm", "--model", "gpt", "--data", data, "--valid", data, "--nproc", 2,
                       "--epochs", 6, "--batch-size", 40, "--lr", "0.01", "--model-option", "dim=32", "--model-option", "layers=1")
    found = samples(daemon, job)
    assert len(found) == 6
    for _, text in found:
        rows = text.splitlines()
        assert len(rows) == 12
        for prompt, said, right in zip(rows[::3], rows[1::3], rows[2::3]):
            assert prompt.split(". ", 1)[1] == "one two three four five"
            assert len(said.removeprefix("   -> ").split()) == 5
            assert prompt.split(". ", 1)[1] + " " + right.removeprefix("   text: ") in lines
    # It has learnt what can be learnt.
    assert re.search(r"-> six [abcd] eight nine ten", found[-1][1])


def test_a_job_without_text_has_neither_tokens_nor_samples(daemon):
    job = daemon.train("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--nproc", 1, "--epochs", 1, "--limit", 1000,
                       "--batch-size", 100)
    found = names(daemon, job)
    assert "loss" in found and not found & {"tokens_per_second", "samples"}
