"""The same training in Python: torchrun + DistributedDataParallel + DistributedSampler, gloo on CPUs.

python_ddp.py CONFIG.json: model "mlp" or "text-encoder", weights (.safetensors), inputs (.pt), batch (global), steps, lr, seed.
Rank 0 writes the global loss of each step to `out` as JSON.
"""

import json
import os
import sys

import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Mlp(nn.Module):
    """Parameter names as in ddpd: layers.I.{weight,bias}."""

    def __init__(self, widths):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


class TextEncoder(nn.Module):
    """Token and position embedding, pre-norm encoder, mean over the tokens, linear head. Token 0 is padding."""

    def __init__(self, vocab, max_tokens, dim, layers, heads, classes):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.position = nn.Embedding(max_tokens, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False)
        self.head = nn.Linear(dim, classes)

    def forward(self, tokens):
        padding = tokens == 0
        positions = torch.arange(tokens.shape[1])
        h = self.encoder(self.embedding(tokens) + self.position(positions), src_key_padding_mask=padding)
        keep = (~padding).unsqueeze(-1).float()
        return self.head((h * keep).sum(1) / keep.sum(1))


def make_model(config):
    if config["model"] == "mlp":
        return Mlp(config["widths"])
    return TextEncoder(**config["shape"])


def main():
    config = json.load(open(sys.argv[1]))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = make_model(config)
    model.load_state_dict(load_file(config["weights"]))
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(ddp.parameters(), lr=config["lr"])
    data = TensorDataset(*torch.load(config["inputs"]))
    sampler = DistributedSampler(data, shuffle=True, seed=config["seed"])
    loader = DataLoader(data, batch_size=config["batch"] // world, sampler=sampler)
    losses = []
    epoch = 0
    while len(losses) < config["steps"]:
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(ddp(x), y)
            loss.backward()
            optimizer.step()
            mean = loss.detach().double()
            dist.all_reduce(mean)
            losses.append(mean.item() / world)
            if len(losses) == config["steps"]:
                break
        epoch += 1
    if rank == 0:
        with open(config["out"], "w") as file:
            json.dump(losses, file)
    # Not destroy_process_group: gloo's teardown aborts now and then when the peer is gone a moment earlier.
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
