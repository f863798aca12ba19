"""The other side of metrics_mlflow: the points of metrics_store.cc in MLflow's SQLite store, in this process, with no server between.

plain_mlflow.py POINTS INGESTED    (how many the curve has, and how many of them go in through MLflow's client)
"""

import json
import math
import os
import sqlite3
import sys
import tempfile
import time

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"

from mlflow.entities import Metric
from mlflow.tracking import MlflowClient
from mlflow.tracking._tracking_service.utils import _get_store

SPIKE_EVERY = 997  # as in metrics_store.cc


def loss(step):
    return 2 / math.sqrt(step) + (step % SPIKE_EVERY == 0)


def log(client, run, first, last, batch):
    """Points a second, of the steps first to last."""
    start = time.perf_counter()
    for begin in range(first, last + 1, batch):
        steps = range(begin, min(begin + batch, last + 1))
        client.log_batch(run, metrics=[Metric("loss", loss(step), 1_800_000_000_000 + step, step) for step in steps])
    return (last - first + 1) / (time.perf_counter() - start)


def main():
    points, ingested = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="bench_mlflow.") as folder:
        uri = f"sqlite:///{folder}/mlflow.db"
        client = MlflowClient(tracking_uri=uri)
        run = client.create_run(client.create_experiment("bench")).info.run_id
        # 1,000 is the most that a batch may have.
        found = {"ingest_40": log(client, run, 1, ingested // 2, 40),
                 "ingest_1000": log(client, run, ingested // 2 + 1, ingested, 1000)}
        # The rest would take an hour: the rows that the client would have written.
        with sqlite3.connect(f"{folder}/mlflow.db") as database:
            database.executemany(
                "INSERT INTO metrics (key, value, timestamp, step, is_nan, run_uuid) VALUES ('loss', ?, ?, ?, 0, ?)",
                ((loss(step), 1_800_000_000_000 + step, step, run) for step in range(ingested + 1, points + 1)))

        def timed(ask):
            start = time.perf_counter()
            answer = ask()
            return time.perf_counter() - start, answer

        # What its page asks of its server for a chart.
        store = _get_store(uri)
        ask = lambda: store.get_metric_history_bulk_interval([run], "loss", 1000, None, None)
        seconds, sampled = min((timed(ask) for _ in range(3)), key=lambda result: result[0])
        found |= {"query_s": seconds, "points": len(sampled), "spikes": sum(metric.step % SPIKE_EVERY == 0 for metric in sampled)}
        # What its client offers to a script that wants every point.
        seconds, history = timed(lambda: client.get_metric_history(run, "loss"))
        found |= {"history_s": seconds, "history_points": len(history)}
    print("RESULT " + json.dumps(found))


if __name__ == "__main__":
    main()
