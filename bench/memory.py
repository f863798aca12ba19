"""Memory of a rank in the same job: ddp-worker against the process of the plain script, both looked at from outside, the larger of the
ranks. MB; peak: VmHWM; PSS: the largest seen, where pages that processes share count in parts.

memory.py [--quick]    (--quick: three steps)
"""

import concurrent.futures
import pathlib
import re
import tempfile
import time

import common
from steps_per_second import workloads

STEPS = {"mlp small": 400, "text-encoder": 3}


def processes(own, parents):
    """Those with `own` in their command line and `parents` in that of their parent; a command line has a NUL behind each argument."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if own in (folder / "cmdline").read_bytes():
                parent = re.search(r"^PPid:\s+(\d+)", (folder / "status").read_text(), re.MULTILINE)[1]
                if parents in pathlib.Path(f"/proc/{parent}/cmdline").read_bytes():
                    found.append(folder)
        except (FileNotFoundError, ProcessLookupError):
            pass  # ended meanwhile
    return found


def memory_of(folder):
    """(VmHWM, PSS) in MB, or nothing of a process that is ending."""
    try:
        text = (folder / "status").read_text() + (folder / "smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    peak, pss = (re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE) for name in ("VmHWM", "Pss"))
    return (int(peak[1]) / 1024, int(pss[1]) / 1024) if peak and pss else None


def watch(work, own, parents):
    """(largest VmHWM, largest PSS) of these processes while `work` goes on."""
    peak = pss = 0.0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        working = pool.submit(work)
        while not working.done():
            for seen in filter(None, map(memory_of, processes(own, parents))):
                peak, pss = max(peak, seen[0]), max(pss, seen[1])
            time.sleep(0.05)
        working.result()
    return peak, pss


def main():
    quick = common.quick_asked()
    with common.Ddpd() as daemon, tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        common.write_numbers(folder, 140000)
        known = workloads(folder, quick)
        print(f"{'MB of a rank':<18}{'ddpd peak':>10} {'plain peak':>10} {'ratio':>6} {'ddpd PSS':>10} {'plain PSS':>10} {'ratio':>6}")
        for name, steps in STEPS.items():
            workload = known[name]
            steps = 3 if quick else steps
            ours = watch(lambda: workload.train(daemon, steps), b"/ddp-worker\0", f"--attempt-dir\0{daemon.home}".encode())
            data = folder / workload.data if workload.data else None
            plain = watch(lambda: common.torchrun(workload.kind, workload.batch, steps - 1, data), b"plain_ddp.py\0", b"plain_ddp.py\0")
            print(f"{name:<18}{ours[0]:>10.0f} {plain[0]:>10.0f} {ours[0] / plain[0]:>6.2f} {ours[1]:>10.0f} {plain[1]:>10.0f} "
                  f"{ours[1] / plain[1]:>6.2f}", flush=True)


if __name__ == "__main__":
    main()
