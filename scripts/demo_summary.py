"""The closing table of scripts/demo: demo_summary.py DDPCTL PRETRAIN_JOB FINETUNE_JOB SCRATCH_JOB.

Exits 1 when a job did not succeed or pretraining did not win by 3 points.
"""

import csv
import datetime
import io
import json
import subprocess
import sys

MARGIN = 0.03  # accuracy that pretraining must be worth


def ctl(ddpctl, *args):
    return subprocess.run([ddpctl, *args], check=True, capture_output=True, text=True).stdout


def series(ddpctl, job, name):
    rows = csv.DictReader(io.StringIO(ctl(ddpctl, "metrics", job, "--series", name, "--csv")))
    return [float(row["value"]) for row in rows]


def seconds(later, earlier):
    parse = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    # Python 3.10 takes at most microseconds.
    cut = lambda text: text[:26] + "Z" if len(text) > 27 else text
    return parse(cut(later)) - parse(cut(earlier))


def main():
    ddpctl, *jobs = sys.argv[1:]
    ok = True
    accuracy = []
    print(f"{'job':<14}{'name':<14}{'state':<11}{'first loss':>11}{'last loss':>11}{'valid acc':>11}{'first step':>12}")
    for job_id in jobs:
        job = json.loads(ctl(ddpctl, "get", job_id, "-o", "json"))
        state = job["state"].removeprefix("JOB_STATE_")
        ok &= state == "SUCCEEDED"
        loss = series(ddpctl, job_id, "loss")
        valid = series(ddpctl, job_id, "valid_acc")
        accuracy.append(valid[-1] if valid else float("nan"))
        started = seconds(job["attempts"][0]["first_step_time"], job["create_time"])
        print(
            f"{job_id:<14}{job['spec']['name']:<14}{state:<11}{loss[0]:>11.4f}{loss[-1]:>11.4f}"
            f"{accuracy[-1]:>11.4f}{started:>10.2f} s"
        )
    gain = accuracy[1] - accuracy[2]
    print(
        f"\nvalid accuracy on noun glosses after 5,000 labels: {accuracy[1]:.4f} from the pretrained encoder, "
        f"{accuracy[2]:.4f} from scratch ({100 * gain:+.1f} points)"
    )
    if not ok or not gain >= MARGIN:
        print(f"demo: expected three SUCCEEDED jobs and at least {100 * MARGIN:.0f} points", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
