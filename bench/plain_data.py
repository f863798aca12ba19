"""The data of the benchmarks for Python's side, read from the files that ddpd reads, as people read them."""

import collections
import gzip
import pathlib
import re

import numpy
import torch
from torch.utils.data import Dataset, TensorDataset

MAX_TOKENS = 32
WINDOW = 256
PAD, UNKNOWN, MASK, SPECIAL = 0, 1, 2, 3
VOCABULARY = 16384
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")


def numbers(folder):
    """x.npy and y.npy of common.write_numbers."""
    folder = pathlib.Path(folder)
    return TensorDataset(torch.from_numpy(numpy.load(folder / "x.npy")), torch.from_numpy(numpy.load(folder / "y.npy")))


def wordnet_ids():
    """The glosses of WordNet as lists of at most 32 word ids."""
    texts = []
    for part in ("noun", "verb", "adj", "adv"):
        with open(f"/usr/share/wordnet/data.{part}", encoding="utf-8") as file:
            texts += [line.split(" | ", 1)[1].strip() for line in file if not line.startswith("  ")]
    words = [re.findall(r"[a-z0-9]+", text.lower()) for text in texts]
    counts = collections.Counter(word for text in words for word in text)
    ids = {word: i + SPECIAL for i, (word, _) in enumerate(counts.most_common(VOCABULARY - SPECIAL))}
    return [[ids.get(word, UNKNOWN) for word in text[:MAX_TOKENS]] or [UNKNOWN] for text in words]


def wordnet():
    """The same, padded to 32."""
    ids = wordnet_ids()
    tokens = torch.zeros(len(ids), MAX_TOKENS, dtype=torch.long)
    for row, text in zip(tokens, ids):
        row[: len(text)] = torch.tensor(text)
    return TensorDataset(tokens)


def hide(tokens):
    """15 % of the tokens become the mask: (tokens with them hidden, where, what stood there)."""
    hidden = (torch.rand(tokens.shape) < 0.15) & (tokens != PAD)
    return tokens.masked_fill(hidden, MASK), hidden, tokens[hidden]


def fashion_mnist_bytes():
    with gzip.open(FASHION_MNIST / "train-images-idx3-ubyte.gz") as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(FASHION_MNIST / "train-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    return pixels, labels


def fashion_mnist():
    """Normalised images [n, 1, 28, 28] and classes."""
    pixels, labels = fashion_mnist_bytes()
    images = torch.from_numpy(pixels.copy()).unsqueeze(1).float() / 255
    return TensorDataset((images - images.mean()) / images.std(), torch.from_numpy(labels.copy()).long())


class Windows(Dataset):
    """Windows of 256 tokens out of a file of uint16, each with the tokens that follow."""

    def __init__(self, path):
        self.tokens = numpy.memmap(path, dtype=numpy.uint16, mode="r")

    def __len__(self):
        return (len(self.tokens) - 1) // WINDOW

    def __getitem__(self, i):
        window = torch.from_numpy(self.tokens[i * WINDOW : (i + 1) * WINDOW + 1].astype(numpy.int64))
        return window[:-1], window[1:]
