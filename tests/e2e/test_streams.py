"""Live streams of a real daemon that is killed under them."""

import http.client
import itertools
import re
import struct
import threading

from harness import poll
from web import Web, decode, encode, read_frame

TRAINING = ("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--limit", 8192, "--batch-size", 512, "--epochs", 40,
            "--model-option", "hidden=512,256", "--schedule", "constant", "--nproc", 2)
STEPS = 40 * 16  # of 8192 / 512


class Follower(threading.Thread):
    """Follows a job's metrics and comes back with its resume token whenever the daemon has gone, until the job has ended."""

    def __init__(self, daemon, job):
        super().__init__()
        self.daemon_under_test, self.job = daemon, job
        self.messages, self.tokens, self.connections, self.error = [], [0], 0, None

    def run(self):
        try:
            while not self.follow():
                pass
        except Exception as error:  # told by the test
            self.error = error

    def follow(self):
        """Whether the stream has come to its end."""
        home = self.daemon_under_test.home
        request = encode("StreamMetricsRequest", f'job_id: "{self.job}" after_seq: {self.tokens[-1]}', "metric")
        poll(lambda: (home / "address").exists(), "the daemon is back")
        try:
            connection, response = Web(self.daemon_under_test).open("MetricService/Stream", request)
            self.connections += 1
            while True:
                try:
                    flags, data = read_frame(response)
                except AssertionError:
                    return False  # cut inside the frame
                if flags == 0x80:
                    return b"grpc-status:0\r\n" in data
                self.messages.append(data)
                self.tokens.append(seq_of(data))
        except (OSError, http.client.HTTPException, struct.error):
            return False  # the daemon was killed in the middle of it


def seq_of(data):
    """Field 1, the first on the wire: a varint."""
    assert data[0] == 0x08
    value = 0
    for i, byte in enumerate(data[1:]):
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value
    raise AssertionError("the varint does not end")


def points_of(messages, series):
    """[(step, value)] in the order of their arrival. Messages put end to end are one that has all their columns."""
    text = decode("StreamMetricsResponse", b"".join(messages), "metric")
    points = []
    for column in re.findall(r'columns \{\n  series: "' + series + r'"\n(.*?)\n\}', text, re.S):
        steps, values = re.findall(r"step: (\d+)", column), re.findall(r"value: (\S+)", column)
        points += zip(map(int, steps), map(float, values), strict=True)
    return points


def test_a_daemon_killed_under_a_stream_leaves_no_gap_and_no_duplicate(daemon):
    job = daemon.submit(*TRAINING)
    followers = [Follower(daemon, job) for _ in range(3)]
    for follower in followers:
        follower.start()
    for kill in range(3):
        seen = len(followers[0].messages)
        poll(lambda: len(followers[0].messages) > seen + 10, "the stream goes on")
        daemon.kill()
        daemon.start()
    assert daemon.wait(job) == "SUCCEEDED"
    expected = daemon.metrics(job, "loss")
    assert [step for step, _ in expected] == list(range(1, STEPS + 1))
    for follower in followers:
        follower.join(timeout=60)
        assert not follower.is_alive() and follower.error is None
        assert follower.connections > 1  # it was cut off
        assert all(before < after for before, after in itertools.pairwise(follower.tokens))
        assert points_of(follower.messages, "loss") == expected
