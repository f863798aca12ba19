"""Points a second into the store, until they are durable: events of four series with 10 and 50 steps each.

metrics_ingest.py [--quick]    (--quick changes nothing: it takes seconds)
"""

import common

common.quick_asked()
found = common.google_benchmark("bench_metrics_store", "--benchmark_filter=Ingest", "--benchmark_min_time=0.5")
for steps in (10, 50):
    rate = found[f"Ingest/steps_per_event:{steps}/real_time"]["items_per_second"]
    print(f"ingest, {4 * steps} points an event: {rate:,.0f} points/s (target >= 200,000)")
