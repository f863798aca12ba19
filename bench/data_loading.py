"""Samples per second: ddpd's readers and batches (one thread, data_loading.cc) against Python's reading and torch's DataLoader.

data_loading.py [--quick]    (--quick: a tenth of an epoch)

read: from the files to samples in memory, tokenized. batches: shuffled, padded, hidden tokens drawn, images normalised.
"""

import pathlib
import tempfile
import time

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Subset

import common
import plain_data

ROUNDS = 3


class Glosses(Dataset):
    def __init__(self, ids):
        self.ids = ids

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return torch.tensor(self.ids[i])

    @staticmethod
    def collate(texts):
        tokens = pad_sequence(texts, batch_first=True)
        return plain_data.hide(tokens) + (tokens == plain_data.PAD,)


class Images(Dataset):
    def __init__(self, pixels, labels):
        self.pixels, self.labels = pixels, labels
        self.mean, self.std = pixels.mean() / 255, pixels.std() / 255

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = torch.from_numpy(self.pixels[i].copy()).unsqueeze(0).float().div_(255)
        return image.sub_(self.mean).div_(self.std), int(self.labels[i])


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def epoch(data, batch, collate, workers):
    for _ in DataLoader(data, batch_size=batch, shuffle=True, collate_fn=collate, num_workers=workers):
        pass


def python_side(tokens):
    """Of each set: a function that reads it, samples per batch, collate."""
    return {
        "text": (lambda: Glosses(plain_data.wordnet_ids()), 2048, Glosses.collate),
        "images": (lambda: Images(*plain_data.fashion_mnist_bytes()), 2048, None),
        "windows": (lambda: plain_data.Windows(tokens), 32, None),
    }


def main():
    quick = common.quick_asked()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        tokens = pathlib.Path(folder) / "tokens.bin"
        common.write_tokens(tokens, 1 << 22)
        ours = common.google_benchmark("bench_data_loading", tokens)

        def our_rate(name):
            return ours[f"{name}/real_time"]["items_per_second"]

        print(f"{'samples/s':<18}{'ddpd':>12} {'Python':>12} {'ratio':>8}")
        for name, (read, batch, collate) in python_side(tokens).items():
            took, data = min((seconds(read) for _ in range(1 if quick else ROUNDS)), key=lambda result: result[0])
            if name != "windows":  # neither side reads windows before it needs them
                rate, right = our_rate(f"{name}/read"), len(data) / took
                print(f"{name + ' read':<18}{rate:>12.0f} {right:>12.0f} {rate / right:>8.2f}", flush=True)
            part = Subset(data, range(len(data) // 10)) if quick else data
            for workers in (0, common.RANKS):
                took = min(seconds(lambda: epoch(part, batch, collate, workers))[0] for _ in range(1 if quick else ROUNDS))
                rate, right = our_rate(f"{name}/batches"), len(part) / took
                print(f"{name + ' batches':<18}{rate:>12.0f} {right:>12.0f} {rate / right:>8.2f}   DataLoader, {workers} workers",
                      flush=True)


if __name__ == "__main__":
    main()
