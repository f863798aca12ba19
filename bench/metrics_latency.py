"""From a runner's event to a subscriber in another process, at 1,000 points/s.

metrics_latency.py [--quick]
"""

import common

events = 100 if common.quick_asked() else 2000
found = common.metrics_live(1, 1, events, 10, 10)
print(f"event -> subscriber: p50 {found['p50_ms']:.2f} ms, p99 {found['p99_ms']:.2f} ms (target <= 10)")
