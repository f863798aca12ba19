"""The daemon with a certificate: both listeners are encrypted, jobs run as ever, and the token is needed all the same."""

import ssl
import subprocess

import pytest

from harness import BIN, Daemon
from web import Web, encode

FAKE_WORKER = ("--worker-binary", BIN.parent / "test-bin" / "ddp-fake-worker")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed one for 127.0.0.1 and lab.example, and the key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=lab.example",
         "-addext", "subjectAltName=DNS:lab.example,DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )
    return cert, key


@pytest.fixture(scope="module")
def daemon(certificate, tmp_path_factory):
    cert, key = certificate
    flags = (*FAKE_WORKER, "--tls-cert", cert, "--tls-key", key, "--listen", "0.0.0.0:0", "--web", "0.0.0.0:0")
    daemon = Daemon(tmp_path_factory.mktemp("home") / "ddpd", flags=(*flags, "--web-host", "lab.example"))
    yield daemon
    daemon.close()


@pytest.fixture(scope="module")
def port(daemon):
    """Of the encrypted gRPC listener."""
    line = daemon.ctl("daemon", "status")
    return int(line.split(" listens on https://0.0.0.0:")[1].split(",")[0])


@pytest.fixture(scope="module")
def web(daemon, certificate):
    web = Web(daemon, ca=certificate[0])
    assert web.url.startswith("https://0.0.0.0:")
    web.host, web.authority = "127.0.0.1", f"127.0.0.1:{web.port}"
    return web


def test_jobs_run(daemon, web, port, certificate):
    job = daemon.submit("--mode", "pretrain", "--nproc", 1, "--model-option", "rank-0=begin step 1 step 2 finish")
    assert daemon.wait(job) == "SUCCEEDED"
    request = encode("GetJobRequest", f'id: "{job}"')
    web.address = f"127.0.0.1:{port}"
    assert [m.hex() for m in web.call("JobService/Get", request).messages] == web.grpc("JobService/Get", request, ca=certificate[0])["messages"]
    watched = web.call("JobService/Watch", encode("WatchJobRequest", f'id: "{job}"'))
    assert watched.code == 0 and len(watched.messages) > 3


def test_ddpctl_from_elsewhere(daemon, port, certificate):
    address = f"https://127.0.0.1:{port}"
    assert "\n" in daemon.ctl("--address", address, "--tls-ca", certificate[0], "list")
    # Not vouched for by the system; not encrypted; and no token.
    assert daemon.run("--address", address, "list").returncode == 3
    assert daemon.run("--address", f"127.0.0.1:{port}", "list").returncode == 3
    done = daemon.run("--address", address, "--tls-ca", certificate[0], "list", env={"DDPD_TOKEN": "wrong"})
    assert done.returncode == 5 and "wrong token" in done.stderr
    done = daemon.run("--address", address, "--tls-ca", "/nowhere", "list")
    assert done.returncode == 2 and "--tls-ca: cannot open /nowhere" in done.stderr


def test_the_page(daemon, web, certificate):
    assert web.request("GET", "/")[0] == 200
    assert web.request("GET", "/healthz", headers={"Host": "lab.example", "Origin": "https://lab.example"})[0] == 200
    assert web.request("GET", "/healthz", headers={"Host": "lab.example", "Origin": "http://lab.example"})[0] == 403
    assert web.request("GET", "/healthz", headers={"Host": "evil.example"})[0] == 403
    assert web.call("JobService/List", b"", headers={"authorization": "Bearer wrong"}).code == 16


def test_only_tls(web):
    # Neither plain HTTP nor an old version of TLS gets a word.
    assert b"HTTP" not in web.raw(f"GET /healthz HTTP/1.1\r\nHost: {web.authority}\r\n\r\n".encode())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError), web.socket() as s:
        context.wrap_socket(s)


def test_wrong_files(certificate, tmp_path):
    cert, key = certificate
    other = tmp_path / "other.pem"
    other.write_text("no key\n")
    for flags, words in (
        (("--tls-cert", cert), "must be given together"),
        (("--tls-cert", cert, "--tls-key", tmp_path / "none"), "cannot open"),
        (("--tls-cert", other, "--tls-key", key), "--tls-cert holds no PEM certificate"),
        (("--tls-cert", cert, "--tls-key", other), "--tls-key is not the PEM key"),
    ):
        with pytest.raises(AssertionError, match=words):
            Daemon(tmp_path / "home", flags=(*FAKE_WORKER, *flags))
