"""Models through the product: weights from Python, ten steps as Python makes them, and what a model learns."""

import gzip

import pytest
import torch
import torchvision
import transformers
from safetensors.torch import load_file, save_file
from torch.nn import functional as F

from harness import write_csv

SLOTS = 2
STEPS = 10
FASHION_MNIST = "/usr/share/datasets/fashion-mnist"


def order(n, seed, epoch):
    """DistributedSampler's."""
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch))


def python_losses(samples, batch, seed, loss_of, optimizer):
    """Mean loss of each of STEPS steps. loss_of(indices) gives the sum and the count."""
    losses = []
    epoch = 0
    while len(losses) < STEPS:
        for part in order(samples, seed, epoch).split(batch):
            optimizer.zero_grad()
            loss, count = loss_of(part)
            (loss / count).backward()
            optimizer.step()
            losses.append(loss.item() / count)
            if len(losses) == STEPS:
                break
        epoch += 1
    return losses


def check(daemon, job_id, twin, initial, losses, share):
    """The same losses; and all parameters have moved to the same place, within a share of the way."""
    assert daemon.values(job_id, "loss") == pytest.approx(losses, rel=1e-4)
    assert losses[-1] < losses[0]
    saved = load_file(daemon.checkpoint(job_id) / "model.safetensors")
    for name, parameter in twin.named_parameters():
        moved = (parameter.detach() - initial[name]).norm()
        assert moved > 0 and (saved[name] - parameter.detach()).norm() <= share * moved, name


def copy_of(twin):
    return {name: parameter.detach().clone() for name, parameter in twin.named_parameters()}


@pytest.mark.parametrize("ranks", [1, 2])
def test_gpt_trains_as_transformers_does(daemon, tmp_path, ranks):
    torch.manual_seed(1)
    config = transformers.GPT2Config(vocab_size=259, n_positions=24, n_embd=32, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0,
                                     attn_pdrop=0.0)
    twin = transformers.GPT2LMHeadModel(config)
    twin.save_pretrained(tmp_path / "gpt2", safe_serialization=True)
    lengths = torch.randint(2, 21, (48,)).tolist()
    texts = [bytes(torch.randint(ord("a"), ord("z") + 1, (n,)).tolist()).decode() for n in lengths]
    data = write_csv(tmp_path / "text.csv", ["text"], [[text] for text in texts])
    tokens = torch.zeros(48, 20, dtype=torch.long)
    for i, text in enumerate(texts):
        tokens[i, : len(text)] = torch.tensor([b + 3 for b in text.encode()])  # 0, 1, 2 are pad, unknown, mask
    following = torch.where(tokens[:, 1:] > 0, tokens[:, 1:], -100)

    def loss_of(part):
        mask = (tokens[part] > 0).long()
        logits = twin(tokens[part], attention_mask=mask).logits[:, :-1]
        return F.cross_entropy(logits.reshape(-1, 259), following[part].reshape(-1), reduction="sum"), int((following[part] >= 0).sum())

    job = daemon.train("--mode", "pretrain", "--objective", "clm", "--model", "gpt", "--data", data, "--text-column", "text", "--tokenizer",
                       "bytes", "--max-tokens", 20, "--valid", "none", "--model-option", "dim=32", "--model-option", "layers=2",
                       "--model-option", "heads=4", "--model-option", "context=24", "--init-from", tmp_path / "gpt2" / "model.safetensors",
                       "--batch-size", 16, "--max-steps", STEPS, "--lr", 1e-3, "--schedule", "constant", "--seed", 5, "--nproc", ranks)
    initial = copy_of(twin)
    twin.train()
    optimizer = torch.optim.Adam(twin.parameters(), lr=1e-3)
    check(daemon, job, twin, initial, python_losses(48, 16, 5, loss_of, optimizer), share=0.02)
    # And back: Python loads what ddpd saved.
    again = transformers.GPT2LMHeadModel(config)
    missing, unexpected = again.load_state_dict(load_file(daemon.checkpoint(job) / "model.safetensors"), strict=False)
    assert (missing, unexpected) == (["lm_head.weight"], [])


def fashion(n):
    def read(name, header):
        return torch.frombuffer(bytearray(gzip.open(f"{FASHION_MNIST}/{name}").read()[header:]), dtype=torch.uint8)

    pixels = read("train-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28).double() / 255
    x = (pixels[:n] - pixels.mean()) / pixels.std(correction=0)
    return x.float(), read("train-labels-idx1-ubyte.gz", 8)[:n].long()


def test_resnet18_trains_as_torchvision_does(daemon, tmp_path):
    torch.manual_seed(2)
    twin = torchvision.models.resnet18(num_classes=10)
    twin.conv1 = torch.nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False)
    weights = tmp_path / "resnet18.safetensors"
    save_file(twin.state_dict(), weights)
    x, y = fashion(64)
    job = daemon.train("--mode", "finetune", "--model", "resnet18", "--model-option", "stem=imagenet", "--data", "fashion-mnist", "--limit", 64,
                       "--valid", "none", "--init-from", weights, "--batch-size", 64, "--micro-batch", 64, "--max-steps", STEPS, "--lr", 2e-4,
                       "--optimizer", "sgd", "--schedule", "constant", "--seed", 5, "--epochs", STEPS, "--nproc", 1)
    # As ddpd has its images: the other format's kernels round otherwise, and batch norm spreads it (docs/decisions.md).
    twin = twin.to(memory_format=torch.channels_last)
    initial = copy_of(twin)
    twin.train()
    optimizer = torch.optim.SGD(twin.parameters(), lr=2e-4)
    losses = python_losses(64, 64, 5, lambda part: (F.cross_entropy(twin(x[part]), y[part], reduction="sum"), len(part)),
                           optimizer)
    check(daemon, job, twin, initial, losses, share=0.05)
    assert "loaded 102 of 102 tensors" in daemon.events(job)


def test_convnet_trains_as_torch_does_with_any_micro_batch(daemon, tmp_path):
    """torch's in one piece, with the channels first; ddpd's in micro-batches, with the channels last. (Adam's first steps have
    the size of the learning rate, also where the gradient is nothing but rounding.)"""
    torch.manual_seed(3)
    convs = torch.nn.ModuleList([torch.nn.Conv2d(1, 32, 3, padding=1), torch.nn.Conv2d(32, 64, 3, padding=1)])
    twin = torch.nn.ModuleDict({"convs": convs, "head": torch.nn.Linear(64 * 7 * 7, 10)})
    weights = tmp_path / "convnet.safetensors"
    save_file(twin.state_dict(), weights)
    x, y = fashion(96)

    def loss_of(part):
        h = x[part]
        for conv in convs:
            h = F.max_pool2d(F.relu(conv(h)), 2)
        return F.cross_entropy(twin["head"](h.flatten(1)), y[part], reduction="sum"), len(part)

    right = python_losses(96, 48, 5, loss_of, torch.optim.SGD(twin.parameters(), lr=0.05, momentum=0.9))
    for ranks, micro_batch in [(1, 48), (1, 7), (2, 5)]:
        job = daemon.train("--mode", "finetune", "--model", "convnet", "--data", "fashion-mnist", "--limit", 96, "--valid", "none", "--init-from",
                           weights, "--batch-size", 48, "--micro-batch", micro_batch, "--max-steps", STEPS, "--lr", 0.05, "--optimizer", "sgd",
                           "--momentum", 0.9, "--schedule", "constant", "--seed", 5, "--epochs", STEPS, "--nproc", ranks)
        assert daemon.values(job, "loss") == pytest.approx(right, rel=1e-5), (ranks, micro_batch)
    assert right[-1] < right[0]


def test_convnet_learns_fashion_mnist(daemon):
    job = daemon.train("--mode", "finetune", "--data", "fashion-mnist", "--batch-size", 128, "--epochs", 3, "--schedule", "constant", "--nproc", 2,
                       timeout=600)
    assert daemon.job(job)["spec"]["training"]["model"]["name"] == "convnet"
    assert daemon.values(job, "valid_acc")[-1] > 0.9


def test_convnet_pretrains_by_denoising_and_hands_on_its_convolutions(daemon):
    first = daemon.train("--mode", "pretrain", "--data", "fashion-mnist", "--limit", 2000, "--batch-size", 100, "--epochs", 2, "--nproc", 2)
    assert daemon.job(first)["spec"]["training"]["objective"] == "OBJECTIVE_DENOISING"
    losses = daemon.values(first, "valid_loss")
    # Noise left as it is costs 0.25 a pixel (its variance), answering the mean image's grey costs 1.
    assert losses[1] < losses[0] < 1
    second = daemon.train("--mode", "finetune", "--data", "fashion-mnist", "--limit", 2000, "--init-from", first, "--epochs", 1, "--batch-size", 100)
    assert "loaded 4 of 6 tensors; fresh: head.weight, head.bias; not used: decoder.bias, decoder.weight" in daemon.events(second)


def test_refusals_name_the_field(daemon, tmp_path):
    text = write_csv(tmp_path / "text.csv", ["text"], [["some text"]] * 20)
    numbers = write_csv(tmp_path / "numbers.csv", ["a", "b", "label"], [[1, 2, "x"], [3, 4, "y"]] * 20)

    def refused(*args):
        done = daemon.run("submit", "--valid", "none", "--nproc", 1, *args)
        assert done.returncode == 5, done.stderr
        return done.stderr

    error = refused("--mode", "finetune", "--model", "convnet", "--data", numbers, "--feature-columns", "a,b", "--label-column", "label")
    assert "training.data.image_shape" in error and "1x28x28" in error
    error = refused("--mode", "finetune", "--model", "resnet", "--data", numbers, "--feature-columns", "a,b", "--label-column", "label")
    assert "training.model.name" in error and "text-encoder, gpt, convnet, resnet18, mlp" in error and "rig" not in error
    error = refused("--mode", "pretrain", "--model", "gpt", "--objective", "clm", "--data", text, "--text-column", "text", "--max-tokens", 32,
                    "--model-option", "context=16")
    assert "training.model.options.context" in error and "max_tokens" in error
    error = refused("--mode", "pretrain", "--model", "gpt", "--objective", "mlm", "--data", text, "--text-column", "text")
    assert "training.objective" in error and "clm, classification" in error
