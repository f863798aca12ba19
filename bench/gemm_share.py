"""How much of what matrix products reach here the text encoder reaches: its arithmetic per second in matrix products over that of
torch.mm at 2048x2048, both on two cores at once, in float32. What is not counted (dropout, layer norm, softmax, Adam, reading)
keeps the share below 1.

gemm_share.py [--quick]    (--quick: three steps)
"""

import concurrent.futures
import pathlib
import tempfile
import time

import torch

import common
import plain_data
from steps_per_second import ours, workloads

DIM, LAYERS, SIZE, ROUNDS = 128, 2, 2048, 12


def flops_of_a_sample(texts, mlm):
    """The mean over the texts, without padding. A product of [a, b] with [b, c] is 2abc; backward makes two of each. A layer: 4 d^2
    weights of attention and 8 d^2 of the feed-forward part for a token, and two products with all tokens of its text. A hidden token
    (15 %, or else one of the text) is multiplied with the vocabulary, or with one matrix."""
    total = 0.0
    for n in map(len, texts):
        layer = 2 * n * 12 * DIM**2 + 2 * 2 * n * n * DIM
        hidden = 0.15 * n + 0.85**n
        total += LAYERS * layer + hidden * 2 * DIM * (plain_data.VOCABULARY if mlm else DIM)
    return 3 * total / len(texts)


def gemm_rate(_):
    """FLOP/s of one core while the other one does the same: the best round."""
    torch.set_num_threads(1)
    a, b, out = (torch.rand(SIZE, SIZE) for _ in range(3))
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        torch.mm(a, b, out=out)
        times.append(time.perf_counter() - start)
    return 2 * SIZE**3 / min(times)


def main():
    quick = common.quick_asked()
    steps = 3 if quick else 12
    texts = plain_data.wordnet_ids()
    with concurrent.futures.ProcessPoolExecutor(common.RANKS) as pool:
        limit = sum(pool.map(gemm_rate, range(common.RANKS)))
    print(f"torch.mm, {common.RANKS} cores: {limit / 1e9:.0f} GFLOP/s")
    with common.Ddpd() as daemon, tempfile.TemporaryDirectory() as folder:
        known = workloads(pathlib.Path(folder), quick)
        for name in ("text-encoder", "text-encoder mlm"):
            workload = known[name]
            flops = flops_of_a_sample(texts, mlm=name.endswith("mlm")) * workload.batch
            rate = max(ours(daemon, workload, steps)[0] for _ in range(workload.rounds)) * flops
            print(f"{name:<18}{flops / 1e9:>6.0f} GFLOP a step {rate / 1e9:>6.0f} GFLOP/s   share {rate / limit:.2f}", flush=True)


if __name__ == "__main__":
    main()
