"""Puts the files of a folder into a C++ source: embed_assets.py FOLDER OUTPUT.cc, for server/gateway/assets.h."""

import gzip
import hashlib
import pathlib
import re
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
# As Vite names what it bundles: assets/index-DiwrgTda.js
HASHED = re.compile(r"^/assets/.+-[A-Za-z0-9_-]{8}\.[a-z0-9]+$")
# Of a compiler's tables, not of any file: what has to be written otherwise inside quotes.
PRINTABLE = set(range(0x20, 0x7F)) - {ord('"'), ord("\\"), ord("?")}


def literal(data):
    """The bytes as string literals, one per line. Octal escapes end after three digits, whatever follows."""
    lines = []
    for start in range(0, len(data), 100):
        text = "".join(chr(b) if b in PRINTABLE else f"\\{b:03o}" for b in data[start : start + 100])
        lines.append(f'    "{text}"')
    return "\n".join(lines) or '    ""'


def main():
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    if not (folder / "index.html").is_file():
        sys.exit(f"embed_assets: {folder} has no index.html")
    bodies, rows = [], []
    for number, path in enumerate(sorted(p for p in folder.rglob("*") if p.is_file())):
        name = "/" + path.relative_to(folder).as_posix()
        if path.suffix not in TYPES:
            sys.exit(f"embed_assets: {path}: the type of {path.suffix} files is not known; add it to {sys.argv[0]}")
        data = path.read_bytes()
        packed = gzip.compress(data, 9, mtime=0)
        if len(packed) > 0.9 * len(data):
            packed = b""
        etag = hashlib.sha256(data).hexdigest()[:16]
        bodies.append(f"constexpr char kBody{number}[] =\n{literal(data)};")
        bodies.append(f"constexpr char kGzip{number}[] =\n{literal(packed)};")
        rows.append(
            f'    {{"{name}", "{TYPES[path.suffix]}", "\\"{etag}\\"", {{kBody{number}, {len(data)}}},'
            f" {{kGzip{number}, {len(packed)}}}, {'true' if HASHED.match(name) else 'false'}}},"
        )
    text = "\n".join(
        [
            "// Made by cmake/embed_assets.py.",
            '#include "server/gateway/assets.h"',
            "",
            "namespace ddp {",
            "namespace {",
            *bodies,
            "constexpr Asset kAssets[] = {",
            *rows,
            "};",
            "}  // namespace",
            "std::span<const Asset> DashboardAssets() { return kAssets; }",
            "}  // namespace ddp",
            "",
        ]
    )
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text)


if __name__ == "__main__":
    main()
