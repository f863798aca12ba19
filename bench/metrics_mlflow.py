"""The same points in ddpd's store and in MLflow's: how fast they go in, and how fast a curve of them is drawn.

metrics_mlflow.py [--quick]    (--quick takes few points, and leaves MLflow out where it is not there yet)

MLflow gets an environment of its own in the cache, installed with pip when it is missing.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import common

REQUIREMENTS = common.ROOT / "bench/requirements-trackers.txt"


def environment(install):
    """Its Python; None, when it is not there, and why was printed."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    key = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = cache / "ddpd" / f"trackers-{key}"
    python = folder / "bin/python"
    # The marker is written last, so that an interrupted installation is done again.
    if (folder / ".complete").exists():
        return python
    if not install:
        print("MLflow: left out, since it is not installed and --quick installs nothing")
        return None
    shutil.rmtree(folder, ignore_errors=True)
    for command in ([sys.executable, "-m", "venv", folder], [python, "-m", "pip", "install", "-q", "-r", REQUIREMENTS]):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            print(f"MLflow: left out, since it cannot be installed: {done.stderr.strip().splitlines()[-1]}")
            return None
    (folder / ".complete").touch()
    return python


def main():
    quick = common.quick_asked()
    benchmarks = ("--benchmark_filter=Query/warm|Ingest/steps_per_event:10/", "--benchmark_min_time=0.5")
    found = common.google_benchmark("bench_metrics_store", *benchmarks)
    rate = found["Ingest/steps_per_event:10/real_time"]["items_per_second"]
    query_ms = found["Query/warm/real_time"]["real_time"]
    print(f"ddpd: build/release/bench-bin/bench_metrics_store {' '.join(benchmarks)}")
    print(f"  ingest, 40 points an event, durable: {rate:,.0f} points/s")
    print(f"  1,000,000 points as 1,000 buckets: {query_ms:.1f} ms; all 1,003 spikes are in their buckets")

    python = environment(install=not quick)
    if python is None:
        return
    arguments = ["20000", "400"] if quick else ["1000000", "20000"]
    done = subprocess.run([python, common.ROOT / "bench/plain_mlflow.py", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    other = json.loads(re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)[1])
    print(f"MLflow: {python} bench/plain_mlflow.py {' '.join(arguments)}")
    for batch in (40, 1000):
        speed = other[f"ingest_{batch}"]
        print(f"  log_batch of {batch}: {speed:,.0f} points/s (ratio {rate / speed:,.0f})")
    print(f"  {int(arguments[0]):,} points as {other['points']:,} of them: {other['query_s'] * 1e3:,.0f} ms "
          f"(ratio {other['query_s'] * 1e3 / query_ms:.1f}), shows {other['spikes']:,} spikes")
    print(f"  get_metric_history, {other['history_points']:,} points: {other['history_s']:,.1f} s")


if __name__ == "__main__":
    main()
