"""Checkpoints listed, verified, exported and imported; .pt files in both directions against Python's torch."""

import collections
import ctypes
import ctypes.util
import json
import os
import pickle
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


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh3_128(data):
    """By the xxHash library itself."""
    function = ctypes.CDLL(ctypes.util.find_library("xxhash")).XXH3_128bits
    function.restype, function.argtypes = Hash128, [ctypes.c_char_p, ctypes.c_size_t]
    value = function(data, len(data))
    return f"{value.high:016x}{value.low:016x}"


def test_export_of_every_type_opens_in_torch(tmp_path):
    right = {name: tensor.contiguous() for name, tensor in every_kind_of_tensor().items() if name != "tied"}
    folder = tmp_path / "step-00000001"
    folder.mkdir()
    save_file(right, folder / "model.safetensors")
    raw = (folder / "model.safetensors").read_bytes()
    (folder / "manifest.json").write_text(json.dumps(
        {"format_version": 1, "files": {"model.safetensors": {"bytes": len(raw), "xxh3_128": xxh3_128(raw)}}}))
    with open(tmp_path / "out.pt", "wb") as out:
        done = subprocess.run([WORKER, "--export", folder, "pt", str(out.fileno())], pass_fds=[out.fileno()], capture_output=True)
    assert done.returncode == 0, done.stderr
    for mmap in (False, True):
        ours = torch.load(tmp_path / "out.pt", weights_only=True, mmap=mmap)
        assert isinstance(ours, collections.OrderedDict)
        same({name: ours[name] for name in right}, right)
    with zipfile.ZipFile(tmp_path / "out.pt") as archive:
        assert archive.testzip() is None
    # And what torch saves of it reads back.
    torch.save(ours, tmp_path / "again.pt")
    again = imported(tmp_path / "again.pt", tmp_path)
    same({name: again[name] for name in right}, right)


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
    ((getattr, ("text", "upper")), "getattr is not a tensor's type"),
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


TRAIN = ("--mode", "finetune", "--model", "mlp", "--data", "fashion-mnist", "--limit", 512, "--batch-size", 128, "--epochs", 3, "--nproc", 1)
LONG = ("--mode", "finetune", "--model", "mlp", "--data", "fashion-mnist", "--limit", 8192, "--batch-size", 512, "--epochs", 40,
        "--model-option", "hidden=512,256", "--schedule", "constant", "--nproc", 1)


@pytest.fixture(scope="module")
def trained(daemon):
    return daemon.train(*TRAIN)


def flip_bit(path):
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 4
    path.write_bytes(raw)


@pytest.fixture
def damaged(daemon, trained):
    """The folder of the second of three checkpoints, with one bit of its optimizer turned over."""
    folder = daemon.checkpoint(trained, 8)
    good = (folder / "optimizer.safetensors").read_bytes()
    flip_bit(folder / "optimizer.safetensors")
    yield folder
    (folder / "optimizer.safetensors").write_bytes(good)


def test_list(daemon, trained):
    found = json.loads(daemon.ctl("checkpoints", "list", trained, "-o", "json"))["checkpoints"]
    assert [int(c["step"]) for c in found] == [4, 8, 12]
    losses = dict(daemon.metrics(trained, "valid_loss"))
    for c in found:
        folder = daemon.checkpoint(trained, int(c["step"]))
        assert c["folder"] == str(folder)
        assert int(c["bytes"]) == sum(path.stat().st_size for path in folder.iterdir())
        assert c["attempt"] == 1 and int(c["epoch"]) == int(c["step"]) // 4
        assert c["valid_loss"] == pytest.approx(losses[int(c["step"])], rel=1e-12)
    table = daemon.ctl("checkpoints", "list", trained).splitlines()
    assert table[0].split() == ["STEP", "EPOCH", "VALID_LOSS", "VALID_ACC", "BEST", "SIZE", "AGE"]
    assert [line.split()[0] for line in table[1:]] == ["4", "8", "12"]
    assert daemon.run("checkpoints", "list", "0zzz").returncode == 4


def test_verify(daemon, trained):
    assert daemon.ctl("checkpoints", "verify", trained) == "step 4 OK\nstep 8 OK\nstep 12 OK\n"
    assert daemon.ctl("checkpoints", "verify", f"{trained}@last") == "step 12 OK\n"
    assert daemon.ctl("checkpoints", "verify", f"{trained}@4") == "step 4 OK\n"


def test_verify_names_what_is_damaged(daemon, trained, damaged):
    done = daemon.run("checkpoints", "verify", trained)
    assert done.returncode == 1
    path = damaged / "optimizer.safetensors"
    manifest = json.loads((damaged / "manifest.json").read_text())
    expected = manifest["files"]["optimizer.safetensors"]["xxh3_128"]
    assert done.stdout == (f"step 4 OK\nstep 8 DAMAGED\n  {path}\n    expected: checksum {expected}\n"
                           f"    found:    checksum {xxh3_128(path.read_bytes())}\nstep 12 OK\n")
    done = daemon.run("checkpoints", "verify", trained, "-o", "json")
    conditions = json.loads(done.stdout)["conditions"]
    assert done.returncode == 1 and [len(c["damages"]) for c in conditions] == [0, 1, 0]
    refused = daemon.run("checkpoints", "export", f"{trained}@8", "-o", damaged.parent / "x.pt")
    assert refused.returncode == 5 and "optimizer.safetensors" in refused.stderr
    assert not (damaged.parent / "x.pt").exists()


def test_manifest_vouches_for_itself(daemon, trained):
    for folder in daemon.checkpoint(trained).parent.glob("step-*"):
        text = (folder / "manifest.json").read_text()
        manifest = json.loads(text)
        own = manifest.pop("manifest_xxh3_128")
        assert own == xxh3_128((json.dumps(manifest, indent=1, sort_keys=True) + "\n").encode())
        for name, entry in manifest["files"].items():
            raw = (folder / name).read_bytes()
            assert entry == {"bytes": len(raw), "xxh3_128": xxh3_128(raw)}


def test_export_import_and_finetune(daemon, trained, tmp_path):
    right = load_file(daemon.checkpoint(trained, 12) / "model.safetensors")
    for name in ("m.pt", "m.safetensors"):
        said = daemon.ctl("checkpoints", "export", trained, "-o", tmp_path / name)
        assert said.startswith(f"{tmp_path / name}: step 12, {len(right)} tensors, ")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["m.pt", "m.safetensors"]
    ours = torch.load(tmp_path / "m.pt", weights_only=True)
    same({name: ours[name] for name in right}, right)
    assert (tmp_path / "m.safetensors").read_bytes() == (daemon.checkpoint(trained, 12) / "model.safetensors").read_bytes()

    # A change made in Python comes back in.
    ours = {name: tensor * 2 for name, tensor in ours.items()}
    torch.save(ours, tmp_path / "m.pt")
    path = daemon.ctl("checkpoints", "import", tmp_path / "m.pt").strip()
    assert path.startswith(f"{daemon.home}/imports/") and path.endswith("/model.safetensors")
    back = load_file(path)
    same({name: back[name] for name in ours}, ours)
    job = daemon.train(*TRAIN, "--init-from", path, "--lr", "1e-60", "--epochs", 1)
    trained_on = load_file(daemon.checkpoint(job) / "model.safetensors")
    same({name: trained_on[name] for name in ours}, ours)
    assert f"loaded {len(ours)} of {len(ours)} tensors" in daemon.events(job)


def test_weights_of_other_float_types(daemon, trained, tmp_path):
    full = load_file(daemon.checkpoint(trained, 12) / "model.safetensors")
    types = [torch.bfloat16, torch.float16, torch.float64]
    mixed = {name: tensor.to(types[i % 3]) for i, (name, tensor) in enumerate(full.items())}
    torch.save(mixed, tmp_path / "m.pt")
    path = daemon.ctl("checkpoints", "import", tmp_path / "m.pt").strip()
    job = daemon.train(*TRAIN, "--init-from", path, "--lr", "1e-60", "--epochs", 1)
    trained_on = load_file(daemon.checkpoint(job) / "model.safetensors")
    same({name: trained_on[name] for name in mixed}, {name: tensor.float() for name, tensor in mixed.items()})
    count = [sum(tensor.dtype == dtype for tensor in mixed.values()) for dtype in types]
    assert (f"loaded {len(mixed)} of {len(mixed)} tensors; converted to float32: {count[0]} of BF16, {count[1]} of F16, "
            f"{count[2]} of F64" in daemon.events(job))


def test_export_names_and_refusals(daemon, trained, tmp_path):
    out = tmp_path / "m.pt"
    daemon.ctl("checkpoints", "export", f"{trained}@4", "-o", out)
    first = out.read_bytes()
    done = daemon.run("checkpoints", "export", trained, "-o", out)
    assert done.returncode == 2 and "--force replaces it" in done.stderr and out.read_bytes() == first
    daemon.ctl("checkpoints", "export", trained, "-o", out, "--force")
    assert out.read_bytes() != first
    done = daemon.run("checkpoints", "export", f"{trained}@5", "-o", tmp_path / "n.pt")
    assert done.returncode == 4 and "no checkpoint of step 5; its steps are 4, 8, 12" in done.stderr
    done = daemon.run("checkpoints", "export", f"{trained}@x", "-o", tmp_path / "n.pt")
    assert done.returncode == 5 and "last, best, or a step" in done.stderr
    assert daemon.run("checkpoints", "export", f"{trained}@", "-o", tmp_path / "n.pt").returncode == 2
    done = daemon.run("checkpoints", "export", trained, "-o", tmp_path / "n")
    assert done.returncode == 2 and "--format" in done.stderr
    daemon.ctl("checkpoints", "export", trained, "-o", tmp_path / "n", "--format", "pt")
    assert (tmp_path / "n").read_bytes() == out.read_bytes()
    header = json.loads(daemon.ctl("checkpoints", "export", trained, "-o", tmp_path / "p.pt", "--output", "json"))
    assert header["xxh3_128"] == xxh3_128((tmp_path / "p.pt").read_bytes()) and header["name"] == f"{trained}-step-00000012.pt"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.pt", "n", "p.pt"]


def test_best(daemon, trained, tmp_path):
    best = daemon.checkpoint(trained).parent / "best.json"
    kept = best.read_bytes() if best.exists() else None
    best.unlink(missing_ok=True)
    done = daemon.run("checkpoints", "export", f"{trained}@best", "-o", tmp_path / "m.safetensors")
    assert done.returncode == 4 and "no best checkpoint" in done.stderr
    best.write_text(json.dumps({"step": 8, "metric": "valid_loss", "value": 0.5}))
    daemon.ctl("checkpoints", "export", f"{trained}@best", "-o", tmp_path / "m.safetensors")
    right = daemon.checkpoint(trained, 8) / "model.safetensors"
    assert (tmp_path / "m.safetensors").read_bytes() == right.read_bytes()
    best.unlink()
    if kept is not None:
        best.write_bytes(kept)


def test_import_refuses_and_keeps_nothing(daemon, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    imports = daemon.home / "imports"
    before = sorted(imports.iterdir()) if imports.exists() else []
    torch.save({"a": Evil((os.system, ("touch PWNED",)))}, tmp_path / "evil.pt")
    done = daemon.run("checkpoints", "import", tmp_path / "evil.pt")
    assert done.returncode == 5
    assert f'"{tmp_path}/evil.pt"' in done.stderr and "posix.system is not a tensor's type" in done.stderr
    assert not (tmp_path / "PWNED").exists()
    assert daemon.run("checkpoints", "import", tmp_path / "none.pt").returncode == 2
    (tmp_path / "empty.pt").write_bytes(b"")
    assert daemon.run("checkpoints", "import", tmp_path / "empty.pt").returncode == 5
    assert sorted(imports.iterdir()) == before


def test_an_upload_that_breaks_off_leaves_nothing(daemon, tmp_path):
    imports = daemon.home / "imports"
    before = sorted(path.name for path in imports.iterdir()) if imports.exists() else []
    big = tmp_path / "big.safetensors"
    with open(big, "wb") as file:
        file.truncate(3 << 30)  # takes seconds to send, and no room on this side
    client = subprocess.Popen([BIN / "ddpctl", "--no-autostart", "checkpoints", "import", big], env=daemon.env,
                              stderr=subprocess.PIPE)
    poll(lambda: any(path.name.startswith(".tmp-") for path in imports.iterdir()) if imports.exists() else False,
         "the upload begins")
    client.kill()
    client.communicate()
    poll(lambda: sorted(path.name for path in imports.iterdir()) == before, "the daemon removes what came", 20)


def test_imports_are_listed_and_forgotten(daemon, trained, tmp_path):
    daemon.ctl("checkpoints", "export", trained, "-o", tmp_path / "m.pt")
    path = daemon.ctl("checkpoints", "import", tmp_path / "m.pt").strip()
    name = path.split("/")[-2]

    def listed():
        found = json.loads(daemon.ctl("checkpoints", "imports", "-o", "json"))["imports"]
        return {found["id"]: found for found in found}

    assert listed()[name]["path"] == path
    assert int(listed()[name]["bytes"]) == os.path.getsize(path)
    assert listed()[name]["job_ids"] == []
    job = daemon.submit(*TRAIN, "--init-from", path, "--epochs", 1000, "--nproc", 2)  # all slots
    waits = daemon.submit(*TRAIN, "--init-from", path, "--nproc", 2)
    daemon.wait_step(job, 1)
    assert listed()[name]["job_ids"] == sorted([job, waits])
    row = next(row for row in daemon.ctl("checkpoints", "imports").splitlines() if row.startswith(name))
    assert row.endswith(" ".join(sorted([job, waits])))
    done = daemon.run("checkpoints", "forget", name)
    assert done.returncode == 5 and job in done.stderr and waits in done.stderr
    daemon.ctl("cancel", waits)
    daemon.ctl("pause", job)
    done = daemon.run("checkpoints", "forget", path)
    assert done.returncode == 5 and f"job {job} may still start from them; cancel it first" in done.stderr
    assert os.path.exists(path)
    daemon.ctl("cancel", job)
    assert daemon.ctl("checkpoints", "forget", path) == f"{name} deleted\n"
    assert not os.path.exists(os.path.dirname(path)) and name not in listed()
    done = daemon.run("checkpoints", "forget", name)
    assert done.returncode == 4 and f'no imported weights "{name}"' in done.stderr


def test_a_daemon_that_died_in_an_upload_cleans_up(daemon):
    left = daemon.home / "imports" / ".tmp-00000000abcd"
    left.mkdir(parents=True)
    (left / "upload").write_bytes(b"x")
    daemon.terminate()
    daemon.start()
    assert not left.exists()


def test_a_full_disk_keeps_the_old_checkpoint_and_the_run(tmp_path):
    home = tmp_path / "small"
    home.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", home], capture_output=True).returncode != 0:
        pytest.skip("not permitted to mount a tmpfs here")
    daemon = None
    try:
        daemon = Daemon(home, cpu_slots=1)
        job = daemon.submit(*LONG)
        poll(lambda: int(daemon.job(job)["checkpoint_step"]) > 0, "a first checkpoint")
        filler = home / "filler"
        with open(filler, "wb") as file:
            left = os.statvfs(home).f_bavail * os.statvfs(home).f_frsize
            file.write(b"x" * max(0, left - (1 << 20)))  # room for events and logs, not for a checkpoint of some 6 MB
        saved = int(daemon.job(job)["checkpoint_step"])
        poll(lambda: "cannot save step" in daemon.ctl("logs", job, "--rank", 0), "the worker tells that it cannot save")
        kept = int(daemon.job(job)["checkpoint_step"])
        assert kept >= saved
        daemon.wait_step(job, int(daemon.job(job)["progress"]["step"]) + 20)
        assert daemon.ctl("checkpoints", "verify", f"{job}@{kept}") == f"step {kept} OK\n"
        filler.unlink()
        poll(lambda: int(daemon.job(job)["checkpoint_step"]) > kept, "with room again, it saves again")
        daemon.ctl("cancel", job)
        found = daemon.job(job)
        assert found["state"] == "JOB_STATE_CANCELLED" and len(found["attempts"]) == 1
        assert "the older checkpoints stay, and training goes on" in daemon.events(job)
        step = int(found["checkpoint_step"])
        assert step > kept and daemon.ctl("checkpoints", "verify", f"{job}@last") == f"step {step} OK\n"
    finally:
        if daemon is not None:
            daemon.close()
        subprocess.run(["umount", home], check=True)
