"""Checkpoints listed, verified, exported and imported; .pt files in both directions against Python's torch."""

import collections
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import zipfile

import numpy
import pytest
import torch
from safetensors.torch import load_file, save_file

from harness import BIN, Daemon, poll

WORKER = BIN / "ddp-worker"


def bits(tensor):
    """Shape, type and bytes in row-major order, so that NaNs and -0.0 count, too."""
    flat = tensor.detach().contiguous().reshape(-1)
    return tuple(tensor.shape), tensor.dtype, flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def same(ours, right):
    assert list(ours) == list(right)
    for name in right:
        assert bits(ours[name]) == bits(right[name]), name


def worker_import(source, target):
    """ddp-worker --import; gives (exit code, standard error)."""
    with open(target, "wb") as out:
        done = subprocess.run([WORKER, "--import", source, str(out.fileno())], pass_fds=[out.fileno()], capture_output=True,
                              timeout=120)
    return done.returncode, done.stderr.decode()


def imported(source, tmp_path):
    target = tmp_path / "imported.safetensors"
    code, error = worker_import(source, target)
    assert code == 0, error
    return load_file(target)


def refused(source, tmp_path):
    """The reason; nothing but InvalidArgument will do."""
    code, error = worker_import(source, tmp_path / "none")
    assert code == 64 + 3, (code, error)
    assert str(source) in error
    return error


def every_kind_of_tensor():
    generator = torch.Generator().manual_seed(5)
    base = torch.randn(6, 8, generator=generator)
    tensors = collections.OrderedDict()
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        tensors[str(dtype)] = torch.randn(3, 5, generator=generator).to(dtype)
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        tensors[str(dtype)] = torch.randint(0, 100, (7,), generator=generator).to(dtype)
    tensors["bool"] = torch.tensor([True, False, True])
    tensors["float8"] = torch.randn(9, generator=generator).to(torch.float8_e4m3fn)
    tensors["float8.b"] = torch.randn(9, generator=generator).to(torch.float8_e5m2)
    tensors["scalar"] = torch.tensor(-2.5)
    tensors["empty"] = torch.empty(0, 3)
    tensors["special"] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    tensors["whole"] = base
    tensors["transposed"] = base.t()
    tensors["part"] = base[1:5:2, 2:7]
    tensors["permuted"] = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    tensors["channels.last"] = torch.randn(2, 3, 4, 5, generator=generator).contiguous(memory_format=torch.channels_last)
    tensors["expanded"] = torch.tensor([[1.0], [2.0]]).expand(2, 4)
    tensors["tied"] = base
    tensors["name with \u00fc and \"quotes\""] = torch.ones(1)
    return tensors


def test_import_reads_what_torch_saved_bit_for_bit(tmp_path):
    right = every_kind_of_tensor()
    path = tmp_path / "all.pt"
    torch.save(right, path)
    ours = imported(path, tmp_path)
    assert set(ours) == set(right)
    same({name: ours[name] for name in right}, right)


@pytest.mark.parametrize("wrapped", ["state_dict", "model", "model_state_dict"])
def test_import_of_modules_and_whole_checkpoints(tmp_path, wrapped):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 4)).sum().backward()
    optimizer.step()
    plain, whole, parameters = (tmp_path / name for name in ("plain.pt", "whole.pt", "parameters.pt"))
    torch.save(model.state_dict(), plain)
    torch.save({"epoch": 3, "best": 0.25, "args": {"lr": 1e-3, "tags": ["a", None]}, "seed": 2**70, wrapped: model.state_dict(),
                "optimizer": optimizer.state_dict()}, whole)
    torch.save(dict(model.named_parameters()), parameters)
    right = model.state_dict()
    for path in (plain, whole):
        ours = imported(path, tmp_path)
        same({name: ours[name] for name in right}, right)
    ours = imported(parameters, tmp_path)
    same({name: ours[name] for name, _ in model.named_parameters()}, dict(model.named_parameters()))


@pytest.mark.parametrize("tensors", [{"arcs": torch.arange(4)}, {"arcs": torch.arange(4), "aux_labels": torch.arange(3)}])
def test_d9_dicts_of_one_and_two_tensors(tmp_path, tensors):
    torch.save(tensors, tmp_path / "x.pt")
    ours = imported(tmp_path / "x.pt", tmp_path)
    same({name: ours[name] for name in tensors}, tensors)


def test_import_of_a_file_that_python_compressed(tmp_path):
    tensors = {"zeros": torch.zeros(1000), "ones": torch.arange(100.0)}
    torch.save(tensors, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as source, \
            zipfile.ZipFile(tmp_path / "y.pt", "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            with target.open(name, "w", force_zip64=True) as entry:
                entry.write(source.read(name))
    ours = imported(tmp_path / "y.pt", tmp_path)
    same({name: ours[name] for name in tensors}, tensors)


def test_import_of_safetensors_copies_it(tmp_path):
    save_file({"a": torch.arange(5.0), "b": torch.ones(2, 2)}, tmp_path / "x.safetensors")
    target = tmp_path / "y.safetensors"
    assert worker_import(tmp_path / "x.safetensors", target) == (0, "")
    assert target.read_bytes() == (tmp_path / "x.safetensors").read_bytes()


class Evil:
    def __init__(self, call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("call, named", [
    ((os.system, ("touch PWNED",)), "posix.system is not a tensor's type: this file could run code; refused"),
    ((eval, ("open('PWNED', 'w')",)), "eval is not a tensor's type"),
    ((exec, ("open('PWNED', 'w')",)), "exec is not a tensor's type"),
    ((getattr, (torch, "load")), "getattr is not a tensor's type"),
    ((torch.load, ("x",)), "torch.serialization.load is not a tensor's type"),
    ((torch.sparse_coo_tensor, (torch.zeros(1, 1, dtype=torch.int64), torch.ones(1))), "is not a tensor's type"),
    ((numpy.frombuffer, (b"x",)), "frombuffer is not a tensor's type"),
])
def test_s1_code_in_a_file_is_refused_by_its_name(tmp_path, monkeypatch, call, named):
    monkeypatch.chdir(tmp_path)
    torch.save({"a": torch.ones(1), "b": Evil(call)}, tmp_path / "evil.pt")
    assert named in refused(tmp_path / "evil.pt", tmp_path)
    assert not (tmp_path / "PWNED").exists()


def test_d9_other_files_are_named_for_what_they_are(tmp_path):
    tensors = {"a": torch.ones(2)}
    torch.save(tensors, tmp_path / "legacy.pt", _use_new_zipfile_serialization=False)
    assert "before PyTorch 1.6" in refused(tmp_path / "legacy.pt", tmp_path)
    torch.jit.script(torch.nn.Linear(2, 2)).save(tmp_path / "script.pt")
    assert "a TorchScript program" in refused(tmp_path / "script.pt", tmp_path)
    torch.save(torch.nn.Linear(2, 2), tmp_path / "module.pt")
    assert "torch.nn.modules.linear.Linear is not a tensor's type" in refused(tmp_path / "module.pt", tmp_path)
    torch.save([torch.ones(1)], tmp_path / "list.pt")
    assert "holds a list, no state_dict" in refused(tmp_path / "list.pt", tmp_path)
    torch.save({"epoch": 1, "net": tensors}, tmp_path / "net.pt")
    assert 'its keys are "epoch", "net"' in refused(tmp_path / "net.pt", tmp_path)
    torch.save({"model": tensors, "state_dict": tensors}, tmp_path / "two.pt")
    assert "several state_dicts" in refused(tmp_path / "two.pt", tmp_path)
    torch.save({"a": torch.ones(1), "epoch": 3}, tmp_path / "mixed.pt")
    assert '"epoch" is a int, no tensor' in refused(tmp_path / "mixed.pt", tmp_path)
    torch.save({"a": torch.ones(1, dtype=torch.complex64)}, tmp_path / "complex.pt")
    assert "torch.ComplexFloatStorage: tensors of this type are not supported" in refused(tmp_path / "complex.pt", tmp_path)
    torch.save(tensors, tmp_path / "new.pt", pickle_protocol=4)
    assert "pickle protocol 4" in refused(tmp_path / "new.pt", tmp_path)
    (tmp_path / "page.pt").write_text("<html>not found</html>")
    assert "no safetensors file" in refused(tmp_path / "page.pt", tmp_path)
    (tmp_path / "pickle.pt").write_bytes(pickle.dumps({"a": 1}, protocol=2))
    assert "a pickle without an archive" in refused(tmp_path / "pickle.pt", tmp_path)


def test_every_cut_of_a_pt_file_is_refused(tmp_path):
    torch.save({"a": torch.arange(20.0)}, tmp_path / "x.pt")
    whole = (tmp_path / "x.pt").read_bytes()
    for length in [0, 1, 2, 3, 4, 30, *range(100, len(whole), 97), len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:length])
        refused(tmp_path / "cut", tmp_path)
