"""The other side of metrics_query: the same million points in a TensorBoard event file, read by TensorBoard's two servers."""

import json
import pathlib
import sys
import tempfile
import time

import numpy

POINTS = 1_000_000
SPIKE_EVERY = 997  # as in metrics_store.cc


def masked_crc(rows):
    """The masked CRC-32C of each row of bytes, as event files have it."""
    table = numpy.arange(256, dtype=numpy.uint32)
    for _ in range(8):
        table = numpy.where(table & 1, (table >> 1) ^ numpy.uint32(0x82F63B78), table >> 1)
    crc = numpy.full(len(rows), 0xFFFFFFFF, dtype=numpy.uint32)
    for column in rows.T:
        crc = table[(crc ^ column) & 0xFF] ^ (crc >> 8)
    crc = ~crc
    return ((crc >> 15 | crc << 17) + numpy.uint32(0xA282EAD8)).astype("<u4")


def as_bytes(numbers):
    return numbers.view(numpy.uint8).reshape(len(numbers), -1)


def framed(rows):
    """Records of one length, as they lie in a file."""
    length = numpy.full(len(rows), rows.shape[1], dtype="<u8")
    return numpy.hstack([as_bytes(length), as_bytes(masked_crc(as_bytes(length))), rows, as_bytes(masked_crc(rows))])


def write_events(folder):
    """What add_scalar("loss", ...) writes, built with numpy since a million calls take minutes."""
    step = numpy.arange(1, POINTS + 1)
    loss = 2 / numpy.sqrt(step) + (step % SPIKE_EVERY == 0)
    constant = lambda text: numpy.tile(numpy.frombuffer(text, dtype=numpy.uint8), (POINTS, 1))
    varint = numpy.stack([step & 0x7F | 0x80, step >> 7 & 0x7F | 0x80, step >> 14], axis=1).astype(numpy.uint8)
    events = numpy.hstack([
        constant(b"\x09"), as_bytes((1.8e9 + step * 1e-3).astype("<f8")),  # wall_time
        constant(b"\x10"), varint,  # step
        constant(b"\x2a\x0d\x0a\x0b\x0a\x04loss\x15"), as_bytes(loss.astype("<f4")),  # summary: a value with its tag
    ])
    version = numpy.frombuffer(b"\x09" + bytes(8) + b"\x1a\x0dbrain.Event:2", dtype=numpy.uint8)[None]
    path = pathlib.Path(folder) / "events.out.tfevents.1800000000.bench.1.0"
    path.write_bytes(framed(version).tobytes() + framed(events).tobytes())


def read(provider):
    """(seconds, points, spikes) of a chart of 1,000 points."""
    from tensorboard import context

    start = time.perf_counter()
    found = provider.read_scalars(context.RequestContext(), experiment_id="", plugin_name="scalars", downsample=1000)
    seconds = time.perf_counter() - start
    points = [point for run in found.values() for series in run.values() for point in series]
    return seconds, len(points), sum(point.step % SPIKE_EVERY == 0 for point in points)


def report(load, provider):
    _, points, _ = read(provider)
    seconds, _, spikes = min(read(provider) for _ in range(3))
    return {"load_s": load, "query_s": seconds, "points": points, "spikes": spikes}


def python_server(folder, keep):
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer, tag_types

    start = time.perf_counter()
    multiplexer = plugin_event_multiplexer.EventMultiplexer(
        size_guidance={tag_types.TENSORS: keep}, tensor_size_guidance={"scalars": keep})
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    return report(time.perf_counter() - start, data_provider.MultiplexerDataProvider(multiplexer, str(folder)))


def rust_server(folder, keep):
    """rustboard. It is loaded when the last step can be read."""
    import tensorboard_data_server
    from tensorboard import context
    from tensorboard.data import server_ingester
    from tensorboard.util import grpc_util

    binary = server_ingester.ServerBinary(tensorboard_data_server.server_binary(), "0.7.2")
    start = time.perf_counter()
    ingester = server_ingester.SubprocessServerDataIngester(
        binary, str(folder), reload_interval=0, channel_creds_type=grpc_util.ChannelCredsType.LOCAL, samples_per_plugin={"scalars": keep})
    ingester.start()
    while True:
        last = ingester.data_provider.read_last_scalars(context.RequestContext(), experiment_id="", plugin_name="scalars")
        if any(point.step == POINTS for run in last.values() for point in run.values()):
            break
        time.sleep(0.005)
    return report(time.perf_counter() - start, ingester.data_provider)


def main():
    quick = sys.argv[1:] == ["--quick"]
    with tempfile.TemporaryDirectory(prefix="bench_metrics.") as folder:
        write_events(folder)
        found = {"rust": rust_server(folder, 1000), "rust_all": rust_server(folder, 0)}
        if not quick:
            found |= {"python": python_server(folder, 1000), "python_all": python_server(folder, 0)}
    print("RESULT " + json.dumps(found))


if __name__ == "__main__":
    main()
