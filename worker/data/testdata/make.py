#!/usr/bin/env python3
"""Makes the files of this folder with the programs whose formats they are: numpy, safetensors, sentencepiece 0.2.0.

They are checked in, so that the tests need none of these. Values are formulas that the tests repeat.
"""
import json
import pathlib

import numpy as np
import safetensors.numpy
import sentencepiece

HERE = pathlib.Path(__file__).parent


def arrays():
    images = np.arange(36, dtype=np.uint8).reshape(6, 2, 3)
    labels = np.array([2, 10, 0, 2, 10, 0], dtype=np.int64)
    numbers = (np.arange(12, dtype=np.float64) / 4 - 1).reshape(6, 2)
    targets = np.arange(6, dtype=np.float32) * 0.5
    named = {"images": images, "labels": labels, "numbers": numbers, "targets": targets}
    np.savez(HERE / "stored.npz", **named)
    np.savez_compressed(HERE / "deflated.npz", **named)
    named["half"] = (np.arange(6, dtype=np.float16) / 8).reshape(6, 1)
    safetensors.numpy.save_file(named, HERE / "arrays.safetensors")


def npy():
    values = np.array([[1, 2, 3], [0, 1, 100]])
    for dtype in ["u1", "i1", "<u2", ">i2", "<u4", ">i4", "<u8", "<i8", "<f2", "<f4", ">f4", "<f8", ">f8", "?"]:
        name = dtype.replace("<", "le-").replace(">", "be-").replace("?", "bool")
        np.save(HERE / f"{name}.npy", values.astype(dtype))
    for version in [(2, 0), (3, 0)]:
        with open(HERE / f"version{version[0]}.npy", "wb") as f:
            np.lib.format.write_array(f, values.astype("<f4"), version=version)
    np.save(HERE / "objects.npy", np.array([[1, "a"]], dtype=object), allow_pickle=True)
    np.save(HERE / "structure.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
    np.save(HERE / "texts.npy", np.array([["ab", "c"]]))
    np.save(HERE / "fortran.npy", np.asfortranarray(values))
    np.save(HERE / "scalar.npy", np.float32(1))
    np.save(HERE / "empty.npy", np.zeros((0, 3), dtype=np.float32))


def tokens():
    """As llm.c's dev/data/data_common.py writes them."""
    for name, magic, version, dtype in [("gpt2", 20240520, 1, np.uint16), ("llama3", 20240801, 7, np.uint32)]:
        header = np.zeros(256, dtype=np.int32)
        ids = (np.arange(23) * 7 % 50).astype(dtype)
        header[:3] = magic, version, len(ids)
        (HERE / f"{name}.bin").write_bytes(header.tobytes() + ids.tobytes())


def sentencepieces():
    lines = ["the quick brown fox jumps over the lazy dog", "a dog and a fox", "quick quick slow", "the end of the fox"] * 5
    texts = ["the quick fox", "a slow dog jumps", "", "ünknown z", "  the   end "]
    found = {}
    for kind, size in [("unigram", 34), ("bpe", 50)]:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_prefix=str(HERE / kind), vocab_size=size, model_type=kind,
            normalization_rule_name="identity", minloglevel=2)
        (HERE / f"{kind}.vocab").unlink()
        model = sentencepiece.SentencePieceProcessor(model_file=str(HERE / f"{kind}.model"))
        found[kind] = {"unknown": model.unk_id(), "pieces": {text: model.encode(text) for text in texts}}
    (HERE / "pieces.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


arrays()
npy()
tokens()
sentencepieces()
