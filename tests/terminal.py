"""Programs on a pseudo-terminal."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from harness import BIN


class OnTerminal:
    """ddpctl, or another program, on a terminal of its own, steered by keys."""

    def __init__(self, env, *args, columns=80, rows=24, term="xterm", program=(BIN / "ddpctl", "--no-autostart")):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(program[0], list(map(str, (*program, *args))), env | {"TERM": term})
        self.output = ""
        self.bytes = b""

    def resize(self, columns, rows=24):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.1):
        """More output, if any comes; False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # the other side is closed
            return False
        self.bytes += piece
        self.output = self.bytes.decode(errors="replace")
        return bool(piece)

    def until(self, text, timeout=30, start=0):
        """Reads until the output holds `text` (from `start` on); where it begins."""
        end = time.monotonic() + timeout
        while text not in self.output[start:]:
            assert time.monotonic() < end, f"not within {timeout} s: {text!r} in {self.output[start:]!r}"
            if not self.read():
                break
        assert text in self.output[start:], self.output
        return self.output.index(text, start)

    def press(self, keys):
        """Sends keys; where the output stands now."""
        os.write(self.fd, keys.encode())
        return len(self.output)

    def end(self, timeout=30):
        """(exit code, all output), once it has ended."""
        end = time.monotonic() + timeout
        while self.read():
            assert time.monotonic() < end, f"it does not end: {self.output!r}"
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), self.output


def on_a_terminal(env, *args, **options):
    """(exit code, what a terminal gets)"""
    return OnTerminal(env, *args, **options).end()


def visible(text):
    """Without escape sequences."""
    return re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text)
