"""Each mistake gives one clear message and exit code 2 or 5, and starts nothing."""

import json

import numpy as np
import pytest

from harness import write_csv

PRETRAIN = ("submit", "--mode", "pretrain")
CSV = ("submit", "--mode", "finetune", "--feature-columns", "a", "--label-column", "b")

CASES = {
    "unknown flag": ((*PRETRAIN, "--learning-rate", "1"), 2, "--learning-rate"),
    "misspelt flag": ((*PRETRAIN, "--epoch=3"), 2, 'unknown flag "--epoch"; did you mean --epochs?'),
    "flag of all verbs, misspelt": (("list", "--adress", "x"), 2, 'unknown flag "--adress"; did you mean --address?'),
    "unknown word of a choice": (("metrics", "0", "--plot", "--x", "time"), 2,
                                 '--x: must be one of step, epoch, wall, relative; got "time"'),
    "unknown output": (("list", "-o", "xml"), 2, '--output: must be one of table, wide, json, yaml; got "xml"'),
    "unknown state": (("list", "--state", "done"), 2, '--state: must be one of queued, starting, running,'),
    "unknown verb": (("submitt",), 2, "submitt"),
    "no mode": (("submit",), 5, "--mode (training.mode)"),
    "wrong mode": (("submit", "--mode", "pretraining"), 2, "--mode: must be one of pretrain, finetune"),
    "number in words": ((*PRETRAIN, "--lr", "fast"), 2, '--lr: must be a number, got "fast"'),
    "fraction of a sample": ((*PRETRAIN, "--batch-size", "1.5"), 2, "--batch-size: must be a whole number"),
    "too large a number": ((*PRETRAIN, "--epochs", "99999999999"), 2, "out of range"),
    "unknown field": ((*PRETRAIN, "--set", "training.learning=1"), 2, '--set training.learning: unknown field "learning"'),
    "unknown model": ((*PRETRAIN, "--model", "text-encodr"), 5, "text-encodr"),
    "unknown model option": ((*PRETRAIN, "--model-option", "layer=2"), 5, "layer"),
    "unknown data": ((*PRETRAIN, "--data", "wordnett"), 5, 'unknown data "wordnett" (did you mean wordnet?)'),
    "lr 0": ((*PRETRAIN, "--lr", "0"), 5, "--lr (training.lr): must be a finite number > 0, got 0"),
    "lr nan": ((*PRETRAIN, "--lr", "nan"), 5, "--lr (training.lr): must be a finite number > 0, got nan"),
    "lr -1": ((*PRETRAIN, "--lr", "-1"), 5, "--lr (training.lr): must be a finite number > 0, got -1"),
    "batch size 0": ((*PRETRAIN, "--batch-size", "0"), 5, "--batch-size (training.batch_size): must be > 0, got 0"),
    "nproc 0": ((*PRETRAIN, "--nproc", "0"), 5, "--nproc (resources.nproc): must be 1 to 2"),
    "nproc 3": ((*PRETRAIN, "--nproc", "3"), 5, "this machine has 2 CPU slots), got 3"),
    "more ranks than samples": ((*PRETRAIN, "--limit", "1"), 5, "2 ranks, but only 1 training samples"),
    "cuda without a GPU": ((*PRETRAIN, "--device", "cuda"), 5, "--device (resources.device): cuda is not possible here"),
    "nccl on cpu": ((*PRETRAIN, "--backend", "nccl"), 5, "--backend (resources.backend)"),
    "wrong objective": ((*PRETRAIN, "--objective", "classification"), 5, "--objective (training.objective)"),
    "numbers for the encoder": ((*PRETRAIN, "--data", "fashion-mnist", "--model", "text-encoder"), 5, "fashion-mnist has none"),
    "unknown job": (("get", "0zzzzzzzzzzz"), 4, "there is no job 0zzzzzzzzzzz"),
    "no job id": (("cancel", "../../etc"), 5, "is no job id"),
    "unknown parent": ((*PRETRAIN, "--init-from", "0zzzzzzzzzzz"), 4, "training.init_from: there is no job"),
    "missing weights": ((*PRETRAIN, "--init-from", "/nowhere/w.safetensors"), 5, "/nowhere/w.safetensors"),
}


def nothing_started(daemon):
    return json.loads(daemon.ctl("list", "-o", "json"))["jobs"] == []


@pytest.mark.parametrize("name", CASES)
def test_refused(daemon, name):
    args, code, message = CASES[name]
    done = daemon.run(*args)
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("ddpctl: ")
    assert nothing_started(daemon)


def test_missing_file(daemon, tmp_path):
    done = daemon.run(*CSV, "--data", tmp_path / "none.csv")
    assert done.returncode == 5
    assert f"{tmp_path}/none.csv" in done.stderr and "No such file" in done.stderr
    assert nothing_started(daemon)


@pytest.mark.parametrize(
    "header,rows,message",
    [
        (["a", "c"], [[1, 2]], '--label-column (training.data.label_column): FILE has no column "b"; its columns are "a", "c"'),
        (["a", "b"], [[1, 2], ["x", 3]], '--feature-columns (training.data.feature_columns): FILE:3: column "a": "x" is not a finite number'),
        (["a", "b"], [[1, 2], ["nan", 3]], 'FILE:3: column "a": "nan" is not a finite number'),
        (["a", "b"], [[1, 2], [1, 2, 3]], "FILE:3: "),
        (["a", "b"], [[1, ""]], 'FILE:2: column "b" is empty'),
        (["a", "b"], [], "FILE has no samples"),
    ],
)
def test_wrong_csv(daemon, tmp_path, header, rows, message):
    data = write_csv(tmp_path / "data.csv", header, rows)
    done = daemon.run(*CSV, "--data", data, "--valid", "none")
    assert done.returncode == 5
    assert message.replace("FILE", data) in done.stderr, done.stderr
    assert nothing_started(daemon)


def idx(path, array):
    """An IDX file of bytes."""
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape) + array.tobytes())


@pytest.mark.parametrize("ending,save", [("npy", np.save), ("idx", idx)])
def test_validation_arrays_without_samples(daemon, tmp_path, ending, save):
    files = {name: tmp_path / f"{name}.{ending}" for name in ("x", "y", "none", "no_labels")}
    save(files["x"], np.arange(40, dtype=np.uint8).reshape(10, 4))
    save(files["y"], np.arange(10, dtype=np.uint8) % 2)
    save(files["none"], np.zeros((0, 4), dtype=np.uint8))
    save(files["no_labels"], np.zeros(0, dtype=np.uint8))
    submit = ("submit", "--mode", "finetune", "--model", "mlp", "--data", files["x"], "--labels", files["y"], "--valid", files["none"],
              "--valid-labels", files["no_labels"])
    done = daemon.run(*submit)
    assert done.returncode == 5
    assert f"--valid (training.data.valid): {files['none']}: the shape [0, 4] has no samples" in done.stderr, done.stderr
    files["none"].write_bytes(b"")
    done = daemon.run(*submit)
    assert done.returncode == 5 and f"--valid (training.data.valid): {files['none']}: " in done.stderr, done.stderr
    assert nothing_started(daemon)


def test_a_class_that_only_validation_has(daemon, tmp_path):
    data = write_csv(tmp_path / "data.csv", ["a", "b"], [[i, i % 2] for i in range(10)])
    valid = write_csv(tmp_path / "valid.csv", ["a", "b"], [[1, 0], [2, "x"]])
    done = daemon.run(*CSV, "--data", data, "--valid", valid)
    assert done.returncode == 5
    assert '--valid (training.data.valid): the label "x" is none of the 2 classes that the model knows' in done.stderr, done.stderr
    assert nothing_started(daemon)


def test_wrong_yaml(daemon, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text("name: x\ntraining:\n  mode: pretrain\n  lrr: 1\n")
    done = daemon.run("submit", "-f", file)
    assert done.returncode == 2
    assert f'{file}:4: unknown field "lrr"; did you mean "lr"?' in done.stderr
    assert nothing_started(daemon)


def test_wrong_token(daemon, tmp_path):
    (tmp_path / "token").write_text("0" * 64)
    done = daemon.run("list", "--token-file", tmp_path / "token")
    assert done.returncode == 5
    assert "wrong token" in done.stderr


def test_no_daemon(daemon, tmp_path):
    done = daemon.run("list", "--home", tmp_path / "nobody")
    assert done.returncode == 3
    assert "no daemon runs" in done.stderr


def test_finetune_on_classes_that_the_parent_does_not_know(daemon, tmp_path):
    before = len(json.loads(daemon.ctl("list", "-o", "json"))["jobs"])
    old = write_csv(tmp_path / "old.csv", ["a", "b"], [[i, "uvw"[i % 3]] for i in range(12)])
    new = write_csv(tmp_path / "new.csv", ["a", "b"], [[i, "uvxy"[i % 4]] for i in range(12)])
    args = ("--epochs", "1", "--valid", "none", "--nproc", "1")
    parent = daemon.train(*CSV[1:], "--data", old, *args)
    for source in (parent, f"{parent}@last", daemon.checkpoint(parent)):
        done = daemon.run(*CSV, "--data", new, *args, "--init-from", source)
        assert done.returncode == 5
        assert '--data (training.data.source): the label "x" is none of the 3 classes that the model knows' in done.stderr, done.stderr
    assert len(json.loads(daemon.ctl("list", "-o", "json"))["jobs"]) == before + 1
    # The first two rows are "u" and "v": nothing else will be met.
    daemon.train(*CSV[1:], "--data", new, *args, "--init-from", parent, "--limit", "2")
    # Whatever is trained anew takes the classes of the data.
    daemon.train(*CSV[1:], "--data", new, *args, "--init-from", parent, "--reinit", "layers.*")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_model_that_is_larger_than_memory(daemon, ranks):
    d, layers = 16384, 96
    done = daemon.run(*PRETRAIN, "--model", "gpt", "--model-option", f"dim={d}", "--model-option", f"layers={layers}", "--nproc", ranks)
    assert done.returncode == 5
    # Tokens, positions, per layer four matrices of 12 d^2 with biases of 9 d and two norms of 4 d, and the last norm.
    parameters = 16384 * d + 32 * d + layers * (12 * d * d + 13 * d) + 2 * d
    needed = parameters * 4 * 4 * ranks / 2**30  # Adam: gradients and two moments
    assert f"(training.model): {parameters} parameters with their gradients and what the optimizer keeps" in done.stderr, done.stderr
    assert f" take {needed:.1f} GiB on {ranks} rank" in done.stderr, done.stderr


GPT = ("--mode", "pretrain", "--model", "gpt", "--model-option", "dim=4", "--model-option", "layers=1", "--model-option", "heads=1")
SHORT = ("--max-tokens", "4", "--epochs", "1", "--valid", "none", "--nproc", "1")


def test_tokens_and_text_are_not_mixed_by_a_parent(daemon, tmp_path):
    (np.arange(401, dtype=np.uint16) % 50).tofile(tmp_path / "d.bin")
    (tmp_path / "d.txt").write_text("the cat sat\n" * 20)
    tokens, text = ("--data", tmp_path / "d.bin"), ("--data", tmp_path / "d.txt")
    of_tokens = daemon.train(*GPT, *SHORT, *tokens, "--vocab-size", "50")
    of_text = daemon.train(*GPT, *SHORT, *text, "--tokenizer", "bytes")
    for parent, data, message in (
        (of_tokens, text, f"(training.init_from): it was trained on token files and cannot read the text of {tmp_path}/d.txt: name a .bin file"),
        (of_text, tokens, f"(training.init_from): its tokenizer is bytes, whose numbers are not those of {tmp_path}/d.bin: name text"),
    ):
        for source in (parent, daemon.checkpoint(parent)):
            done = daemon.run("submit", *GPT, *SHORT, *data, "--init-from", source)
            assert done.returncode == 5 and message in done.stderr, done.stderr
    daemon.train(*GPT, *SHORT, *tokens, "--vocab-size", "50", "--init-from", of_tokens)
    daemon.train(*GPT, *SHORT, *tokens, "--init-from", daemon.checkpoint(of_tokens))
    daemon.train(*GPT, *SHORT, *text, "--init-from", of_text)
    daemon.train(*GPT, *SHORT, *text, "--init-from", of_text, "--tokenizer", "bytes")


def test_another_tokenizer_than_the_parents(daemon, tmp_path):
    (tmp_path / "d.bin").write_bytes((np.arange(401, dtype=np.uint16) % 50).tobytes())
    (tmp_path / "d.txt").write_text("the cat sat\n" * 20)
    tokens, text = ("--data", tmp_path / "d.bin"), ("--data", tmp_path / "d.txt")
    of_tokens = daemon.train(*GPT, *SHORT, *tokens, "--vocab-size", "50")
    of_words = daemon.train(*GPT, *SHORT, *text)  # 3 words and 3 special tokens
    for parent, args, message in (
        (of_tokens, (*tokens, "--vocab-size", "60"), "(training.data.vocab_size): 60, but the vocabulary of init_from has 50 entries"),
        (of_words, (*text, "--vocab-size", "1000"), "(training.data.vocab_size): 1000, but the vocabulary of init_from has 6 entries"),
        (of_words, (*text, "--tokenizer", "bytes"), "(training.data.tokenizer): bytes is not the tokenizer that init_from was trained with (words)"),
    ):
        for source in (parent, daemon.checkpoint(parent)):
            done = daemon.run("submit", *GPT, *SHORT, *args, "--init-from", source)
            assert done.returncode == 5 and message in done.stderr, done.stderr
    # The same is fine: 16384 is what the parent asked for.
    daemon.train(*GPT, *SHORT, *text, "--init-from", of_words, "--tokenizer", "words", "--vocab-size", "16384")
    child = daemon.train(*GPT, *SHORT, *text, "--init-from", daemon.checkpoint(of_words))
    daemon.train(*GPT, *SHORT, *text, "--init-from", child)


def test_resume_of_a_running_job(daemon):
    job = daemon.submit("--mode", "pretrain", "--batch-size", "512")
    daemon.wait_step(job, 1)
    done = daemon.run("resume", job)
    assert done.returncode == 5
    assert f"cannot resume job {job}: it is RUNNING" in done.stderr
    done = daemon.run("delete", job)
    assert done.returncode == 5 and "cancel it first" in done.stderr
    assert daemon.run("cancel", "--force", job).returncode == 0
