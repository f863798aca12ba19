"""ddpctl's charts and live screens, of jobs whose worker is played by script."""


import os
import re
import signal
import subprocess

import pytest

from harness import BIN, poll
from terminal import OnTerminal, on_a_terminal, visible

FLAGS = ("--worker-binary", BIN.parent / "test-bin" / "ddp-fake-worker")


@pytest.fixture(scope="module")
def job(daemon):
    """The fake worker's loss at step n is 1 / n."""
    script = "begin " + " ".join(f"step {n}" for n in range(1, 41)) + " finish"
    job = daemon.submit("--mode", "pretrain", "--nproc", 1, "--model-option", f"rank-0={script}")
    assert daemon.wait(job) == "SUCCEEDED"
    return job


def test_a_chart_in_a_pipe_has_80_columns_and_no_escape_codes(daemon, job):
    done = daemon.run("metrics", job, "--plot", "--series", "loss", env={"LC_ALL": "C.UTF-8"})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "loss  0.025 at step 40  min 0.025  max 1"
    assert len(lines) == 1 + 12 + 2
    assert max(map(len, lines)) == 80
    assert "\x1b" not in done.stdout
    # The curve falls: its first dot is in the top row, its last one in the bottom row.
    assert lines[1][4] != " " and lines[12].rstrip()[-1] in "⣀⡀⢀⣠⠤⠒"


def test_ascii_without_a_utf8_locale(daemon, job):
    done = daemon.run("metrics", job, "--plot", env={"LC_ALL": "C"})
    assert done.returncode == 0 and done.stdout.isascii()
    assert "loss  0.025 at step 40" in done.stdout


def test_size_smoothing_and_log_axis(daemon, job):
    done = daemon.run("metrics", job, "--plot", "--width", 40, "--height", 5, "--log-y", "--smooth", 0.5,
                      "--series", "loss", env={"LC_ALL": "C.UTF-8"})
    lines = done.stdout.splitlines()
    assert len(lines) == 8 and max(map(len, lines)) <= 40
    assert any(line.startswith("0.1") for line in lines)


def test_colours_only_on_a_terminal_that_wants_them(daemon, job):
    env = daemon.env | {"LC_ALL": "C.UTF-8"}
    code, text = on_a_terminal(env, "metrics", job, "--plot", "--series", "loss", columns=40)
    assert code == 0 and "\x1b[36m" in text
    assert max(map(len, visible(text).splitlines())) <= 40
    code, text = on_a_terminal(env | {"NO_COLOR": "1"}, "metrics", job, "--plot", "--series", "loss", columns=40)
    assert code == 0 and "\x1b" not in text


def test_a_series_without_points_is_named(daemon, job):
    done = daemon.run("metrics", job, "--plot", "--series", "los")
    assert done.returncode == 4 and "--series los: there are no points" in done.stderr


def test_flags_that_exclude_each_other(daemon, job):
    done = daemon.run("metrics", job, "--plot", "--csv")
    assert done.returncode == 2 and "--plot draws" in done.stderr
    done = daemon.run("metrics")
    assert done.returncode == 2 and "metrics needs a JOB" in done.stderr
    assert daemon.ctl("metrics", job, "--csv", "--series", "loss").startswith("attempt,series,step,time,value\n0,loss,1,")


def trains(daemon, script, *args):
    return daemon.submit("--mode", "pretrain", "--nproc", 1, "--model-option", f"rank-0={script}", *args)


def leave(daemon, terminal, job):
    """Ctrl-C: what was shown until then. The job goes on, and is ended here."""
    terminal.press("\x03")
    code, text = terminal.end()
    assert code == 130, text
    assert daemon.state(job) == "RUNNING"
    daemon.ctl("cancel", job)
    return text


def test_watch_fits_40_columns_and_follows_a_resize(daemon):
    job = trains(daemon, "begin tell step 1 train 60000 finish")
    daemon.wait_step(job, 20)
    watch = OnTerminal(daemon.env | {"LC_ALL": "C.UTF-8"}, "watch", job, columns=40)
    start = watch.until("loss")
    watch.until("loss", start=start + 10)
    live = [piece.split("\n")[-1] for piece in watch.output.split("\x1b[K")[1:]]
    assert max(len(visible(line)) for line in live if "loss" in line) <= 39
    start = len(watch.output)
    watch.resize(100)
    watch.until("lr 0.001", start=start)
    assert "detached; the job goes on" in leave(daemon, watch, job)


def test_watch_shows_a_curve(daemon):
    job = trains(daemon, "begin tell " + " ".join(f"step {n}" for n in range(1, 30)) + " train 60000 finish")
    daemon.wait_step(job, 40)
    watch = OnTerminal(daemon.env | {"LC_ALL": "C.UTF-8"}, "watch", job, columns=130)
    watch.until("█▁")
    leave(daemon, watch, job)


def test_watch_with_logs_and_without_a_terminal(daemon):
    job = trains(daemon, "begin print one step 1 print two step 2 finish")
    assert daemon.wait(job) == "SUCCEEDED"
    done = daemon.run("watch", job, "--logs")
    assert done.returncode == 0 and "\x1b" not in done.stderr
    assert "rank 0 | one\n" in done.stderr and "rank 0 | two\n" in done.stderr
    # The job's end is the last word.
    assert "SUCCEEDED" in done.stderr.splitlines()[-1]
    assert "rank 0 |" not in daemon.run("watch", job).stderr


def test_watch_logs_survive_a_restart_of_the_daemon_without_doubles(daemon):
    job = trains(daemon, "begin print first tell step 1 wait-stop print second finish")
    daemon.wait_step(job, 1)
    watch = OnTerminal(daemon.env, "watch", job, "--logs")
    watch.until("rank 0 | first")
    daemon.kill()
    daemon.start()
    watch.until("looking for the daemon")
    daemon.ctl("cancel", job)
    code, text = watch.end()
    assert code == 1
    assert text.count("rank 0 | first") == 1 and text.count("rank 0 | second") == 1


@pytest.mark.parametrize("command", [("metrics", "--follow", "--series", "loss"), ("logs", "-f")])
def test_what_is_followed_survives_a_restart_of_the_daemon_without_doubles(daemon, tmp_path, command):
    job = trains(daemon, "begin print first tell step 1 wait-stop print second step 2 finish")
    daemon.wait_step(job, 1)
    with open(tmp_path / "out", "w") as out:
        follower = subprocess.Popen([BIN / "ddpctl", "--no-autostart", command[0], job, *command[1:]], env=daemon.env, stdout=out,
                                    stderr=subprocess.PIPE, text=True)
    poll(lambda: re.search("first|,loss,1,", (tmp_path / "out").read_text()), "its beginning")
    daemon.kill()
    daemon.start()
    daemon.ctl("cancel", job)
    _, talk = follower.communicate(timeout=30)
    assert follower.returncode == 0 and "looking for the daemon" in talk
    lines = [line for line in (tmp_path / "out").read_text().splitlines() if line.startswith("1,loss,") or line.endswith(("first", "second"))]
    if command[0] == "logs":
        assert lines == ["rank 0 | first", "rank 0 | second"]
    else:
        assert [line.split(",")[2] for line in lines] == ["1", "2"]


def test_top_once_is_plain(daemon, job):
    text = daemon.ctl("top", "--once")
    assert job in text and "SUCCEEDED" in text and "\x1b" not in text
    assert text.splitlines()[1] == "slots: 0-1 free"
    done = daemon.run("top")
    assert done.returncode == 2 and "top needs a terminal" in done.stderr


def test_top_steers_after_a_yes_and_gives_the_terminal_back(daemon):
    job = trains(daemon, "begin tell step 1 train 60000 finish")
    daemon.wait_step(job, 20)
    top = OnTerminal(daemon.env, "top")
    top.until(f"\x1b[7m{job}")
    at = top.press("p")
    top.until(f"pause {job}? y/n", start=at)
    at = top.press("n")
    top.until("q quit", start=at)
    assert daemon.state(job) == "RUNNING"
    top.press("p")
    at = top.press("y")
    top.until("PAUSED", start=at)
    at = top.press("r")
    top.until(f"resume {job}? y/n", start=at)
    at = top.press("y")
    top.until("RUNNING", start=at)
    top.press("c")
    top.press("y")
    assert daemon.wait(job) == "CANCELLED"
    top.press("q")
    code, text = top.end()
    assert code == 0
    assert text.startswith("\x1b[?1049h") and text.rstrip().endswith("\x1b[?1049l")


def test_top_watches_and_comes_back(daemon):
    job = trains(daemon, "begin tell step 1 train 60000 finish")
    daemon.wait_step(job, 20)
    top = OnTerminal(daemon.env, "top")
    top.until(f"\x1b[7m{job}")
    at = top.press("\r")
    at = top.until("attempt 1 trains", start=at)
    top.press("\x03")
    top.until("\x1b[?1049h", start=at)
    assert "left; the jobs go on" in leave(daemon, top, job)


def test_top_outlives_the_daemon_and_dies_of_signals_tidily(daemon):
    job = trains(daemon, "begin tell step 1 train 60000 finish")
    daemon.wait_step(job, 20)
    top = OnTerminal(daemon.env, "top", columns=120)
    at = top.until(job)
    daemon.kill()
    at = top.until("no daemon answers; this is 2s old", start=at)
    # What was known is still shown, and a key is told that nothing can be done.
    at = top.press("py")
    at = top.until(f"no daemon answers; nothing was done to {job}", start=at)
    daemon.start()
    at = top.until("ddpd 0", start=at)
    assert daemon.state(job) == "RUNNING"
    # It steers the new one.
    at = top.press("py")
    top.until("PAUSED", start=at)
    os.kill(top.pid, signal.SIGTERM)
    code, text = top.end()
    assert code == -signal.SIGTERM
    assert text.endswith("\x1b[?1049l")


def test_top_notices_a_daemon_that_says_nothing(daemon):
    top = OnTerminal(daemon.env, "top")
    at = top.until("ddpd 0")
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        at = top.until("no daemon answers; this is ", start=at, timeout=40)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    top.until("ddpd 0", start=at)
    top.press("q")
    assert top.end()[0] == 0


def test_top_tells_of_what_happens_elsewhere_at_once(daemon):
    top = OnTerminal(daemon.env, "top", columns=120)
    at = top.until("slots: 0-1 free")
    job = trains(daemon, "begin tell step 1 train 60000 finish")
    at = top.until("RUNNING", start=at)
    assert f"slots: 0 {job}, 1 free" in visible(top.output[at - 2000 :])
    daemon.ctl("cancel", job)
    at = top.until("CANCELLED", start=at)
    daemon.ctl("delete", job)
    top.until("  0 live of ", start=at)
    top.read(1)
    frame = top.output[top.output.rindex("\x1b[H") :]
    assert job not in frame and "slots: 0-1 free" in frame
    top.press("q")
    assert top.end()[0] == 0


def test_top_needs_a_terminal_that_moves_its_cursor(daemon):
    code, text = on_a_terminal(daemon.env, "top", term="dumb")
    assert code == 2 and "--once prints one frame" in text


def test_watch_on_a_dumb_terminal_prints_lines(daemon):
    job = trains(daemon, "begin step 1 finish")
    assert daemon.wait(job) == "SUCCEEDED"
    code, text = on_a_terminal(daemon.env, "watch", job, term="dumb")
    assert code == 0 and "\x1b" not in text and "SUCCEEDED" in text
