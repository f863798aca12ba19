"""The web gateway of a real daemon: sockets and http.client on one side, grpcio's answers to the same calls on the other."""

import concurrent.futures
import gzip
import json
import os
import pathlib
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

from harness import BIN, Daemon, poll
from web import Answer, Web, decode, encode, frame, read_frame, trailers, unframe

IDLE, TRANSFER = 1.0, 1.5
FAKE_WORKER = ("--worker-binary", BIN.parent / "test-bin" / "ddp-fake-worker")
FLAGS = (
    *FAKE_WORKER, "--web-idle-timeout", str(IDLE), "--web-transfer-timeout", str(TRANSFER),
    "--web-host", "train.example:8443", "--web-host", "lab.example",
)


@pytest.fixture(scope="module")
def web(daemon):
    return Web(daemon)


def submit(daemon, script, *flags):
    return daemon.submit("--mode", "pretrain", "--nproc", 1, "--model-option", f"rank-0={script}", *flags)


@pytest.fixture(scope="module")
def ended(daemon):
    """A job whose log is as long as a slow reader needs."""
    job = submit(daemon, "begin " + " ".join(f"step {n}" for n in range(1, 6)) + " finish")
    assert daemon.wait(job) == "SUCCEEDED"
    return job


@pytest.fixture
def running(daemon):
    job = submit(daemon, "begin step 1 wait-stop finish")
    poll(lambda: daemon.state(job) == "RUNNING", "the job runs")
    yield job
    daemon.run("cancel", "--force", job)
    daemon.wait(job)


def assert_same(web, method, *messages):
    """Byte for byte what grpcio gets."""
    answer, expected = web.call(method, *messages), web.grpc(method, *messages)
    assert [m.hex() for m in answer.messages] == expected["messages"]
    assert (answer.code, answer.message, answer.details.hex()) == (expected["code"], expected["message"], expected["details"])
    return answer


# ---- Calls


def test_unary_calls(web, ended):
    answer = assert_same(web, "SystemService/GetInfo", b"")
    assert f'web_address: "{web.url}"' in decode("SystemInfo", answer.messages[0], "system")
    answer = assert_same(web, "JobService/Get", encode("GetJobRequest", f'id: "{ended}"'))
    assert f'id: "{ended}"' in decode("Job", answer.messages[0])
    assert_same(web, "JobService/List", b"")
    assert_same(web, "MetricService/Query", encode("QueryMetricsRequest", f'job_id: "{ended}"', "metric"))


def test_server_streams(web, ended):
    answer = assert_same(web, "JobService/Watch", encode("WatchJobRequest", f'id: "{ended}"'))
    assert len(answer.messages) > 3
    answer = assert_same(web, "MetricService/Stream", encode("StreamMetricsRequest", f'job_id: "{ended}"', "metric"))
    text = "".join(decode("StreamMetricsResponse", m, "metric") for m in answer.messages)
    assert [float(v) for v in re.findall(r"value: (\S+)", text)] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])


def test_errors(web):
    assert_same(web, "JobService/Get", encode("GetJobRequest", 'id: "zzzz"'))
    assert_same(web, "JobService/Watch", encode("WatchJobRequest", 'id: "%/ä€"'))
    assert assert_same(web, "JobService/Get", b"\xff").code != 0  # not a message
    wrong = encode("SubmitJobRequest", "spec { training { mode: MODE_PRETRAIN max_steps: -1 batch_size: 0 } }")
    answer = assert_same(web, "JobService/Submit", wrong)
    details = decode("RpcStatus", answer.details, "rpc_status")
    assert answer.code == 3 and "code: 3" in details and "ddp.v1.ErrorDetail" in details and "training.max_steps" in details


def test_client_stream_of_many_frames(web):
    # 20 MiB in one body, above the limit of one message; one byte less than announced, so the end is the answer.
    header = encode("ImportCheckpointRequest", f'header {{ name: "w" bytes: {20 * 2**20 + 1} }}', "checkpoint")
    piece = b"\x12" + b"\x80\x80\x40" + bytes(2**20)  # field 2, 2^20 bytes
    answer = web.call("CheckpointService/Import", header, *[piece] * 20)
    assert (answer.code, answer.message) == (3, "20971520 bytes came instead of the 20971521 that the header announced")
    small = encode("ImportCheckpointRequest", 'header { name: "w" bytes: 7 }', "checkpoint")
    assert_same(web, "CheckpointService/Import", small, b"\x12\x02ab", b"\x12\x03cde")


def test_frames_cut_anywhere(web):
    body = frame(encode("GetJobRequest", 'id: "zzzz"'))
    with web.socket() as s:
        s.sendall(web.head("JobService/Get", len(body), "Connection: close\r\n"))
        for byte in body:
            s.sendall(bytes([byte]))
            time.sleep(0.01)  # so that each is a packet of its own
        got = b"".join(iter(lambda: s.recv(65536), b""))
    assert b"grpc-status:5\r\n" in got


def test_a_live_stream_sends_each_message_at_once(daemon, web, running):
    connection, response = web.open("JobService/Watch", encode("WatchJobRequest", f'id: "{running}"'))
    assert response.getheader("transfer-encoding") == "chunked"
    # What is there already: the job and its events. Then nothing, until something happens.
    connection.sock.settimeout(0.5)
    seen = []
    with pytest.raises(TimeoutError):
        while True:
            seen.append(read_frame(response))
    assert seen and all(flags == 0 for flags, _ in seen)
    daemon.ctl("cancel", running)
    connection.close()


def test_the_head_of_a_stream_comes_before_its_first_message(web, running):
    # Everything up to now has been seen: nothing to send for a while.
    seen = encode("WatchJobRequest", f'id: "{running}" after_event: 1000000')
    with web.socket() as s:
        s.sendall(web.head("LogService/Follow", 5 + len(seen)) + frame(seen))
        assert s.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n")


def test_deadline(web, running):
    began = time.monotonic()
    answer = web.call("JobService/Watch", encode("WatchJobRequest", f'id: "{running}"'), headers={"grpc-timeout": "300m"})
    assert answer.code == 4
    assert 0.25 < time.monotonic() - began < 5
    answer = web.call("JobService/List", b"", headers={"grpc-timeout": "soon"})
    assert (answer.code, answer.message) == (3, 'grpc-timeout must be 1 to 8 digits and one of H M S m u n, got "soon"')


def test_call_after_call_on_one_connection(web):
    connection = web.http()
    for _ in range(3):
        connection.request("POST", "/ddp.v1.JobService/List", frame(b""), web.headers())
        before = connection.sock
        assert Answer(connection.getresponse().read()).code == 0
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"
        assert connection.sock is before
    # Two requests at once: answered in order.
    one = web.head("JobService/List", 5) + frame(b"")
    last = web.head("JobService/List", 5, "Connection: close\r\n") + frame(b"")
    assert web.raw(one + last).count(b"grpc-status:0\r\n") == 2


def test_expect_continue(web):
    body = frame(b"")
    with web.socket() as s:
        s.sendall(web.head("JobService/List", len(body), "Expect: 100-continue\r\nConnection: close\r\n"))
        assert s.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        s.sendall(body)
        got = b"".join(iter(lambda: s.recv(65536), b""))
    assert got.startswith(b"HTTP/1.1 200 OK\r\n") and b"grpc-status:0\r\n" in got


# ---- Who may ask


@pytest.mark.parametrize("header, word", [(None, "no token"), ("Bearer wrong", "wrong token"), ("wrong", "wrong token")])
def test_without_the_token(web, header, word):
    answer = web.call("JobService/List", b"", headers={"authorization": header})
    assert answer.code == 16 and word in answer.message and answer.messages == []
    status, headers, body = web.request("GET", "/metrics", headers={"authorization": header} if header else {})
    assert status == 401 and word in body.decode() and headers["www-authenticate"] == 'Bearer realm="ddpd"'


def test_a_token_in_the_address_is_no_token(web):
    status, _, _ = web.request("GET", f"/metrics?token={web.token}&authorization=Bearer%20{web.token}")
    assert status == 401


def test_a_body_without_the_token_is_not_kept(daemon, web):
    before = resident_bytes(daemon)
    head = web.head("JobService/List", 16 * 2**20).replace(web.token.encode(), b"0" * 64)
    with web.socket() as s:
        s.sendall(head + struct.pack(">BI", 0, 16 * 2**20 - 5))
        got = s.recv(65536)
        assert b"grpc-status:16\r\n" in got and b"Connection: close\r\n" in got
    assert resident_bytes(daemon) - before < 8 * 2**20


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "lab.example:1", "train.example"])
def test_forged_host(web, host):
    status, _, body = web.request("GET", "/healthz", headers={"Host": host.format(port=web.port)})
    assert status == 403 and "is not this daemon's" in body.decode()


@pytest.mark.parametrize("host", ["localhost:{port}", "[::1]:{port}", "LOCALHOST:{port}", "train.example:8443", "lab.example", "lab.example:{port}"])
def test_good_host(web, host):
    host = host.format(port=web.port)
    assert web.request("GET", "/healthz", headers={"Host": host})[0] == 200
    assert web.request("GET", "/healthz", headers={"Host": host, "Origin": f"http://{host}"})[0] == 200
    assert web.request("GET", "/healthz", headers={"Host": host, "Origin": "http://evil.example"})[0] == 403


def test_two_hosts_or_none(web):
    for hosts in (f"Host: {web.authority}\r\nHost: evil.example\r\n", ""):
        assert web.raw(f"GET /healthz HTTP/1.1\r\n{hosts}\r\n".encode()).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:{port}", "http://127.0.0.1:1", "http://127.0.0.1", "ftp://{authority}"])
def test_forged_origin(web, origin):
    origin = origin.format(port=web.port, authority=web.authority)
    status, _, body = web.request("POST", "/ddp.v1.JobService/List", frame(b""), web.headers({"Origin": origin}))
    assert status == 403 and "only the dashboard's own are served" in body.decode()


def test_own_origin(web):
    assert web.call("JobService/List", b"", headers={"Origin": web.url}).code == 0


def test_methods(web):
    for method in ("OPTIONS", "PUT", "DELETE", "TRACE", "CONNECT", "PATCH"):
        status, headers, _ = web.request(method, "/", headers={"Origin": web.url, "Access-Control-Request-Method": "POST"})
        assert status == 405 and headers["allow"] == "GET, HEAD, POST"
        assert not [name for name in headers if name.lower().startswith("access-control")]
    assert web.request("POST", "/", b"a=b", {"Content-Type": "application/x-www-form-urlencoded"})[0] == 415
    assert web.request("POST", "/ddp.v1.JobService/List", b"{}", web.headers({"content-type": "application/json"}))[0] == 415
    assert web.request("GET", "/", b"body")[0] == 413


@pytest.mark.parametrize("method", ["RunnerService/Attach", "JobService/Nothing", "Nobody/List", "/List", ""])
def test_methods_that_are_not_public(web, method):
    answer = web.call(method, b"")
    assert answer.code == 12 and answer.messages == []


def test_reflection_is_not_passed_on(web):
    path = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    status, _, body = web.request("POST", path, frame(b""), web.headers())
    assert status == 200 and Answer(body).code == 12


def test_headers_of_every_answer(web):
    for method, path in (("GET", "/"), ("GET", "/nothing"), ("GET", "/metrics"), ("POST", "/ddp.v1.JobService/List"), ("OPTIONS", "/")):
        _, headers, _ = web.request(method, path, frame(b"") if method == "POST" else None, web.headers() if method == "POST" else None)
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy == {
            "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data: blob:", "connect-src": "'self'",
            "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
        }
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in headers and "server" not in headers


# ---- Limits


def test_head_too_large(web):
    got = web.raw(f"GET / HTTP/1.1\r\nHost: {web.authority}\r\nX: {'x' * 20000}\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 431 ")
    # No end in sight.
    with web.socket() as s:
        s.sendall(b"GET /" + b"x" * 30000)
        assert s.recv(65536).startswith(b"HTTP/1.1 431 ")


def test_no_http(web):
    assert web.raw(b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert web.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    body = frame(b"")
    old = web.head("JobService/List", len(body)).replace(b"HTTP/1.1", b"HTTP/1.0") + body
    assert web.raw(old).startswith(b"HTTP/1.1 505 ")
    both = web.head("JobService/List", len(body), "Transfer-Encoding: chunked\r\n") + body
    assert b"HTTP/1.1 400 " in web.raw(both)


@pytest.mark.parametrize(
    "body, code, word",
    [
        (struct.pack(">BI", 0, 16 * 2**20 + 1), 8, "a message of 16777217 bytes is too large; the limit is 16777216"),
        (struct.pack(">BI", 0, 2**32 - 1), 8, "4294967295"),
        (frame(b"", flags=1), 12, "compressed"),
        (frame(b"grpc-status:0\r\n", flags=0x80), 3, "must have the flags 0, got 128"),
        (frame(b"abc")[:-1], 3, "ends inside a gRPC-Web frame"),
        (b"\0\0", 3, "ends inside a gRPC-Web frame"),
    ],
)
def test_wrong_frames(web, body, code, word):
    status, _, data = web.request("POST", "/ddp.v1.JobService/List", body, web.headers())
    answer = Answer(data)
    assert status == 200 and answer.code == code and word in answer.message


def test_an_endless_body_of_one_message_is_refused_at_its_length(web):
    with web.socket() as s:
        s.sendall(web.head("JobService/Submit", 2**40) + struct.pack(">BI", 0, 2**31))
        got = s.recv(65536)
    assert b"grpc-status:8\r\n" in got


def closed_after(s):
    """Seconds until the daemon closes the socket; what comes before is thrown away."""
    began = time.monotonic()
    try:
        while s.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return time.monotonic() - began


@pytest.mark.parametrize("words", [b"", b"GET / HTTP/1.1\r\nHost:"])
def test_a_socket_that_says_nothing_is_closed(web, words):
    with web.socket() as s:
        s.sendall(words)
        assert IDLE * 0.8 < closed_after(s) < IDLE + 3


def test_a_head_that_drips_is_closed(web):
    with web.socket() as s:
        began = time.monotonic()
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while time.monotonic() - began < IDLE + 5:
                s.sendall(b"G")
                time.sleep(0.05)
        assert time.monotonic() - began < IDLE + 3


def test_a_kept_connection_is_closed_when_idle(web):
    with web.socket() as s:
        s.sendall(web.head("JobService/List", 5) + frame(b""))
        while b"grpc-status:0\r\n" not in s.recv(65536):
            pass
        assert IDLE * 0.8 < closed_after(s) < IDLE + 3


def test_a_body_that_stops_is_closed(web):
    with web.socket() as s:
        s.sendall(web.head("JobService/Get", 100) + b"\0")
        assert TRANSFER * 0.8 < closed_after(s) < TRANSFER + 3


def test_an_open_stream_is_not_closed_when_idle(web, running):
    connection, response = web.open("JobService/Watch", encode("WatchJobRequest", f'id: "{running}"'))
    connection.sock.settimeout(IDLE + TRANSFER + 1)
    with pytest.raises(TimeoutError):  # it stays open, and silent, for longer than any limit
        while read_frame(response):
            pass
    connection.close()


def resident_bytes(daemon):
    pages = int(pathlib.Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def test_slow_readers_are_closed_and_cost_little(daemon, web, ended):
    log = daemon.home / "jobs" / ended / "attempts" / "1" / "rank-0.log"
    with open(log, "ab") as file:
        file.write((b"x" * 999 + b"\n") * 8000)
    request = encode("ReadLogRequest", f'job_id: "{ended}" rank: 0 tail: 8000', "log")
    before, open_before = resident_bytes(daemon), descriptors(daemon)
    sockets = []
    for _ in range(8):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect((web.host, web.port))
        s.sendall(web.head("LogService/Read", 5 + len(request)) + frame(request))
        sockets.append(s)
    # Each holds its one message, never more, and lets go of it in time.
    poll(lambda: descriptors(daemon) > open_before, "the connections are open", 5)
    time.sleep(TRANSFER / 2)
    assert resident_bytes(daemon) - before < 8 * 8 * 2**20 * 3
    poll(lambda: descriptors(daemon) <= open_before, "the slow readers are closed", TRANSFER + 10)
    for s in sockets:
        s.close()


def test_a_reader_that_goes_away_ends_its_call(daemon, web, running):
    before = descriptors(daemon)
    streams = [web.open("JobService/Watch", encode("WatchJobRequest", f'id: "{running}"')) for _ in range(20)]
    assert descriptors(daemon) >= before + 20
    for connection, _ in streams:
        connection.close()
    poll(lambda: descriptors(daemon) <= before, "the connections are gone", 10)


def threads(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/task"))


def test_idle_streams_need_no_threads(daemon, web, running):
    request = encode("WatchJobRequest", f'id: "{running}"')
    first = web.open("JobService/Watch", request)
    before = threads(daemon)
    streams = [first]
    for _ in range(300):
        streams.append(web.open("JobService/Watch", request))
    # gRPC keeps a few threads of its own, as many as there are cores.
    assert threads(daemon) <= before + 2 * os.cpu_count()
    for connection, response in streams:
        assert response.status == 200
        connection.close()


# ---- Files


@pytest.mark.parametrize("path", ["/", "/compare", "/jobs/0f9x", "/compare?jobs=a,b", "/index.html"])
def test_the_page(web, path):
    status, headers, body = web.request("GET", path)
    assert status == 200 and headers["content-type"] == "text/html; charset=utf-8" and headers["cache-control"] == "no-cache"
    assert body.lower().startswith(b"<!doctype html>")
    status, head, empty = web.request("HEAD", path)
    assert (status, empty, head["content-length"]) == (200, b"", str(len(body)))
    again = web.request("GET", path, headers={"If-None-Match": headers["etag"]})
    assert again[0] == 304 and again[2] == b""
    packed = web.request("GET", path, headers={"Accept-Encoding": "br, gzip"})
    if packed[1]["content-encoding"]:
        assert gzip.decompress(packed[2]) == body
    else:
        assert packed[2] == body


def test_what_the_page_loads(web):
    _, _, body = web.request("GET", "/")
    for path in re.findall(rb'(?:src|href)="(/assets/[^"]+)"', body):
        status, headers, data = web.request("GET", path.decode(), headers={"Accept-Encoding": "gzip"})
        assert status == 200 and "immutable" in headers["cache-control"]
        assert len(gzip.decompress(data) if headers["content-encoding"] else data) > 0


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/assets/nothing.js", "/../token", "/..%2ftoken", "/%2e%2e/token", "//etc/passwd", "/jobs/../../etc/passwd", "/jobs/", "/jobs/a/b",
     "/etc/passwd", "/token", "/ddpd.db", "/index.html/", "/index.html%00", "/.", "*"],
)
def test_other_addresses(web, path):
    got = web.raw(f"GET {path} HTTP/1.1\r\nHost: {web.authority}\r\nConnection: close\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 404 ") and web.token.encode() not in got


def test_health_needs_no_token(web):
    assert web.request("GET", "/healthz")[2] == b"ok\n"


# ---- Start and stop


def test_stop_with_open_streams(tmp_path):
    daemon = Daemon(tmp_path / "home", flags=FAKE_WORKER)
    web = Web(daemon)
    job = submit(daemon, "begin step 1 wait-stop finish")
    poll(lambda: daemon.state(job) == "RUNNING", "the job runs")
    request = encode("WatchJobRequest", f'id: "{job}"')
    streams = [web.open("JobService/Watch", request) for _ in range(100)]
    silent = web.socket()
    began = time.monotonic()
    assert daemon.terminate() == 0
    assert time.monotonic() - began < 3
    for _, response in streams:
        last = unframe(response.read())[-1]
        assert last[0] == 0x80 and trailers(last[1])["grpc-status"] == "14"
    assert silent.recv(1) == b""
    assert not (daemon.home / "web-address").exists()
    assert "ERROR" not in (daemon.home / "ddpd.log").read_text()
    daemon.close()


def test_the_link_of_the_dashboard(daemon, web):
    link = daemon.ctl("dashboard").strip()
    assert link == f"{web.url}/#token={web.token}"
    assert json.loads(daemon.ctl("dashboard", "-o", "json")) == {"url": link}


def test_the_link_is_on_no_command_line(daemon, web, tmp_path):
    seen = tmp_path / "seen"
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$@" > {seen}.tmp && mv {seen}.tmp {seen}\n')
    opener.chmod(0o755)
    done = daemon.run("dashboard", "--open", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    poll(seen.exists, "the browser is called")
    page = pathlib.Path(seen.read_text().strip())
    assert page == daemon.home / "dashboard.html" and page.stat().st_mode & 0o777 == 0o600
    assert f"{web.url}/#token={web.token}" in page.read_text()


def test_a_port_that_is_taken(tmp_path, web):
    home = tmp_path / "home"
    home.mkdir()
    with pytest.raises(AssertionError) as failure:
        Daemon(home, flags=(*FAKE_WORKER, "--web", f"127.0.0.1:{web.port}"))
    assert f"cannot listen on --web 127.0.0.1:{web.port}: Address already in use" in str(failure.value)


@pytest.mark.parametrize("value, words", [("0.0.0.0:0", "only loopback addresses"), ("127.0.0.1", "--web must be HOST:PORT")])
def test_wrong_addresses(tmp_path, value, words):
    with pytest.raises(AssertionError, match=words):
        Daemon(tmp_path / "home", flags=(*FAKE_WORKER, "--web", value))


def test_switched_off(tmp_path):
    daemon = Daemon(tmp_path / "home", flags=(*FAKE_WORKER, "--web", "none"))
    assert not (daemon.home / "web-address").exists()
    assert "dashboard off" in (daemon.home / "ddpd.log").read_text()
    assert ", dashboard off, " in daemon.ctl("daemon", "status")
    done = daemon.run("dashboard")
    assert done.returncode == 5 and "switched off; restart ddpd without --web none" in done.stderr and done.stdout == ""
    daemon.close()


def test_many_calls_at_once(web, ended):
    request = encode("GetJobRequest", f'id: "{ended}"')
    expected = web.call("JobService/Get", request).messages
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: web.call("JobService/Get", request), range(300)))
    assert all(a.messages == expected and a.code == 0 for a in answers)


# ---- /metrics


def scrape(web):
    status, headers, body = web.request("GET", "/metrics", headers={"Authorization": f"Bearer {web.token}"})
    assert status == 200 and headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples = {}
    for line in body.decode().splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            samples[name] = float(value)
    return body, samples


PROMTOOL = pathlib.Path(sys.executable).parent / "promtool"
DEPLOY = pathlib.Path(__file__).parents[2] / "deploy"


def test_metrics_of_known_jobs(tmp_path):
    daemon = Daemon(tmp_path / "home", cpu_slots=2, flags=FAKE_WORKER)
    web = Web(daemon)
    _, samples = scrape(web)
    assert samples['ddpd_jobs{state="running"}'] == 0 and samples["ddpd_points_ingested_total"] == 0
    assert samples['ddpd_slots{use="free"}'] == 2
    for script, end in (("begin step 1 step 2 step 3 finish", "SUCCEEDED"), ("begin step 1 exit 65", "FAILED")):
        job = submit(daemon, script)
        assert daemon.wait(job) == end
    # It does not say that it begins, so nothing of the system is measured: all its points are known.
    running = submit(daemon, "step 1 save 1 step 2 progress 2 wait-stop finish")
    poll(lambda: scrape(web)[1].get(f'ddpd_job_step{{job_id="{running}"}}') == 2, "the job has taken two steps")
    connection, response = web.open("MetricService/Stream", encode("StreamMetricsRequest", f'job_id: "{running}"', "metric"))
    read_frame(response)
    text, samples = scrape(web)
    assert samples['ddpd_jobs{state="running"}'] == samples['ddpd_jobs{state="failed"}'] == samples['ddpd_jobs{state="succeeded"}'] == 1
    assert samples['ddpd_jobs_finished_total{outcome="succeeded"}'] == samples['ddpd_jobs_finished_total{outcome="failed"}'] == 1
    assert samples['ddpd_slots{use="busy"}'] == samples['ddpd_slots{use="free"}'] == 1
    assert samples["ddpd_points_ingested_total"] == 3 + 1 + 2
    assert samples[f'ddpd_job_loss{{job_id="{running}"}}'] == 0.5
    assert samples[f'ddpd_job_steps_planned{{job_id="{running}"}}'] == 100
    assert samples["ddpd_queue_wait_seconds_count"] == samples['ddpd_queue_wait_seconds_bucket{le="+Inf"}'] == 3
    assert samples['ddpd_stream_subscribers{kind="metrics"}'] == 1
    assert samples["process_open_fds"] >= descriptors(daemon) - 5
    # It takes what it is allowed to, and gives its jobs what it was started with.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert samples["process_max_fds"] == hard
    assert resource.prlimit(daemon.runner_pid(running), resource.RLIMIT_NOFILE) == (soft, hard)
    assert resource.prlimit(daemon.worker_pids(running)[0], resource.RLIMIT_NOFILE) == (soft, hard)
    assert all(samples[f'ddpd_points_rejected_total{{reason="{reason}"}}'] == 0 for reason in ("malformed", "not_live", "import"))
    assert samples["ddpd_ingest_queue_depth"] == 0
    # The fake worker says that it took a quarter of a second.
    assert samples["ddpd_checkpoint_seconds_count"] == 1 and samples["ddpd_checkpoint_seconds_sum"] == 0.25
    assert samples['ddpd_checkpoint_seconds_bucket{le="0.1"}'] == 0 and samples['ddpd_checkpoint_seconds_bucket{le="0.5"}'] == 1
    assert samples["ddpd_stream_coalesced_total"] <= 1 and samples["ddpd_stream_lag_seconds_count"] <= 2
    subprocess.run([PROMTOOL, "check", "metrics"], input=text, check=True)
    connection.close()
    poll(lambda: scrape(web)[1]['ddpd_stream_subscribers{kind="metrics"}'] == 0, "the reader that went away is gone")
    daemon.ctl("cancel", running)
    daemon.wait(running)
    assert not [name for name in scrape(web)[1] if running in name]
    daemon.close()


def test_restarts_by_reason(tmp_path):
    daemon = Daemon(tmp_path / "home", cpu_slots=2, flags=FAKE_WORKER)
    web = Web(daemon)

    def restarts():
        samples = scrape(web)[1]
        return {reason: samples[f'ddpd_job_restarts_total{{reason="{reason}"}}'] for reason in ("failed", "stopped", "lost")}

    assert daemon.wait(submit(daemon, "begin step 1 exit 1", "--max-restarts", 1)) == "FAILED"
    assert restarts() == {"failed": 1, "stopped": 0, "lost": 0}
    for ended_by, reason in ((signal.SIGTERM, "stopped"), (signal.SIGKILL, "lost")):
        job = submit(daemon, "begin step 1 wait-stop finish")
        poll(lambda: daemon.state(job) == "RUNNING", "the job trains")
        os.kill(daemon.runner_pid(job), ended_by)
        poll(lambda: restarts()[reason] == 1, f"one restart of an attempt that {reason}")
        daemon.ctl("cancel", job)
        assert daemon.wait(job) == "CANCELLED"
    assert restarts() == {"failed": 1, "stopped": 1, "lost": 1}
    daemon.close()


def test_deployed_files():
    subprocess.run([PROMTOOL, "check", "rules", DEPLOY / "prometheus" / "alerts.yml"], check=True)
    subprocess.run([PROMTOOL, "check", "config", "--syntax-only", DEPLOY / "prometheus" / "prometheus.yml"], check=True)


def test_files_name_only_series_that_exist(web, running):
    known = set(re.findall(rb"^# TYPE (\S+)", scrape(web)[0], re.M))
    for path in ("prometheus/alerts.yml", "grafana/dashboard.json"):
        used = set(re.findall(rb"(?:ddpd|process)_[a-z_]+", (DEPLOY / path).read_bytes()))
        assert {name.removesuffix(b"_bucket") for name in used} <= known, path
