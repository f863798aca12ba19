"""Submit, watch, cancel, pause, resume, finetune, delete: what a user does on a good day."""

import json
import os
import signal
import subprocess

import pytest
from safetensors.torch import load_file

from harness import BIN, alive, write_csv

# 40 epochs of 16 steps of some 15 ms: long enough to be stopped in the middle.
LONG = ("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--limit", 8192, "--batch-size", 512, "--epochs", 40,
        "--model-option", "hidden=512,256", "--model-option", "dropout=0.1", "--nproc", 2, "--schedule", "constant")


@pytest.fixture(scope="module")
def reference(daemon):
    """The losses of LONG when nobody touches it."""
    return daemon.metrics(daemon.train(*LONG), "loss")


def test_cancel_saves_and_resume_goes_on_bit_for_bit(daemon, reference):
    job = daemon.submit(*LONG)
    daemon.wait_step(job, 40)
    pids = daemon.worker_pids(job)
    assert len(pids) == 2 and all(alive(pid) for pid in pids)
    answer = json.loads(daemon.ctl("cancel", job, "-o", "json"))
    saved = int(answer["checkpoint_step"])
    assert answer["state"] == "JOB_STATE_CANCELLED" and 40 <= saved < 640
    assert not any(alive(pid) for pid in pids)
    assert [step for step, _ in daemon.metrics(job, "loss")] == list(range(1, saved + 1))
    assert f"goes on at step {saved}" in daemon.ctl("resume", job)
    assert daemon.wait(job) == "SUCCEEDED"
    attempts = daemon.job(job)["attempts"]
    assert [int(a["start_step"]) for a in attempts] == [0, saved]
    assert daemon.metrics(job, "loss") == reference


def test_cancel_does_not_wait_for_a_big_step(daemon):
    """16 micro-batches a step and rank: the step is dropped in the middle and done again by the resume."""
    big = ("--mode", "pretrain", "--data", "wordnet:adj", "--limit", 4096, "--batch-size", 4096, "--epochs", 3, "--valid", "none",
           "--nproc", 2)
    right = daemon.metrics(daemon.train(*big), "loss")
    job = daemon.submit(*big)
    daemon.wait_step(job, 1)
    saved = int(json.loads(daemon.ctl("cancel", job, "-o", "json"))["checkpoint_step"])
    assert saved in (1, 2)
    assert [step for step, _ in daemon.metrics(job, "loss")] == list(range(1, saved + 1))
    daemon.ctl("resume", job)
    assert daemon.wait(job) == "SUCCEEDED"
    assert daemon.metrics(job, "loss") == right


@pytest.mark.parametrize("ranks", (1, 2))
def test_a_step_that_is_given_up_leaves_no_trace(daemon, ranks):
    """Batch normalisation moves its running statistics in the forward pass; 32 or 16 micro-batches a step and rank."""
    big = ("--mode", "finetune", "--model", "resnet18", "--data", "fashion-mnist", "--limit", 512, "--batch-size", 256, "--micro-batch", 8,
           "--epochs", 2, "--valid", "none", "--nproc", ranks)
    whole = daemon.train(*big)
    job = daemon.submit(*big)
    daemon.wait_step(job, 1)
    assert "PAUSED, saved at step" in daemon.ctl("pause", job)
    assert int(daemon.job(job)["checkpoint_step"]) == 1  # nothing else has saved it: the epoch has a second step
    daemon.ctl("resume", job)
    assert daemon.wait(job) == "SUCCEEDED"
    assert daemon.metrics(job, "loss") == daemon.metrics(whole, "loss")
    assert (daemon.checkpoint(job) / "model.safetensors").read_bytes() == (daemon.checkpoint(whole) / "model.safetensors").read_bytes()


def test_pause_and_resume(daemon, reference):
    job = daemon.submit(*LONG)
    daemon.wait_step(job, 20)
    assert "PAUSED, saved at step" in daemon.ctl("pause", job)
    assert daemon.state(job) == "PAUSED"
    daemon.ctl("resume", job)
    assert daemon.wait(job) == "SUCCEEDED"
    assert daemon.metrics(job, "loss") == reference


def test_pretrain_then_finetune(daemon):
    size = ("--batch-size", 256, "--limit", 2048, "--model-option", "dim=64", "--nproc", 2)
    parent = daemon.train("--mode", "pretrain", "--epochs", 1, "--data", "wordnet:adv", *size)
    child = daemon.train("--mode", "finetune", "--epochs", 1, "--data", "wordnet:adj", "--init-from", parent, "--limit", 512)
    assert daemon.job(child)["parent_id"] == parent
    assert daemon.job(child)["spec"]["training"]["model"]["options"]["dim"] == "64"
    events = daemon.events(child)
    # 2 layers of 12 tensors, 2 embeddings and the last norm's 2 of 30; the head is new.
    assert "loaded 28 of 30 tensors; fresh: head.weight, head.bias; not used: mlm.bias" in events
    assert "text_batches grouped by length" in events
    assert len(daemon.values(child, "loss")) == 1
    # A checkpoint folder is a parent like a job: the model, its options and the length of texts are its.
    folder = daemon.checkpoint(parent)
    from_folder = json.loads(daemon.ctl("submit", "--mode", "finetune", "--data", "wordnet:adj", "--init-from", folder, "--limit", 512,
                                        "--dry-run", "-o", "json"))["training"]
    from_job = json.loads(daemon.ctl("submit", "--mode", "finetune", "--data", "wordnet:adj", "--init-from", parent, "--limit", 512,
                                     "--dry-run", "-o", "json"))["training"]
    assert from_folder["model"] == from_job["model"] == daemon.job(parent)["spec"]["training"]["model"]
    assert from_folder["data"] == from_job["data"]
    # lr so small that nothing moves: the weights are the parent's.
    frozen = daemon.train("--mode", "finetune", "--epochs", 1, "--data", "wordnet:adj", "--init-from", parent, "--limit", 512,
                          "--lr", "1e-30")
    old = load_file(daemon.checkpoint(parent) / "model.safetensors")
    new = load_file(daemon.checkpoint(frozen) / "model.safetensors")
    assert all(old[name].equal(new[name]) for name in old if name != "mlm.bias")
    assert set(new) - set(old) == {"head.weight", "head.bias"}


def test_embedding_objective_reports_a_collapse(daemon):
    job = daemon.train("--mode", "pretrain", "--objective", "embedding", "--data", "wordnet:adv", "--limit", 1024,
                       "--batch-size", 256, "--epochs", 1, "--model-option", "dim=32", "--nproc", 2)
    assert len(daemon.values(job, "emb_std")) == 1
    losses = daemon.values(job, "loss")
    assert len(losses) == 4 and losses[-1] < losses[0]


def test_each_epoch_leaves_a_checkpoint_and_the_last_three_stay(daemon, tmp_path):
    data = write_csv(tmp_path / "d.csv", ["x", "y"], [[i, i % 2] for i in range(40)])
    job = daemon.train("--mode", "finetune", "--data", data, "--feature-columns", "x", "--label-column", "y", "--epochs", 5,
                       "--batch-size", 10, "--valid", "none", "--nproc", 1)
    folders = sorted(p.name for p in (daemon.home / "jobs" / job / "checkpoints").glob("step-*"))
    assert folders == ["step-00000012", "step-00000016", "step-00000020"]
    files = sorted(p.name for p in daemon.checkpoint(job).iterdir())
    assert files == ["manifest.json", "model.safetensors", "optimizer.safetensors", "state.json"]
    manifest = json.loads((daemon.checkpoint(job) / "manifest.json").read_text())
    assert manifest["step"] == 20
    assert manifest["files"]["state.json"]["bytes"] == os.path.getsize(daemon.checkpoint(job) / "state.json")


def test_jobs_wait_for_slots_and_start_in_order(daemon):
    first = daemon.submit(*LONG)
    second = daemon.submit(*LONG, "--max-steps", 4)
    daemon.wait_step(first, 1)
    assert daemon.state(second) == "QUEUED"
    daemon.ctl("cancel", first)
    assert daemon.wait(second) == "SUCCEEDED"


def test_logs_and_list(daemon):
    job = daemon.train(*LONG, "--max-steps", 2, "--name", "two\nsteps \x1b[31m")
    log = daemon.ctl("logs", job)
    assert log.startswith("rank 0 | ") and "facts:" in log
    row = daemon.ctl("list").splitlines()[1]
    assert row.startswith(job) and "two\\nsteps \\x1B[31m" in row
    assert daemon.ctl("list", "--state", "succeeded", "--limit", 1).count("\n") == 2


def test_submit_is_idempotent(daemon):
    args = ("--mode", "pretrain", "--max-steps", 1, "--limit", 64, "--valid", "none", "--request-id", "once")
    first = daemon.submit(*args)
    assert daemon.submit(*args) == first
    done = daemon.run("submit", *args, "--lr", "0.5")
    assert done.returncode == 5 and "request_id was used with another spec" in done.stderr
    daemon.wait(first)


def test_three_spellings_of_one_spec(daemon, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text("training:\n  mode: pretrain\n  lr: 0.002\n  data: {limit: 100, source: 'wordnet:adv'}\n")
    by_file = daemon.ctl("submit", "-f", file, "--dry-run", "-o", "json")
    by_set = daemon.ctl("submit", "--set", "training.mode=pretrain", "--set", "training.lr=2e-3", "--set",
                        "training.data.limit=100", "--set", "training.data.source=wordnet:adv", "--dry-run", "-o", "json")
    by_flags = daemon.ctl("submit", "--mode", "pretrain", "--lr", "0.002", "--limit", "100", "--data", "wordnet:adv",
                          "--dry-run", "-o", "json")
    assert by_file == by_set == by_flags
    assert json.loads(by_flags)["training"]["lr"] == 0.002
    # What a dry run prints can be submitted.
    file.write_text(daemon.ctl("submit", "-f", file, "--dry-run"))
    assert daemon.ctl("submit", "-f", file, "--dry-run", "-o", "json") == by_file


def test_delete(daemon):
    job = daemon.train(*LONG, "--max-steps", 1)
    assert (daemon.home / "jobs" / job).exists()
    daemon.ctl("delete", job)
    assert not (daemon.home / "jobs" / job).exists()
    assert daemon.run("get", job).returncode == 4


def test_ctrl_c_detaches(daemon):
    job = daemon.submit(*LONG)
    daemon.wait_step(job, 1)
    watch = subprocess.Popen([BIN / "ddpctl", "watch", job], env=daemon.env, stderr=subprocess.PIPE, text=True)
    assert watch.stderr.readline()  # it has begun to tell
    watch.send_signal(signal.SIGINT)
    _, text = watch.communicate(timeout=20)
    assert watch.returncode == 130
    assert f"ddpctl watch {job}" in text
    assert daemon.state(job) == "RUNNING"
    daemon.ctl("cancel", "--force", job)


def test_second_daemon_is_refused(daemon):
    second = subprocess.run([BIN / "ddpd", "--home", daemon.home], capture_output=True, text=True, timeout=30)
    assert second.returncode == 1
    assert f"another ddpd (pid {daemon.process.pid}) uses {daemon.home}" in second.stderr


def test_autostart_and_stop(tmp_path):
    env = os.environ | {"DDPD_HOME": str(tmp_path / "home")}
    run = lambda *args: subprocess.run([BIN / "ddpctl", *args], env=env, capture_output=True, text=True, timeout=120)
    submitted = run("submit", "--mode", "pretrain", "--max-steps", "1", "--limit", "64", "--nproc", "1", "--valid", "none")
    assert submitted.returncode == 0, submitted.stderr
    assert run("wait", submitted.stdout.strip()).stdout == "SUCCEEDED\n"
    info = json.loads(run("daemon", "status", "-o", "json").stdout)
    assert run("daemon", "stop").returncode == 0
    assert not alive(int(info["pid"]))
    assert run("daemon", "status").returncode == 3
    for name, mode in [("", 0o700), ("token", 0o600)]:
        assert (tmp_path / "home" / name).stat().st_mode & 0o777 == mode
