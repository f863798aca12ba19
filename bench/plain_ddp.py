"""The other side of the benchmarks: the same job as a plain PyTorch script, without the usual mistakes.

torchrun --standalone --nproc-per-node N plain_ddp.py KIND [--data PATH] --batch B --steps N [--warm-up N] [--tuned] [--bf16]

Data is in memory before the clock starts; DistributedSampler order, DistributedDataParallel on gloo, DataLoader, Adam, one all-reduce
of the loss per step (as ddpd reports the global loss of every step). --tuned: by hand, what ddpd does by itself and Python can do, see
tuned_steps; environment variables of the allocator come from common.py.

Rank 0 prints one line "RESULT {...}": first_step (UNIX time), steps_per_second (after the warm-up) and losses (of all steps).
"""

import argparse
import contextlib
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Callable

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset, default_collate
from torch.utils.data.distributed import DistributedSampler

import plain_data
import plain_models


@dataclass
class Job:
    model: Callable
    data: Callable  # of --data
    inputs: Callable  # of a batch: arguments of the model, targets of what it returns
    micro_batch: int  # of --tuned: ddpd's
    loss: Callable = lambda model, outputs, targets: F.cross_entropy(outputs, targets, reduction="sum")


def labelled(x, y):
    return (x,), y


def next_token(tokens, following):
    return (tokens,), following.flatten()


def masked_text(tokens):
    padding = tokens == plain_data.PAD
    tokens, hidden, targets = plain_data.hide(tokens)
    return (tokens, padding, hidden), targets


def embedding_loss(model, outputs, targets):
    right = F.layer_norm(model.embedding.weight.detach()[targets], (128,))
    return F.mse_loss(outputs, right, reduction="sum") / 128


JOBS = {
    "mlp-small": Job(lambda: plain_models.Mlp([256, 256]), plain_data.numbers, labelled, 1024),
    "mlp-large": Job(lambda: plain_models.Mlp([1024, 1024]), plain_data.numbers, labelled, 1024),
    "text-encoder": Job(lambda: plain_models.TextEncoder("embedding"), lambda _: plain_data.wordnet(), masked_text, 128, embedding_loss),
    "text-encoder-mlm": Job(lambda: plain_models.TextEncoder("mlm"), lambda _: plain_data.wordnet(), masked_text, 128),
    "convnet": Job(plain_models.Convnet, lambda _: plain_data.fashion_mnist(), labelled, 64),
    "resnet18": Job(plain_models.Resnet18, lambda _: plain_data.fashion_mnist(), labelled, 64),
    "gpt": Job(plain_models.Gpt, plain_data.Windows, next_token, 16),
}


def epochs(sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield
        epoch += 1


def plain_steps(job, data, sampler, share, autocast):
    """Generator of training steps; each gives its loss."""
    model = DistributedDataParallel(job.model())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(data, batch_size=share, sampler=sampler, drop_last=True)
    for _ in epochs(sampler):
        for batch in loader:
            inputs, targets = job.inputs(*batch)
            optimizer.zero_grad()
            with autocast():
                loss = job.loss(model.module, model(*inputs), targets) / len(targets)
            loss.backward()
            optimizer.step()
            yield loss.detach()


def fetch(data, indices):
    if isinstance(data, TensorDataset):
        return [tensor[indices] for tensor in data.tensors]
    return default_collate([data[i] for i in indices.tolist()])


def tuned_steps(job, data, sampler, share, autocast):
    """The same with what ddpd does: micro-batches that fit the cache and one reduction; texts grouped by length and trimmed to the
    longest of a micro-batch; images channels-last; the fused optimizer; gradients in their buckets; tensors taken straight out of
    memory instead of a DataLoader."""
    model = job.model()
    images = isinstance(model, (plain_models.Convnet, plain_models.Resnet18))
    texts = isinstance(model, plain_models.TextEncoder)
    if images:
        model = model.to(memory_format=torch.channels_last)
    model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    lengths = (data.tensors[0] != plain_data.PAD).sum(1) if texts else None

    def inputs_of(indices):
        batch = fetch(data, indices)
        if images:
            batch[0] = batch[0].contiguous(memory_format=torch.channels_last)
        if not texts:
            return job.inputs(*batch)
        longest = int(lengths[indices].max())
        (tokens, padding, hidden), targets = job.inputs(batch[0][:, :longest])
        return (tokens, padding if bool(padding.any()) else None, hidden), targets

    for _ in epochs(sampler):
        order = torch.tensor(list(sampler))
        for begin in range(0, len(order) - share + 1, share):
            indices = order[begin : begin + share]
            if texts:
                indices = indices[lengths[indices].argsort()]
            parts = [inputs_of(part) for part in indices.split(job.micro_batch)]
            count = sum(len(targets) for _, targets in parts)
            optimizer.zero_grad(set_to_none=False)
            total = torch.zeros(())
            for i, (inputs, targets) in enumerate(parts):
                with contextlib.nullcontext() if i + 1 == len(parts) else model.no_sync():
                    with autocast():
                        loss = job.loss(model.module, model(*inputs), targets) / count
                    loss.backward()
                total += loss.detach()
            optimizer.step()
            yield total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=JOBS)
    parser.add_argument("--data")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // world))
    torch.manual_seed(0)
    job = JOBS[args.kind]
    data = job.data(args.data)
    sampler = DistributedSampler(data, shuffle=True, seed=0)

    def autocast():
        return torch.autocast("cpu", torch.bfloat16, enabled=args.bf16)

    steps = (tuned_steps if args.tuned else plain_steps)(job, data, sampler, args.batch // world, autocast)
    losses, first_step, start = [], None, time.perf_counter()
    for total in steps:
        dist.all_reduce(total)
        losses.append(total.item() / world)
        first_step = first_step or time.time()
        if len(losses) == args.warm_up:
            start = time.perf_counter()
        if len(losses) == args.warm_up + args.steps:
            break
    rate = args.steps / (time.perf_counter() - start)
    if rank == 0:
        print("RESULT", json.dumps({"first_step": first_step, "steps_per_second": rate, "losses": losses}), flush=True)
    # Not destroy_process_group: gloo's teardown aborts now and then when the peer is gone a moment earlier.
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
