"""ddpctl and what could trip it: dead daemons, odd files, and text that would steer a terminal."""

import os
import re
import signal
import subprocess
import time

import pytest

from harness import BIN
from terminal import on_a_terminal

FLAGS = ("--worker-binary", BIN.parent / "test-bin" / "ddp-fake-worker")
# Red, clear the screen, set the title, and the one-byte (C1) form of ESC [.
NASTY = "\x1b[31mred\x1b[2J\x1b]0;title\x07\u009b1m"
# All that ddpctl itself writes: erase the live line.
OWN = "\r\x1b[K"


def ctl(home, *args, cwd=None):
    """ddpctl that may start a daemon."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("DDPD_")}
    return subprocess.run([BIN / "ddpctl", "--home", home, *args], env=env, cwd=cwd, capture_output=True, text=True, timeout=60)


def daemon_pid(home):
    return int(re.search(r"pid (\d+)", ctl(home, "daemon", "status").stdout)[1])


def test_an_address_that_a_killed_daemon_left(tmp_path):
    home = tmp_path / "home"
    assert ctl(home, "daemon", "start").returncode == 0
    first = daemon_pid(home)
    try:
        os.kill(first, signal.SIGKILL)
        begin = time.monotonic()
        done = ctl(home, "--no-autostart", "list")
        assert (done.returncode, time.monotonic() - begin < 1.5) == (3, True), done.stderr
        assert (home / "address").exists()
        done = ctl(home, "list")
        assert done.returncode == 0, done.stderr
        assert f"no daemon was running; started one (home {home})" in done.stderr
        assert daemon_pid(home) != first
    finally:
        ctl(home, "daemon", "stop")


def test_a_daemon_that_cannot_start_beside_an_old_address(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "address").write_text("127.0.0.1:9\n")
    (home / "ddpd.log").write_text("said by an earlier daemon\n")
    (home / "ddpd.db").write_bytes(b"\x1b[31m" * 1000)
    done = ctl(home, "list")
    assert done.returncode == 3
    assert "ddpd did not start; the end of" in done.stderr and "not a database" in done.stderr
    assert "started one" not in done.stderr and "earlier daemon" not in done.stderr


def test_a_key_that_is_no_word(daemon, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text("name: x\n? [a, b]\n: 1\n")
    done = daemon.run("submit", "-f", file)
    assert (done.returncode, done.stderr) == (2, f"ddpctl: {file}:2: the name of a field must be one word\n")


def test_a_working_folder_that_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"rmdir ../gone && exec {BIN}/ddpctl --no-autostart submit --mode pretrain --data a.csv"
    done = subprocess.run(["sh", "-c", command], cwd=gone, capture_output=True, text=True, timeout=60)
    assert done.returncode == 5
    assert done.stderr.startswith("ddpctl: ") and "a.csv" in done.stderr


@pytest.fixture(scope="module")
def nasty(daemon):
    """A job whose name, notices, log and failure hold escape sequences. (The script is cut at spaces.)"""
    script = f"begin step 1 notice {NASTY}notice fail {NASTY}boom print {NASTY}line exit 1"
    job = daemon.submit("--mode", "pretrain", "--nproc", 1, "--max-restarts", 0, "--name", NASTY, "--tag", NASTY,
                        "--model-option", f"rank-0={script}")
    assert daemon.wait(job) == "FAILED"
    return job


def harmless(text):
    rest = text.replace(OWN, "").replace("\r\n", "\n")
    return all(c in "\n\t" or (c >= " " and not "\x7f" <= c <= "\x9f") for c in rest)


@pytest.mark.parametrize(
    "verb,code,shown",
    [
        (("list",), 0, r"\x1B[31mred"),
        (("list", "-o", "wide"), 0, r"\x1B[2J"),
        (("get",), 0, r"\x1B[31mred"),
        (("get", "-o", "json"), 0, "u001b[31mred"),
        (("get", "-o", "yaml"), 0, "red"),
        (("logs",), 0, r"\x1B[31mred"),
        (("metrics", "--csv"), 0, "loss"),
        (("watch",), 1, r"\x1B[31mred"),
        (("wait",), 1, "FAILED"),
        (("resume", "--nothing" + NASTY), 2, r"\x1B[31mred"),
        (("histograms", "--series", NASTY), 0, "there are no histograms"),
    ],
)
def test_no_text_steers_a_terminal(daemon, nasty, verb, code, shown):
    args = verb if verb[0] == "list" else (verb[0], nasty, *verb[1:])
    got, text = on_a_terminal(daemon.env, *args)
    assert got == code, text
    assert shown in text
    assert harmless(text), repr(text)


def test_refusals_are_escaped_too(daemon):
    for args in (("--model", NASTY), ("--data", f"/{NASTY}.csv"), ("--set", f"training.{NASTY}=1"), ("-f", NASTY), ("--lr", NASTY),
                 ("--tokenizer", NASTY), ("--init-from", NASTY), ("--init-from", f"/{NASTY}")):
        code, text = on_a_terminal(daemon.env, "submit", "--mode", "pretrain", *args, "--dry-run")
        assert r"\x1B[31mred" in text or code == 0, repr(text)
        assert harmless(text), repr(text)


def test_a_pipe_gets_the_bytes(daemon, nasty):
    assert NASTY + "line\n" in daemon.ctl("logs", nasty)
