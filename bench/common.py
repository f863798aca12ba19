"""Both sides of the benchmarks: ddpd's and torchrun's."""

import csv
import datetime
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("DDP_BIN", ROOT / "build/release/bin"))
WARM_UP = 3  # first steps, not measured on either side


class Ddpd:
    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="ddpd-bench.")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("DDPD_")} | {"DDPD_HOME": self.home}
        self.ctl("daemon", "start")
        return self

    def __exit__(self, *_):
        self.ctl("daemon", "stop")
        shutil.rmtree(self.home)

    def ctl(self, *args):
        done = subprocess.run([BIN / "ddpctl", *map(str, args)], env=self.env, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"ddpctl {args}: {done.stderr}")
        return done.stdout

    def train(self, *args):
        job = self.ctl("submit", *args).strip()
        self.ctl("wait", job)
        return job

    def values(self, job, series):
        """The values of one series, in the order of their steps."""
        rows = csv.DictReader(io.StringIO(self.ctl("metrics", job, "--series", series, "--csv")))
        return [float(row["value"]) for row in rows]

    def steps_per_second(self, job):
        """From the times of the steps after the warm-up, as the worker reported them."""
        rows = csv.DictReader(io.StringIO(self.ctl("metrics", job, "--series", "loss", "--csv")))
        times = [float(row["time"]) for row in rows][WARM_UP - 1 :]
        return (len(times) - 1) / (times[-1] - times[0])

    def first_step_after(self, job, start):
        text = json.loads(self.ctl("get", job, "-o", "json"))["attempts"][0]["first_step_time"]
        seconds, _, fraction = text.rstrip("Z").partition(".")
        moment = datetime.datetime.fromisoformat(seconds).replace(tzinfo=datetime.timezone.utc).timestamp()
        return moment + float(f"0.{fraction or 0}") - start


def torchrun(kind, steps, batch, ranks=2):
    """(seconds from the start of torchrun to the first step, steps per second)"""
    env = os.environ | {"OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // ranks))}
    command = [pathlib.Path(sys.executable).parent / "torchrun", "--standalone", "--nproc-per-node", str(ranks),
               pathlib.Path(__file__).with_name("plain_ddp.py"), kind, str(steps), str(batch)]
    start = time.time()
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    first = float(re.search(r"first_step (\S+)", done.stdout)[1]) - start
    return first, float(re.search(r"steps_per_second (\S+)", done.stdout)[1])


def mlp_csv(folder):
    """The data of plain_ddp.py's mlp: 16,384 samples of 64 normal features, 10 classes."""
    import torch

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(16384, 64, generator=generator)
    y = torch.randint(10, (16384,), generator=generator)
    names = [f"f{i}" for i in range(64)]
    path = pathlib.Path(folder) / "mlp.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, "label"])
        writer.writerows([*row, label] for row, label in zip(x.tolist(), y.tolist()))
    return ("--model", "mlp", "--data", path, "--feature-columns", ",".join(names), "--label-column", "label")
