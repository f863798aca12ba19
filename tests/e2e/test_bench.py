"""Every part of bench/ runs to its end: nothing else would notice that one has rotted. Their numbers mean nothing here."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PARTS = re.search(r"^all=\((.*)\)$", (ROOT / "bench/all").read_text(), re.MULTILINE)[1].split()
# All nine would take minutes; these have each kind of data, and the script's flags.
SOME = {"steps_per_second": ("mlp small", "text-encoder bf16", "gpt small")}


@pytest.mark.parametrize("part", PARTS)
def test_part(part):
    done = subprocess.run([sys.executable, ROOT / f"bench/{part}.py", *SOME.get(part, ()), "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d[.,]\d", done.stdout), done.stdout
    assert not re.search(r"\b(nan|inf)\b", done.stdout), done.stdout
