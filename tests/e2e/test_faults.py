"""Processes killed with real signals."""

import os
import pathlib
import signal
import socket
import time

import pytest

from harness import alive, poll

SLOTS = 4
LONG = ("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--limit", 8192, "--batch-size", 512, "--epochs", 40,
        "--model-option", "hidden=512,256", "--schedule", "constant", "--nproc", 2)


@pytest.fixture(scope="module")
def reference(daemon):
    return daemon.metrics(daemon.train(*LONG), "loss")


def test_killed_worker_is_named_and_the_job_goes_on(daemon, reference):
    job = daemon.submit(*LONG)
    daemon.wait_step(job, 40)
    pids = daemon.worker_pids(job)
    os.kill(pids[1], signal.SIGKILL)
    poll(lambda: len(daemon.job(job)["attempts"]) == 2, "a second attempt")
    failed = daemon.job(job)["attempts"][0]
    assert failed["outcome"] == "ATTEMPT_OUTCOME_FAILED"
    assert (failed["failure"]["rank"], failed["failure"]["signal"]) == (1, 9)
    assert "rank 1 was killed by signal 9 (SIGKILL)" in failed["failure"]["message"]
    assert not any(alive(pid) for pid in pids)
    assert daemon.wait(job) == "SUCCEEDED"
    second = daemon.job(job)["attempts"][1]
    # From the newest checkpoint: one at the end of each epoch of 16 steps.
    assert int(second["start_step"]) % 16 == 0 and int(second["start_step"]) >= 32
    assert daemon.metrics(job, "loss") == reference


def test_e8_the_killed_rank_is_blamed_not_its_peers(daemon):
    job = daemon.submit(*LONG, "--nproc", 4, "--max-restarts", 0)
    daemon.wait_step(job, 5)
    pids = daemon.worker_pids(job)
    os.kill(pids[2], signal.SIGKILL)
    assert daemon.wait(job) == "FAILED"
    failure = daemon.job(job)["failure"]
    assert (failure["rank"], failure["signal"]) == (2, 9)
    assert not any(alive(pid) for pid in pids)


def test_a_stop_that_nobody_asked_for_is_a_failed_attempt(daemon):
    job = daemon.submit(*LONG, "--max-restarts", 1)
    for attempt in (1, 2):
        poll(lambda: len(daemon.job(job)["attempts"]) == attempt, f"attempt {attempt}")
        poll(lambda: daemon.state(job) == "RUNNING", f"attempt {attempt} trains")
        os.kill(daemon.runner_pid(job), signal.SIGTERM)  # saves, so the next one has made no failure yet
        poll(lambda: daemon.job(job)["attempts"][attempt - 1]["outcome"] != "ATTEMPT_OUTCOME_UNSPECIFIED", "its end")
        stopped = daemon.job(job)["attempts"][attempt - 1]
        assert stopped["outcome"] == "ATTEMPT_OUTCOME_STOPPED"
        assert stopped["failure"]["message"].startswith("nobody asked for it, but the attempt stopped; saved at step ")
    poll(lambda: daemon.state(job) == "RUNNING", "attempt 3 trains")
    assert daemon.job(job)["restarts"] == 2
    daemon.ctl("cancel", "--force", job)

    job = daemon.submit(*LONG, "--max-restarts", 0)
    daemon.wait_step(job, 1)
    os.kill(daemon.runner_pid(job), signal.SIGTERM)
    assert daemon.wait(job) == "FAILED"
    assert daemon.job(job)["state_reason"].endswith("; no restart is left of 0")


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_e8_peers_end_within_seconds(daemon, backend):
    job = daemon.submit(*LONG, "--nproc", 3, "--max-restarts", 0, "--backend", backend)
    daemon.wait_step(job, 5)
    pids = daemon.worker_pids(job)
    os.kill(pids[1], signal.SIGKILL)
    poll(lambda: not any(alive(pid) for pid in pids), "the peers end", timeout=5)
    assert daemon.wait(job) == "FAILED"
    assert daemon.job(job)["failure"]["rank"] == 1


def test_killed_daemon_finds_its_job_again(daemon, reference):
    job = daemon.submit(*LONG)
    daemon.wait_step(job, 30)
    pids = daemon.worker_pids(job)
    daemon.kill()
    time.sleep(0.5)  # training goes on meanwhile; any length will do
    assert all(alive(pid) for pid in pids)
    daemon.start()
    assert daemon.worker_pids(job) == pids
    assert daemon.wait(job) == "SUCCEEDED"
    found = daemon.job(job)
    assert len(found["attempts"]) == 1 and found["restarts"] == 0
    assert daemon.metrics(job, "loss") == reference


def test_job_that_ends_while_the_daemon_is_away(daemon):
    job = daemon.submit(*LONG, "--max-steps", 60)
    daemon.wait_step(job, 5)
    pids = daemon.worker_pids(job)
    runner = daemon.runner_pid(job)
    daemon.kill()
    poll(lambda: not any(alive(pid) for pid in [*pids, runner]), "the attempt ends without a daemon")
    daemon.start()
    assert daemon.wait(job) == "SUCCEEDED"
    assert [step for step, _ in daemon.metrics(job, "loss")] == list(range(1, 61))


def test_killed_runner_takes_its_workers_along_and_the_job_restarts(daemon, reference):
    job = daemon.submit(*LONG)
    daemon.wait_step(job, 40)
    pids = daemon.worker_pids(job)
    os.kill(daemon.runner_pid(job), signal.SIGKILL)
    poll(lambda: not any(alive(pid) for pid in pids), "the workers end", timeout=5)
    poll(lambda: len(daemon.job(job)["attempts"]) == 2, "a second attempt")
    assert daemon.job(job)["attempts"][0]["outcome"] == "ATTEMPT_OUTCOME_LOST"
    assert daemon.wait(job) == "SUCCEEDED"
    assert daemon.metrics(job, "loss") == reference


def test_c1_step_lr_across_kills(daemon):
    job = daemon.submit("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--limit", 8192, "--batch-size", 256, "--epochs", 9,
                        "--model-option", "hidden=512,256", "--nproc", 2, "--max-restarts", 9)
    for after_epoch in (2, 4, 6):
        daemon.wait_step(job, 32 * after_epoch + 3)
        os.kill(daemon.worker_pids(job)[0], signal.SIGKILL)
        poll(lambda: daemon.job(job)["restarts"] == after_epoch // 2, "a restart")
    assert daemon.wait(job) == "SUCCEEDED"
    rates = daemon.metrics(job, "lr")
    assert [step for step, _ in rates] == list(range(1, 32 * 9 + 1))
    right = [1e-3 * 0.1 ** ((step - 1) // 32 // 3) for step, _ in rates]
    assert [rate for _, rate in rates] == pytest.approx(right, rel=1e-12)


def test_damaged_checkpoint_is_passed_over(daemon):
    job = daemon.submit(*LONG)
    daemon.wait_step(job, 40)
    daemon.ctl("cancel", job)
    newest = daemon.checkpoint(job)
    weights = newest / "model.safetensors"
    raw = bytearray(weights.read_bytes())
    raw[len(raw) // 2] ^= 1
    weights.write_bytes(raw)
    daemon.ctl("resume", job)
    poll(lambda: int(daemon.job(job)["attempts"][-1]["start_step"]) > 0 and daemon.state(job) == "RUNNING", "it trains again")
    assert int(daemon.job(job)["attempts"][-1]["start_step"]) % 16 == 0
    daemon.ctl("cancel", "--force", job)
    events = daemon.events(job)
    assert "a checkpoint is not used" in events and str(weights) in events


def test_a_disk_that_refuses_for_a_while_costs_nothing(daemon, reference):
    job = daemon.submit(*LONG)
    daemon.wait_step(job, 20)
    folder = daemon.home / "jobs" / job / "checkpoints"
    folder.rename(folder.with_name("aside"))
    folder.write_text("")  # a file where the folder should be: nothing can be saved
    poll(lambda: "cannot save step" in daemon.ctl("logs", job, "--rank", 0), "the worker tells that it cannot save")
    folder.unlink()
    folder.with_name("aside").rename(folder)
    assert daemon.wait(job) == "SUCCEEDED"
    assert len(daemon.job(job)["attempts"]) == 1
    assert "the older checkpoints stay, and training goes on" in daemon.events(job)
    assert daemon.metrics(job, "loss") == reference
    assert daemon.checkpoint(job).name == "step-00000640"


def test_non_finite_loss_stops_without_a_retry(daemon, tmp_path):
    data = tmp_path / "big.csv"
    data.write_text("x,y\n" + "".join(f"{1e30 * (i + 1)},{1e30}\n" for i in range(8)))
    job = daemon.train("--mode", "finetune", "--objective", "regression", "--data", data, "--feature-columns", "x",
                       "--label-column", "y", "--valid", "none", "--nproc", 2, "--batch-size", 4, "--epochs", 1, expect="FAILED")
    found = daemon.job(job)
    assert len(found["attempts"]) == 1 and found["failure"]["retryable"] is False
    assert "at step 1: stopped before the update" in found["failure"]["message"]
    assert "the loss is inf" in found["failure"]["message"] or "the loss is nan" in found["failure"]["message"]
    assert not (daemon.home / "jobs" / job / "checkpoints").exists()


def listening_addresses(pids):
    """Local addresses of the listening TCP sockets of the processes, as they stand in /proc."""
    inodes = set()
    for pid in pids:
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = os.readlink(link)
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not os.path.exists(table):
            continue
        for line in pathlib.Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                found.append(fields[1].split(":")[0])
    return found


@pytest.mark.parametrize("backend", ["shm", "gloo"])
def test_e4_only_loopback_is_listened_on(daemon, backend):
    job = daemon.submit(*LONG, "--backend", backend)
    daemon.wait_step(job, 1)
    addresses = listening_addresses([*daemon.worker_pids(job), daemon.runner_pid(job), daemon.process.pid])
    # 127.0.0.1 and ::ffff:127.0.0.1, its name on a socket that also speaks IPv6.
    assert addresses and set(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    daemon.ctl("cancel", "--force", job)


def test_e3_no_port_is_guessed(daemon):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 29500))
        taken.listen()
        for _ in range(3):
            jobs = [daemon.submit("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--limit", 64, "--max-steps", 1, "--nproc", 1)
                    for _ in range(8)]
            assert [daemon.wait(job) for job in jobs] == ["SUCCEEDED"] * 8
            assert all(len(daemon.job(job)["attempts"]) == 1 for job in jobs)


def test_e1_nothing_is_left_after_a_forced_cancel(daemon):
    job = daemon.submit(*LONG)
    daemon.wait_step(job, 3)
    pids = [*daemon.worker_pids(job), daemon.runner_pid(job)]
    daemon.ctl("cancel", "--force", job)
    assert daemon.state(job) == "CANCELLED"
    poll(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in pids), "no process and no zombie", timeout=3)
