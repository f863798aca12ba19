"""The other side of the benchmarks: the same job as a plain PyTorch script, without the usual mistakes.

torchrun --standalone --nproc-per-node N plain_ddp.py mlp|text-encoder STEPS BATCH

Data is in memory before the clock starts; DistributedSampler order, DistributedDataParallel on gloo, Adam, one all-reduce of the
loss per step (as ddpd reports the global loss of every step). Prints on rank 0: "first_step UNIX_TIME" and "steps_per_second X".
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

WARM_UP = 3


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))

    def forward(self, x):
        return self.net(x)


class TextEncoder(nn.Module):
    """d 128, 2 layers, 4 heads, 32 tokens, vocabulary 16,384, dropout 0.1; predicts hidden tokens with tied weights."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(16384, 128)
        self.position = nn.Embedding(32, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(128), enable_nested_tensor=False)
        self.bias = nn.Parameter(torch.zeros(16384))

    def forward(self, tokens, hidden):
        padding = tokens == 0
        h = self.embedding(tokens.masked_fill(hidden, 2)) + self.position(torch.arange(tokens.shape[1]))
        h = self.encoder(h, src_key_padding_mask=padding)
        return h[hidden] @ self.embedding.weight.T + self.bias


def mlp_data():
    generator = torch.Generator().manual_seed(0)
    return TensorDataset(torch.randn(16384, 64, generator=generator), torch.randint(10, (16384,), generator=generator))


def text_data():
    """Glosses of WordNet as word ids, cut and padded to 32."""
    import collections
    import re

    texts = []
    for part in ("noun", "verb", "adj", "adv"):
        with open(f"/usr/share/wordnet/data.{part}", encoding="utf-8") as file:
            texts += [line.split(" | ", 1)[1].strip() for line in file if not line.startswith("  ")]
    words = [re.findall(r"[a-z0-9]+", text.lower())[:32] for text in texts]
    counts = collections.Counter(word for text in words for word in text)
    ids = {word: i + 3 for i, (word, _) in enumerate(counts.most_common(16381))}
    tokens = torch.zeros(len(words), 32, dtype=torch.long)
    for i, text in enumerate(words):
        row = [ids.get(word, 1) for word in text] or [1]
        tokens[i, : len(row)] = torch.tensor(row)
    return TensorDataset(tokens)


def main():
    kind, steps, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // world))
    torch.manual_seed(0)
    data = mlp_data() if kind == "mlp" else text_data()
    model = DistributedDataParallel(Mlp() if kind == "mlp" else TextEncoder())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    sampler = DistributedSampler(data, shuffle=True, seed=0)
    loader = DataLoader(data, batch_size=batch // world, sampler=sampler, drop_last=True)
    step, epoch, start = 0, 0, 0.0
    while step < steps + WARM_UP:
        sampler.set_epoch(epoch)
        for sample in loader:
            optimizer.zero_grad()
            if kind == "mlp":
                loss = nn.functional.cross_entropy(model(sample[0]), sample[1])
            else:
                (tokens,) = sample
                # Padding needs no work in either side: cut to the longest of the batch.
                tokens = tokens[:, : int((tokens != 0).sum(1).max())]
                hidden = (torch.rand(tokens.shape) < 0.15) & (tokens != 0)
                loss = nn.functional.cross_entropy(model(tokens, hidden), tokens[hidden])
            loss.backward()
            optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)
            total.item()
            step += 1
            if rank == 0 and step == 1:
                print(f"first_step {time.time()}", flush=True)
            if step == WARM_UP:
                start = time.perf_counter()
            if step == steps + WARM_UP:
                break
        epoch += 1
    if rank == 0:
        print(f"steps_per_second {steps / (time.perf_counter() - start)}", flush=True)
    # Not destroy_process_group: gloo's teardown aborts now and then when the peer is gone a moment earlier.
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
