"""Both sides of the benchmarks: ddpd's and torchrun's."""

import argparse
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

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("DDP_BIN", ROOT / "build/release/bin"))
RANKS = 2

# Flags of `ddpctl submit`: nothing but steps, all alike.
STEPS_ONLY = ("--valid", "none", "--schedule", "constant")

# glibc keeps what is freed, as ddp-worker makes it do (KeepFreedMemory in worker/main.cc).
KEEP_FREED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 62), "MALLOC_TOP_PAD_": str(64 << 20)}


def quick_asked():
    """For benchmarks whose only flag is --quick: as little as shows that everything runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args().quick


class Ddpd:
    """A daemon with a home of its own, while the `with` lasts."""

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="ddpd-bench.")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("DDPD_")} | {"DDPD_HOME": self.home}
        self.ctl("daemon", "start")
        return self

    def __exit__(self, *_):
        self.ctl("daemon", "stop")
        shutil.rmtree(self.home)

    def ctl(self, *args, ok=(0,)):
        done = subprocess.run([BIN / "ddpctl", *map(str, args)], env=self.env, capture_output=True, text=True)
        if done.returncode not in ok:
            sys.exit(f"ddpctl {' '.join(map(str, args))}: {done.stderr}")
        return done.stdout

    def submit(self, *args):
        return self.ctl("submit", "--nproc", RANKS, *args).strip()

    def train(self, *args):
        job = self.submit(*args)
        self.ctl("wait", job)
        return job

    def values(self, job, series):
        """The values of one series, in the order of their steps."""
        rows = csv.DictReader(io.StringIO(self.ctl("metrics", job, "--series", series, "--csv")))
        return [float(row["value"]) for row in rows]

    def losses(self, job):
        """(the time that the worker says, the loss) of every step."""
        rows = csv.DictReader(io.StringIO(self.ctl("metrics", job, "--series", "loss", "--csv")))
        return [(float(row["time"]), float(row["value"])) for row in rows]

    def first_step_time(self, job):
        text = json.loads(self.ctl("get", job, "-o", "json"))["attempts"][0]["first_step_time"]
        seconds, _, fraction = text.rstrip("Z").partition(".")
        return datetime.datetime.fromisoformat(seconds).replace(tzinfo=datetime.timezone.utc).timestamp() + float(f"0.{fraction or 0}")


def torchrun(kind, batch, steps, data=None, warm_up=1, tuned=False, bf16=False):
    """What plain_ddp.py says of itself."""
    threads = max(1, len(os.sched_getaffinity(0)) // RANKS)
    env = os.environ | {"OMP_NUM_THREADS": str(threads)} | (KEEP_FREED_MEMORY if tuned else {})
    command = [pathlib.Path(sys.executable).parent / "torchrun", "--standalone", "--nproc-per-node", RANKS,
               pathlib.Path(__file__).with_name("plain_ddp.py"), kind, "--batch", batch, "--steps", steps, "--warm-up", warm_up]
    command += ["--data", data] if data else []
    command += ["--tuned"] if tuned else []
    command += ["--bf16"] if bf16 else []
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)[1])


def write_numbers(folder, samples):
    """x.npy: samples of 64 normal features; y.npy: one of 10 classes each."""
    generator = numpy.random.default_rng(0)
    folder = pathlib.Path(folder)
    numpy.save(folder / "x.npy", generator.standard_normal((samples, 64), dtype=numpy.float32))
    numpy.save(folder / "y.npy", generator.integers(10, size=samples))


def numbers(folder):
    """Flags of `ddpctl submit` for these."""
    folder = pathlib.Path(folder)
    return ("--mode", "finetune", "--model", "mlp", "--data", folder / "x.npy", "--labels", folder / "y.npy")


def write_tokens(path, tokens):
    """Ids of GPT-2's vocabulary, small ones far more often than large ones."""
    ids = numpy.random.default_rng(0).zipf(1.2, size=tokens) % 50257
    ids.astype(numpy.uint16).tofile(path)


def google_benchmark(program, *args):
    """Runs a program of bench/ with ddp-worker's memory settings; its benchmarks, as in the JSON it prints, by name."""
    path = ROOT / "build/release/bench-bin" / program
    if not path.exists():
        sys.exit(f"{path} is missing: scripts/build release {program}")
    command = [path, *map(str, args), "--benchmark_format=json"]
    done = subprocess.run(command, env=os.environ | KEEP_FREED_MEMORY, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return {benchmark["name"]: benchmark for benchmark in json.loads(done.stdout)["benchmarks"]}


def metrics_live(*args):
    """Runs bench_metrics_live; its figures by name."""
    path = ROOT / "build/release/bench-bin/bench_metrics_live"
    if not path.exists():
        sys.exit(f"{path} is missing: scripts/build release bench_metrics_live")
    done = subprocess.run([path, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    pairs = [line.split() for line in done.stdout.splitlines()]
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}
