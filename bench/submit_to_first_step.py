"""Seconds from the command to the first optimizer step: `ddpctl submit` on a running daemon against torchrun, same small MLP."""

import tempfile
import time

import common

ROUNDS = 5


def main():
    ours, plain, answer = [], [], []
    with common.Ddpd() as daemon, tempfile.TemporaryDirectory() as folder:
        data = common.mlp_csv(folder)
        for _ in range(ROUNDS):
            start = time.time()
            job = daemon.ctl("submit", "--mode", "finetune", "--nproc", 2, "--batch-size", 128, "--valid", "none", "--max-steps", 5, *data).strip()
            answer.append(time.time() - start)
            daemon.ctl("wait", job)
            ours.append(daemon.first_step_after(job, start))
            plain.append(common.torchrun("mlp", 5, 128)[0])
    ours.sort()
    plain.sort()
    answer.sort()
    middle = ROUNDS // 2
    print(f"submit -> job id        {answer[middle]:.3f} s (median of {ROUNDS})")
    print(f"submit -> first step    {ours[middle]:.3f} s (median of {ROUNDS})")
    print(f"torchrun -> first step  {plain[middle]:.3f} s")
    print(f"ratio                   {plain[middle] / ours[middle]:.2f}")


main()
