"""10,000 subscribers over 100 connections: how long until all have a batch, and what the server holds.

metrics_subscribers.py [--quick]
"""

import common

quick = common.quick_asked()
found = common.metrics_live(100, 1000 if quick else 10000, 5, 10, 1000 if quick else 4000)
print(f"broadcast: {found['broadcast_max_ms']:.0f} ms (target <= 1,000)")
print(f"resident: {found['rss_mb']:.0f} MB (target <= 400), {found['rss_before_mb']:.0f} without subscribers (target <= 40)")
