"""Each model against its Python twin on the same weights and batch: logits, 10 steps of SGD, gradients, what is left."""

import json
import os
import pathlib
import subprocess

import pytest
import torch
import torchvision
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

PROBE = pathlib.Path(os.environ["DDP_BIN"]).parent / "test-bin" / "model_probe"
STEPS = 10


def probe(folder, model, objective, shape, weights, inputs, lr, options=None, expect=0):
    """What ddpd's model says: the tensors of model_probe's output; with expect=1: its error."""
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, folder / "weights.safetensors")
    save_file(inputs, folder / "inputs.safetensors")
    config = {"model": model, "objective": objective, "shape": shape, "options": options or {}, "lr": lr, "steps": STEPS,
              "weights": str(folder / "weights.safetensors"), "inputs": str(folder / "inputs.safetensors"),
              "out": str(folder / "out.safetensors")}
    (folder / "config.json").write_text(json.dumps(config))
    done = subprocess.run([PROBE, folder / "config.json"], capture_output=True, text=True, timeout=300)
    assert done.returncode == expect, done.stderr
    return load_file(folder / "out.safetensors") if expect == 0 else done.stderr


def close(ours, right, rtol=1e-4, atol=1e-5):
    torch.testing.assert_close(ours, right.detach().to(ours.dtype), rtol=rtol, atol=atol)


def near(ours, right, tolerance, scale=None):
    """The distance is a small share of `scale`'s length (default: right's)."""
    distance = (ours.double() - right.detach().double()).norm().item()
    length = (right if scale is None else scale).detach().double().norm().item()
    assert distance <= tolerance * length + 1e-6 * right.numel() ** 0.5, f"{distance} of {length}"


def compare(ours, twin, name_of, logits, loss_of, count, lr, tolerance=1e-3):
    """Trains the twin and compares. name_of: Python's parameter name -> ours; loss_of: a function that gives the sum."""
    close(ours["logits"], logits, atol=1e-4)
    assert ours["count"].item() == count
    initial = {name: parameter.detach().clone() for name, parameter in twin.named_parameters()}
    losses = []
    twin.train()
    for step in range(STEPS):
        twin.zero_grad()
        loss = loss_of()
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            for name, parameter in twin.named_parameters():
                near(ours["grad." + name_of(name)], parameter.grad, tolerance)
        with torch.no_grad():
            for parameter in twin.parameters():
                parameter -= lr / count * parameter.grad
    assert losses[-1] < losses[0]
    assert ours["loss"].tolist() == pytest.approx(losses, rel=1e-4)
    for name, parameter in twin.named_parameters():  # both have moved to the same place
        near(ours["param." + name_of(name)], parameter, tolerance, scale=parameter - initial[name])
    for name, buffer in twin.named_buffers():
        if "buffer." + name in ours:
            near(ours["buffer." + name], buffer, 2e-3)
    twin.eval()
    with torch.no_grad():
        assert ours["final_loss"].item() == pytest.approx(loss_of().item(), rel=1e-3)


def same(name):
    return name


# ---- images


def images(n, channels, side, seed=1):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, channels, side, side, generator=generator)
    shape = {"features": channels * side * side, "channels": channels, "height": side, "width": side}
    return x, shape, torch.randint(10, (n,), generator=generator)


class SmallResnet(torchvision.models.ResNet):
    """The usual stem for small images: 3x3 with stride 1, no pooling."""

    def __init__(self, channels):
        super().__init__(torchvision.models.resnet.BasicBlock, [2, 2, 2, 2], num_classes=10)
        self.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        self.maxpool = nn.Identity()


@pytest.mark.parametrize("stem", ["imagenet", "small"])
def test_resnet18_is_torchvisions(tmp_path, stem):
    torch.manual_seed(3)
    twin = torchvision.models.resnet18(num_classes=10) if stem == "imagenet" else SmallResnet(3)
    x, shape, y = images(8, 3, 65 if stem == "imagenet" else 16)
    with torch.no_grad():  # running statistics that are not the initial ones
        twin.train()
        twin(torch.randn(16, *x.shape[1:]) * 2 + 1)
    ours = probe(tmp_path, "resnet18", "classification", shape | {"classes": 10}, twin.state_dict(),
                 {"features": x.flatten(1), "classes": y}, lr=5e-5)
    assert {name.removeprefix("param.") for name in ours if name.startswith("param.")} == set(dict(twin.named_parameters()))
    assert {name.removeprefix("buffer.") for name in ours if name.startswith("buffer.")} == {
        name for name in dict(twin.named_buffers()) if not name.endswith("num_batches_tracked")}
    twin.eval()
    logits = twin(x)
    assert ours["correct"][0] == (_train_logits(twin, x).argmax(1) == y).sum()
    # Rounding puts one of a million ReLUs on its other side now and then, and batch norm spreads that: the gradients of
    # Python's own float32 are up to 1 % away from those of its float64. Small steps keep that out of the losses.
    compare(ours, twin, same, logits, lambda: F.cross_entropy(twin(x), y, reduction="sum"), 8, 5e-5, tolerance=2e-2)


def _train_logits(twin, x):
    """In training mode, without moving the running statistics."""
    kept = {name: value.clone() for name, value in twin.state_dict().items()}
    twin.train()
    with torch.no_grad():
        result = twin(x)
    twin.load_state_dict(kept)
    twin.eval()
    return result


class Convnet(nn.Module):
    def __init__(self, shape, channels, layers, grid, outputs, head):
        super().__init__()
        widths = [shape["channels"]] + [c for c in channels for _ in range(layers)]
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in zip(widths, widths[1:]))
        self.layers, self.grid = layers, nn.AdaptiveAvgPool2d(grid)
        setattr(self, head, nn.Linear(channels[-1] * grid[0] * grid[1], outputs))
        self.head_name = head

    def forward(self, x):
        for i, conv in enumerate(self.convs):
            x = torch.relu(conv(x))
            if (i + 1) % self.layers == 0 and min(x.shape[2:]) >= 2:
                x = F.max_pool2d(x, 2)
        return getattr(self, self.head_name)(self.grid(x).flatten(1))


@pytest.mark.parametrize("side, channels, layers, grid", [(28, [32, 64], 1, 7), (33, [4], 2, 7), (5, [4, 6, 8, 8], 1, 1)])
def test_convnet(tmp_path, side, channels, layers, grid):
    torch.manual_seed(4)
    x, shape, y = images(6, 2, side)
    twin = Convnet(shape, channels, layers, (grid, grid), 10, "head")
    ours = probe(tmp_path, "convnet", "classification", shape | {"classes": 10}, twin.state_dict(),
                 {"features": x.flatten(1), "classes": y}, lr=0.05,
                 options={"channels": ",".join(map(str, channels)), "layers": str(layers)})
    compare(ours, twin, same, twin(x), lambda: F.cross_entropy(twin(x), y, reduction="sum"), 6, 0.05)


def test_convnet_denoising_and_regression(tmp_path):
    torch.manual_seed(5)
    x, shape, _ = images(6, 1, 14)
    clean, numbers = x.flatten(1), torch.randn(6)
    noisy = clean + 0.5 * torch.randn_like(clean)
    twin = Convnet(shape, [8, 8], 1, (3, 3), 196, "decoder")
    ours = probe(tmp_path, "convnet", "denoising", shape, twin.state_dict(), {"features": noisy, "clean": clean}, lr=0.1,
                 options={"channels": "8,8"})
    assert "correct" not in ours
    image = noisy.view_as(x)
    compare(ours, twin, same, twin(image), lambda: F.mse_loss(twin(image), clean) * 6, 6, 0.1)

    twin = Convnet(shape, [8, 8], 1, (3, 3), 1, "head")
    ours = probe(tmp_path, "convnet", "regression", shape, twin.state_dict(), {"features": clean, "numbers": numbers}, lr=0.02,
                 options={"channels": "8,8"})
    compare(ours, twin, same, twin(x), lambda: F.mse_loss(twin(x).squeeze(1), numbers, reduction="sum"), 6, 0.02)


def test_mlp_denoising(tmp_path):
    torch.manual_seed(6)
    clean = torch.randn(5, 12)
    noisy = clean + 0.5 * torch.randn(5, 12)
    twin = nn.Sequential(nn.Linear(12, 7), nn.ReLU(), nn.Linear(7, 12))
    names = {"0.weight": "layers.0.weight", "0.bias": "layers.0.bias", "2.weight": "decoder.weight", "2.bias": "decoder.bias"}
    weights = {names[name]: value for name, value in twin.state_dict().items()}
    ours = probe(tmp_path, "mlp", "denoising", {"features": 12}, weights, {"features": noisy, "clean": clean}, lr=0.1,
                 options={"hidden": "7"})
    compare(ours, twin, names.get, twin(noisy), lambda: F.mse_loss(twin(noisy), clean) * 5, 5, 0.1)


# ---- gpt

VOCAB, CONTEXT = 300, 24
GPT_OPTIONS = {"dim": "48", "layers": "3", "heads": "4", "context": str(CONTEXT)}


def gpt_config(**more):
    return transformers.GPT2Config(vocab_size=VOCAB, n_positions=CONTEXT, n_embd=48, n_layer=3, n_head=4, resid_pdrop=0.0,
                                   embd_pdrop=0.0, attn_pdrop=0.0, **more)


def texts(lengths, seed=2):
    """Tokens with padding behind, the mask, and the next token (-100: nothing to predict)."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, VOCAB, (len(lengths), max(lengths)), generator=generator)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    tokens = tokens * mask
    following = torch.full_like(tokens, -100)
    following[:, :-1] = torch.where(mask[:, 1:], tokens[:, 1:], -100)
    return tokens, mask, following


def spread(twin):
    """Hugging Face initialises biases to 0 and gains to 1; a mistake there would not show."""
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return twin


def predictions(following):
    """The inputs that say where a token is predicted, and which."""
    flat = following.view(-1)
    return {"predict_at": (flat != -100).nonzero().squeeze(1), "targets": flat[flat != -100]}


@pytest.mark.parametrize("names", ["GPT2LMHeadModel", "hub", "save_model"])
@pytest.mark.parametrize("lengths", [[20] * 4, [20, 3, 11, 1]], ids=["full", "padded"])
def test_gpt_is_transformers_gpt2(tmp_path, names, lengths):
    torch.manual_seed(7)
    twin = spread(transformers.GPT2LMHeadModel(gpt_config()))
    tokens, mask, following = texts(lengths)
    weights = {name: value for name, value in twin.state_dict().items() if name != "lm_head.weight"}
    if names == "hub":  # no prefix, and the causal masks that older versions saved
        weights = {name.removeprefix("transformer."): value for name, value in weights.items()}
        for i in range(3):
            weights[f"h.{i}.attn.bias"] = torch.ones(1, 1, CONTEXT, CONTEXT).tril()
            weights[f"h.{i}.attn.masked_bias"] = torch.tensor(-1e4)
    elif names == "save_model":  # of the two names of the tied weights, safetensors keeps the first
        weights["lm_head.weight"] = weights.pop("transformer.wte.weight")
    inputs = {"tokens": tokens} | predictions(following)
    if len(set(lengths)) > 1:
        inputs["mask"] = mask
    ours = probe(tmp_path, "gpt", "clm", {"vocab": VOCAB, "max_tokens": 20}, weights, inputs, lr=0.05, options=GPT_OPTIONS)
    twin.eval()
    with torch.no_grad():
        logits = twin(tokens, attention_mask=mask.long()).logits
    assert torch.equal(ours["correct"][0].long(), (logits.argmax(2) == following).sum())
    ours["logits"] = torch.where(mask.unsqueeze(2), ours["logits"], 0.0)  # what a padding position says counts nowhere
    logits = torch.where(mask.unsqueeze(2), logits, 0.0)

    def loss():
        return F.cross_entropy(twin(tokens, attention_mask=mask.long()).logits.view(-1, VOCAB), following.view(-1), reduction="sum")

    compare(ours, twin, same, logits, loss, sum(n - 1 for n in lengths), 0.05)


@pytest.mark.parametrize("lengths", [[9] * 3, [9, 2, 5]], ids=["full", "padded"])
def test_gpt_classification_is_transformers_sequence_classification(tmp_path, lengths):
    torch.manual_seed(8)
    twin = spread(transformers.GPT2ForSequenceClassification(gpt_config(num_labels=5, pad_token_id=0)))
    tokens, mask, _ = texts(lengths)
    y = torch.tensor([4, 0, 2])
    inputs = {"tokens": tokens, "classes": y} | ({"mask": mask} if len(set(lengths)) > 1 else {})
    ours = probe(tmp_path, "gpt", "classification", {"vocab": VOCAB, "max_tokens": 9, "classes": 5}, twin.state_dict(), inputs,
                 lr=0.01, options=GPT_OPTIONS)
    twin.eval()

    def logits():
        return twin(tokens, attention_mask=mask.long()).logits

    compare(ours, twin, same, logits(), lambda: F.cross_entropy(logits(), y, reduction="sum"), 3, 0.01)


def test_gpt_refuses_weights_that_it_would_misread(tmp_path):
    twin = transformers.GPT2LMHeadModel(gpt_config())
    tokens, _, following = texts([6])
    inputs = {"tokens": tokens} | predictions(following)
    weights = dict(twin.state_dict())
    untied = weights | {"lm_head.weight": weights["lm_head.weight"] + 1}
    shape = {"vocab": VOCAB, "max_tokens": 6}
    error = probe(tmp_path, "gpt", "clm", shape, untied, inputs, 0.1, GPT_OPTIONS, expect=1)
    assert "lm_head.weight" in error and "transformer.wte.weight" in error and "differ" in error
    del weights["lm_head.weight"]
    error = probe(tmp_path, "gpt", "clm", shape, weights, inputs, 0.1, GPT_OPTIONS | {"context": "6"}, expect=1)
    assert "transformer.wpe.weight" in error and "[24, 48]" in error and "[6, 48]" in error
