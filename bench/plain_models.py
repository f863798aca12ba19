"""The models of docs/models.md as people write them in PyTorch, with the same shapes and initial spread of values."""

import torch
import torchvision
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Sequential):
    def __init__(self, hidden):
        widths = [64, *hidden]
        layers = []
        for a, b in zip(widths, widths[1:]):
            layers += [nn.Linear(a, b), nn.ReLU()]
        super().__init__(*layers, nn.Linear(widths[-1], 10))


class TextEncoder(nn.Module):
    """d 128, 2 layers, 4 heads, 32 tokens, vocabulary 16,384, dropout 0.1. Of the hidden tokens mlm gives logits (tied weights),
    embedding a guess of the token's embedding."""

    def __init__(self, objective):
        super().__init__()
        self.embedding = nn.Embedding(16384, 128)
        self.position = nn.Embedding(32, 128)
        nn.init.normal_(self.embedding.weight, std=0.05)
        nn.init.normal_(self.position.weight, std=0.02)
        layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(128), enable_nested_tensor=False)
        self.dropout = nn.Dropout(0.1)
        if objective == "mlm":
            self.bias = nn.Parameter(torch.zeros(16384))
        else:
            self.guess = nn.Linear(128, 128)

    def forward(self, tokens, padding, hidden):
        h = self.embedding(tokens) + self.position(torch.arange(tokens.shape[1]))
        h = self.encoder(self.dropout(h), src_key_padding_mask=padding)
        return self.guess(h[hidden]) if hasattr(self, "guess") else F.linear(h[hidden], self.embedding.weight, self.bias)


class Convnet(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(64 * 7 * 7, 10))


class Resnet18(torchvision.models.ResNet):
    """torchvision's, with the usual stem for small images of one channel."""

    def __init__(self):
        super().__init__(torchvision.models.resnet.BasicBlock, [2, 2, 2, 2], num_classes=10)
        self.conv1 = nn.Conv2d(1, 64, 3, padding=1, bias=False)
        self.maxpool = nn.Identity()


class GptLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(dim)
        self.attention = nn.Linear(dim, 3 * dim)
        self.attention_out = nn.Linear(dim, dim)
        self.ln_2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(approximate="tanh"), nn.Linear(4 * dim, dim))

    def forward(self, x):
        n, length, dim = x.shape
        q, k, v = (t.view(n, length, self.heads, -1).transpose(1, 2) for t in self.attention(self.ln_1(x)).split(dim, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attention_out(mixed.transpose(1, 2).reshape(n, length, dim))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """GPT-2's vocabulary, d 128, 4 layers, 4 heads, 256 tokens, no dropout; logits of all positions, tied weights."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(50257, 128)
        self.positions = nn.Embedding(256, 128)
        self.layers = nn.Sequential(*(GptLayer(128, 4) for _ in range(4)))
        self.norm = nn.LayerNorm(128)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens):
        h = self.layers(self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1])))
        return F.linear(self.norm(h), self.tokens.weight).flatten(0, 1)
