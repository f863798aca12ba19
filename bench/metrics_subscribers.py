"""10,000 subscribers over 100 connections: how long until all have a batch, what the server holds, and what a training job
beside them loses.

metrics_subscribers.py [--quick]

The job is ddpd's own, trained on both cores; the subscribers follow it, in a process at the lowest priority, since they
stand for other machines. Windows without and with them take turns.
"""

import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import common

TRAIN = ("--model-option", "hidden=1024,1024", "--batch-size", 512, "--epochs", 100000, "--max-steps", 10_000_000)


def steps_per_second(times, begin, end):
    inside = [time for time in times if begin <= time <= end]
    return (len(inside) - 1) / (inside[-1] - inside[0])


def beside_training(subscribers, seconds, rounds):
    """(steps per second of each window without subscribers, of each with them)"""
    windows = {False: [], True: []}
    with common.Ddpd() as daemon, tempfile.TemporaryDirectory() as folder:
        common.write_numbers(folder, 140000)
        job = daemon.submit(*common.STEPS_ONLY, *TRAIN, *common.numbers(folder))
        home = pathlib.Path(daemon.home)
        while json.loads(daemon.ctl("get", job, "-o", "json"))["state"] != "JOB_STATE_RUNNING":
            time.sleep(0.1)
        command = ["nice", "-n", "19", common.ROOT / "build/release/bench-bin/bench_metrics_live", "--subscribe",
                   (home / "address").read_text().strip(), (home / "token").read_text().strip(), job, 100, subscribers]
        for _ in range(rounds):
            for followed in (False, True):
                if followed:
                    client = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
                    client.stdout.readline()  # all have joined
                begin = time.time()
                time.sleep(seconds)
                windows[followed].append((begin, time.time()))
                if followed:
                    client.kill()
                    client.wait()
                time.sleep(seconds / 5)  # ddpd lets the subscriptions go
        daemon.ctl("cancel", job)
        daemon.ctl("wait", job, ok=(0, 1))
        times = [time for time, _ in daemon.losses(job)]
    return ([steps_per_second(times, *window) for window in windows[followed]] for followed in (False, True))


quick = common.quick_asked()
many = 1000 if quick else 10000
found = common.metrics_live(100, many, 5, 10, 1000 if quick else 4000)
print(f"broadcast: {found['broadcast_max_ms']:.0f} ms (target <= 1,000)")
print(f"resident: {found['rss_mb']:.0f} MB (target <= 400), {found['rss_before_mb']:.0f} without subscribers (target <= 40)")
alone, followed = beside_training(many, 2 if quick else 10, 1 if quick else 3)
ratio = statistics.median(followed) / statistics.median(alone)
print(f"training with {many:,} subscribers: {statistics.median(followed):.1f} steps/s, {statistics.median(alone):.1f} without, "
      f"ratio {ratio:.3f} (target >= 0.99)")
