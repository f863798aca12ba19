"""A private daemon for tests, steered through ddpctl."""

import csv
import io
import json
import os
import pathlib
import subprocess
import time

BIN = pathlib.Path(os.environ["DDP_BIN"])
ENDED = {"SUCCEEDED", "FAILED", "CANCELLED", "PAUSED"}


def poll(condition, what, timeout=60.0):
    """Waits until condition() is true and returns its value; fails with `what` after `timeout` seconds."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {timeout} s: {what}")


def alive(pid):
    """A process that runs; a zombie does not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def write_csv(path, header, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return str(path)


class Daemon:
    def __init__(self, home, cpu_slots=2, flags=()):
        self.home = pathlib.Path(home)
        self.command = [BIN / "ddpd", "--home", self.home, "--cpu-slots", str(cpu_slots), *flags]
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("DDPD_")}
        self.env["DDPD_HOME"] = str(self.home)
        self.process = None
        self.start()

    def start(self):
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "address").unlink(missing_ok=True)
        with open(self.home / "ddpd.log", "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.env, stdout=log, stderr=log)
        poll(lambda: (self.home / "address").exists() or self.process.poll() is not None, "ddpd publishes its address", 20)
        assert self.process.poll() is None, (self.home / "ddpd.log").read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.process.terminate()
        return self.process.wait(timeout=20)

    def run(self, *args, timeout=120, env=None):
        """ddpctl; never starts a daemon by itself."""
        return subprocess.run(
            [BIN / "ddpctl", "--no-autostart", *map(str, args)],
            env=self.env | (env or {}),
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def ctl(self, *args, timeout=120):
        done = self.run(*args, timeout=timeout)
        assert done.returncode == 0, f"ddpctl {args}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def submit(self, *args):
        return self.ctl("submit", *args).strip()

    def job(self, job_id):
        return json.loads(self.ctl("get", job_id, "-o", "json"))

    def state(self, job_id):
        return self.job(job_id)["state"].removeprefix("JOB_STATE_")

    def wait(self, job_id, timeout=240):
        done = self.run("wait", job_id, timeout=timeout)
        assert done.returncode in (0, 1), done.stderr
        return done.stdout.strip()

    def train(self, *args, expect="SUCCEEDED", timeout=240):
        """Submits, waits for the end, and gives the job's id."""
        job_id = self.submit(*args)
        state = self.wait(job_id, timeout)
        assert state == expect, f"{state}: {json.dumps(self.job(job_id)['failure'], indent=1)}\n{self.ctl('logs', job_id)}"
        return job_id

    def metrics(self, job_id, series, attempt=None):
        """[(step, value)] of one series, in order."""
        extra = [] if attempt is None else ["--attempt", attempt]
        rows = csv.DictReader(io.StringIO(self.ctl("metrics", job_id, "--series", series, "--csv", *extra)))
        return [(int(row["step"]), float(row["value"])) for row in rows]

    def values(self, job_id, series):
        return [value for _, value in self.metrics(job_id, series)]

    def events(self, job_id):
        """Lines of watch, of a job that has ended."""
        return self.run("watch", job_id).stderr

    def wait_step(self, job_id, step, timeout=120):
        """Until the job's progress has reached `step`."""
        return poll(lambda: int(self.job(job_id)["progress"]["step"]) >= step, f"step {step} of {job_id}", timeout)

    def worker_pids(self, job_id):
        return [int(pid) for pid in self.job(job_id)["attempts"][-1]["worker_pids"]]

    def runner_pid(self, job_id):
        return int(self.job(job_id)["attempts"][-1]["runner_pid"])

    def checkpoint(self, job_id, step=None):
        folders = sorted((self.home / "jobs" / job_id / "checkpoints").glob("step-*"))
        return folders[-1] if step is None else self.home / "jobs" / job_id / "checkpoints" / f"step-{step:08d}"

    def close(self):
        """Ends every job and the daemon; fails when a process of a job is left."""
        if self.process.poll() is not None:
            self.start()
        jobs = json.loads(self.ctl("list", "-o", "json"))["jobs"]
        pids = set()
        for job in jobs:
            if job["state"].removeprefix("JOB_STATE_") not in ENDED:
                self.run("cancel", "--force", job["id"])
            for attempt in self.job(job["id"])["attempts"]:
                pids.update(int(pid) for pid in attempt["worker_pids"])
        assert self.terminate() == 0
        assert not (self.home / "address").exists()
        assert [pid for pid in pids if alive(pid)] == []
