"""10,000 subscribers over 100 connections: how long until all have a batch, what the server holds, and what a training job
beside them loses.

metrics_subscribers.py [--quick]

The job is ddpd's own, trained on both cores. The subscribers stand for other machines, so their process gets only what nobody
else wants (SCHED_IDLE, in a session of its own, whose autogroup has the lowest weight); what it takes all the same is printed,
as is what ddpd takes. Windows without and with them take turns. One with them begins once the rounds that ddpd had saved up
for the new subscribers are over, so that it shows what lasts. They go on from what the job has reported when they come, as
pages do.
"""

import contextlib
import json
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import tempfile
import time

import common

TRAIN = ("--model-option", "hidden=1024,1024", "--batch-size", 512, "--epochs", 100000, "--max-steps", 10_000_000)


def step_aside():
    """In the subscribers' process, before it begins."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    autogroup = pathlib.Path("/proc/self/autogroup")
    if autogroup.exists():
        autogroup.write_text("19")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def newest_seq(home, job):
    """The resume token of a subscriber who has seen everything."""
    with contextlib.closing(sqlite3.connect(f"file:{home}/ddpd.db?mode=ro", uri=True)) as database:
        return database.execute("SELECT max(seq) FROM metric_chunks WHERE job_id = ?", (job,)).fetchone()[0] or 0


class Window:
    """A span of time with what processes have used in it, by name."""

    def __init__(self, seconds, pids):
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        self.begin = time.time()
        time.sleep(seconds)
        self.end = time.time()
        self.cpu = {name: (cpu_seconds(pid) - before[name]) / (self.end - self.begin) for name, pid in pids.items()}

    def steps_per_second(self, times):
        inside = [time for time in times if self.begin <= time <= self.end]
        return (len(inside) - 1) / (inside[-1] - inside[0])


def beside_training(subscribers, seconds, settle, rounds):
    """(the times of the steps, windows without subscribers, windows with them)"""
    windows = {False: [], True: []}
    with common.Ddpd() as daemon, tempfile.TemporaryDirectory() as folder:
        ddpd = int(re.search(r"pid (\d+)", daemon.ctl("daemon", "status"))[1])
        common.write_numbers(folder, 140000)
        job = daemon.submit(*common.STEPS_ONLY, *TRAIN, *common.numbers(folder))
        home = pathlib.Path(daemon.home)
        while json.loads(daemon.ctl("get", job, "-o", "json"))["state"] != "JOB_STATE_RUNNING":
            time.sleep(0.1)
        command = [common.ROOT / "build/release/bench-bin/bench_metrics_live", "--subscribe",
                   (home / "address").read_text().strip(), (home / "token").read_text().strip(), job, 100, subscribers]
        for _ in range(rounds):
            windows[False].append(Window(seconds, {"ddpd": ddpd}))
            client = subprocess.Popen(list(map(str, (*command, newest_seq(home, job)))), stdout=subprocess.PIPE, text=True, start_new_session=True,
                                      preexec_fn=step_aside)
            client.stdout.readline()  # all have joined
            time.sleep(settle)
            windows[True].append(Window(seconds, {"ddpd": ddpd, "subscribers": client.pid}))
            client.kill()
            client.wait()
            time.sleep(seconds / 5)  # ddpd lets the subscriptions go
        daemon.ctl("cancel", job)
        daemon.ctl("wait", job, ok=(0, 1))
        return [time for time, _ in daemon.losses(job)], windows[False], windows[True]


quick = common.quick_asked()
many = 1000 if quick else 10000
found = common.metrics_live(100, many, 5, 10, 1000 if quick else 4000)
print(f"broadcast: {found['broadcast_max_ms']:.0f} ms (target <= 1,000)")
print(f"resident: {found['rss_mb']:.0f} MB (target <= 400), {found['rss_before_mb']:.0f} without subscribers (target <= 40)")
print(f"CPU time of a message: {1e6 * found['server_cpu_seconds'] / found['messages']:.0f} us in the server, "
      f"{1e6 * found['clients_cpu_seconds'] / found['messages']:.0f} in the subscribers")
times, alone, followed = beside_training(many, *((2, 1, 1) if quick else (20, 10, 3)))
speeds = [[window.steps_per_second(times) for window in windows] for windows in (alone, followed)]
ratio = statistics.median(speeds[1]) / statistics.median(speeds[0])


def share(windows, name):
    return statistics.median(100 * window.cpu[name] for window in windows)


print(f"CPU beside training, % of a core: ddpd {share(followed, 'ddpd'):.1f} ({share(alone, 'ddpd'):.1f} without them), "
      f"the subscribers' process {share(followed, 'subscribers'):.1f}")
print(f"training with {many:,} subscribers: {statistics.median(speeds[1]):.1f} steps/s, {statistics.median(speeds[0]):.1f} without, "
      f"ratio {ratio:.3f} (target >= 0.99)")
