"""A curve of a million points as 1,000 buckets, and the list of its series: of a daemon that has just started (cold) and
again (warm), beside TensorBoard's two servers on the same points.

metrics_query.py [--quick]    (--quick leaves out TensorBoard's Python server, which takes minutes)
"""

import json
import re
import subprocess
import sys

import common

quick = common.quick_asked()
found = common.google_benchmark("bench_metrics_store", "--benchmark_filter=Query|List|Ingest/steps_per_event:10/", "--benchmark_min_time=0.5")
for name in ("cold", "warm"):
    print(f"query {name}: {found[f'Query/{name}/real_time']['real_time']:.1f} ms (target <= 50)")
print(f"list of its series: {found['List/real_time']['real_time']:.3f} ms")

command = [sys.executable, common.ROOT / "bench/plain_metrics.py"] + (["--quick"] if quick else [])
done = subprocess.run(command, capture_output=True, text=True)
if done.returncode != 0:
    sys.exit(done.stderr)
query_s = found["Query/warm/real_time"]["real_time"] / 1e3
ingest_s = 1e6 / found["Ingest/steps_per_event:10/real_time"]["items_per_second"]
names = {
    "python": "TensorBoard, Python, 1,000 random points kept",
    "python_all": "TensorBoard, Python, all kept",
    "rust": "TensorBoard, rustboard, 1,000 random points kept",
    "rust_all": "TensorBoard, rustboard, all kept",
}
for key, other in json.loads(re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)[1]).items():
    print(f"{names[key]}: loaded in {other['load_s']:.2f} s ({other['load_s'] / ingest_s:.1f} times ddpd's durable ingest), "
          f"query {other['query_s'] * 1e3:.1f} ms (ratio {other['query_s'] / query_s:.2f}), shows {other['spikes']} of 1,003 spikes")
