"""A client of the web gateway out of sockets, and independent ways to make and ask the same calls."""

import base64
import http.client
import json
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import urllib.parse

TESTS = pathlib.Path(__file__).parent
PROTO = TESTS.parent / "proto"
FILES = {"Job": "job", "Metric": "metric", "Log": "log", "Checkpoint": "checkpoint", "System": "system", "Live": "live"}


def encode(message, text, file="job"):
    """A message of the contract from protobuf's text format, by protoc."""
    done = subprocess.run(
        ["protoc", f"--encode=ddp.v1.{message}", "-I", PROTO, PROTO / f"ddp/v1/{file}.proto"],
        input=text.encode(), capture_output=True, check=True,
    )
    return done.stdout


def decode(message, data, file="job"):
    done = subprocess.run(
        ["protoc", f"--decode=ddp.v1.{message}", "-I", PROTO, PROTO / f"ddp/v1/{file}.proto"],
        input=data, capture_output=True, check=True,
    )
    return done.stdout.decode()


def frame(message, flags=0):
    return struct.pack(">BI", flags, len(message)) + message


def unframe(body):
    """[(flags, bytes)]; the body must end with a frame."""
    frames = []
    while body:
        flags, length = struct.unpack(">BI", body[:5])
        assert len(body) >= 5 + length, "the body ends inside a frame"
        frames.append((flags, body[5 : 5 + length]))
        body = body[5 + length :]
    return frames


def trailers(block):
    lines = block.decode().split("\r\n")
    assert lines.pop() == ""
    return dict(line.split(":", 1) for line in lines)


class Answer:
    """What came of a call: the messages and the status."""

    def __init__(self, body):
        frames = unframe(body)
        assert [flags for flags, _ in frames] == [0] * (len(frames) - 1) + [0x80]
        self.messages = [data for _, data in frames[:-1]]
        self.trailers = trailers(frames[-1][1])
        self.code = int(self.trailers["grpc-status"])
        self.message = urllib.parse.unquote(self.trailers.get("grpc-message", ""))
        details = self.trailers.get("grpc-status-details-bin", "")
        self.details = base64.b64decode(details + "=" * (-len(details) % 4))


class Web:
    def __init__(self, daemon, ca=None):
        self.url = (daemon.home / "web-address").read_text().strip()
        self.token = (daemon.home / "token").read_text().strip()
        self.address = (daemon.home / "address").read_text().strip()
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port, self.authority = parts.hostname, parts.port, parts.netloc
        self.ca = ca

    def http(self, timeout=30):
        if self.ca:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=ssl.create_default_context(cafile=self.ca))
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def headers(self, extra=None):
        headers = {"content-type": "application/grpc-web+proto", "x-grpc-web": "1", "authorization": f"Bearer {self.token}"}
        return {k: v for k, v in (headers | (extra or {})).items() if v is not None}

    def request(self, method, path, body=None, headers=None):
        """(status, headers, body) of one request on a connection of its own."""
        connection = self.http()
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, response.headers, data

    def call(self, method, *messages, headers=None):
        status, head, body = self.request("POST", f"/ddp.v1.{method}", b"".join(map(frame, messages)), self.headers(headers))
        assert status == 200, body
        assert head["content-type"] == "application/grpc-web+proto"
        return Answer(body)

    def open(self, method, message, headers=None):
        """A stream that is read by the caller: the response once its head is there."""
        connection = self.http()
        connection.request("POST", f"/ddp.v1.{method}", frame(message), self.headers(headers))
        return connection, connection.getresponse()

    def head(self, method, length, extra=""):
        """A call's head as raw bytes."""
        return (
            f"POST /ddp.v1.{method} HTTP/1.1\r\nHost: {self.authority}\r\nContent-Type: application/grpc-web+proto\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Length: {length}\r\n{extra}\r\n"
        ).encode()

    def socket(self, timeout=30):
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def raw(self, data, timeout=30):
        """Everything that comes back for these bytes until the daemon closes."""
        with self.socket(timeout) as s:
            s.sendall(data)
            got = b""
            while piece := s.recv(65536):
                got += piece
            return got

    def grpc(self, method, *messages, ca=None):
        """The same call by grpcio."""
        command = ["/usr/bin/python3", TESTS / "grpc_raw.py", "--several", self.address, self.token, f"/ddp.v1.{method}", *([ca] if ca else [])]
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
        done = subprocess.run(
            command, input=json.dumps({"messages": [m.hex() for m in messages]}).encode(), env=env, capture_output=True, timeout=120,
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)


def read_frame(response):
    """The next frame of an open stream."""
    flags, length = struct.unpack(">BI", response.read(5))
    data = response.read(length)
    assert len(data) == length
    return flags, data
