"""A curve of a million points as 1,000 buckets, asked for of a daemon that has just started (cold) and again (warm).

metrics_query.py [--quick]    (--quick changes nothing: it takes seconds)
"""

import common

common.quick_asked()
found = common.google_benchmark("bench_metrics_store", "--benchmark_filter=Query", "--benchmark_min_time=0.5")
for name in ("cold", "warm"):
    print(f"query {name}: {found[f'Query/{name}/real_time']['real_time']:.1f} ms (target <= 50)")
