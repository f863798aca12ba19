"""Seconds from the command to the first optimizer step: `ddpctl submit` on a running daemon against torchrun, same small MLP.

submit_to_first_step.py [--quick]    (--quick: one round)
"""

import statistics
import tempfile
import time

import common


def main():
    rounds = 1 if common.quick_asked() else 5
    ours, plain, answer = [], [], []
    with common.Ddpd() as daemon, tempfile.TemporaryDirectory() as folder:
        common.write_numbers(folder, 16384)
        for _ in range(rounds):
            start = time.time()
            job = daemon.submit(*common.STEPS_ONLY, *common.numbers(folder), "--batch-size", 128, "--max-steps", 5)
            answer.append(time.time() - start)
            daemon.ctl("wait", job)
            ours.append(daemon.first_step_time(job) - start)
            start = time.time()
            plain.append(common.torchrun("mlp-small", 128, 5, folder)["first_step"] - start)
    print(f"submit -> job id        {statistics.median(answer):.3f} s (median of {rounds})")
    print(f"submit -> first step    {statistics.median(ours):.3f} s")
    print(f"torchrun -> first step  {statistics.median(plain):.3f} s")
    print(f"ratio                   {statistics.median(plain) / statistics.median(ours):.2f}")


main()
