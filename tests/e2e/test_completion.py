"""What shells offer behind a Tab, asked of ddpctl itself and of real shells."""

import os
import re
import shutil
import subprocess

import pytest

from harness import BIN, poll
from terminal import OnTerminal, visible

FLAGS = ("--worker-binary", BIN.parent / "test-bin" / "ddp-fake-worker")


@pytest.fixture(scope="module")
def jobs(daemon):
    """One that has ended and one that goes on."""
    ended = daemon.submit("--mode", "pretrain", "--nproc", 1, "--name", "old", "--model-option", "rank-0=begin step 1 finish")
    assert daemon.wait(ended) == "SUCCEEDED"
    live = daemon.submit("--mode", "pretrain", "--nproc", 1, "--name", "new", "--model-option", "rank-0=begin tell step 1 wait-stop finish")
    daemon.wait_step(live, 1)
    return {"ended": ended, "live": live}


def asked(daemon, *words):
    """{candidate: help}"""
    done = subprocess.run([BIN / "ddpctl", "__complete", "--", *words], env=daemon.env, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return dict(line.partition("\t")[::2] for line in done.stdout.splitlines())


def help_of(daemon, *verb):
    return daemon.ctl(*verb, "--help")


def test_every_verb_and_flag_of_the_help_is_offered(daemon):
    for verb in re.findall(r"^  ([a-z]+) ", help_of(daemon).split("Subcommands:")[1], re.MULTILINE):
        assert verb in asked(daemon, "")
        text = help_of(daemon, verb)
        # Flags begin their lines; the help of another one may name them, too.
        flags = set(re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", text, re.MULTILINE))
        assert "--help" in flags and flags <= set(asked(daemon, verb, "--")), verb


def test_values_are_those_that_ddpctl_takes(daemon):
    """A value that is offered is no usage error, and what the message of a wrong one lists is offered."""
    for flag in asked(daemon, "submit", "--"):
        words = [word for word in asked(daemon, "submit", flag, "") if not word.startswith(":")]
        done = daemon.run("submit", flag, "no-such-word", "--dry-run")
        listed = re.search(r"must be one of (.*?); got", done.stderr)
        if listed:
            assert sorted(words) == sorted(listed[1].split(", ")), flag
    assert set(asked(daemon, "list", "-o", "")) == {"table", "wide", "json", "yaml"}
    for state in asked(daemon, "list", "--state", ""):
        assert daemon.run("list", "--state", state).returncode == 0


def test_jobs_that_fit_the_verb(daemon, jobs):
    ended, live = jobs["ended"], jobs["live"]
    assert asked(daemon, "get", "") == {ended: "SUCCEEDED old", live: "RUNNING new"}
    assert set(asked(daemon, "get", live[:-1])) >= {live}
    assert set(asked(daemon, "cancel", "")) == {live}
    assert set(asked(daemon, "delete", "")) == {ended}
    assert set(asked(daemon, "submit", f"--init-from={ended}")) == {f"--init-from={ended}", ":files"}
    assert asked(daemon, "get", live, "") == {}


def test_no_daemon_no_jobs_and_none_is_started(daemon, tmp_path):
    home = tmp_path / "nobody"
    assert asked(daemon, "--home", str(home), "get", "") == {}
    assert not home.exists()
    assert "get" in asked(daemon, "--home", str(home), "g")


def bash(daemon, line):
    """What bash's function answers, at the end of the line."""
    script = """
source <("$1" completion bash)
# As readline cuts a line.
COMP_WORDS=()
while IFS= read -r word; do COMP_WORDS+=("$word"); done < "$2"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_ddpctl "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""
    pieces = [piece for word in line.split(" ") for piece in (re.findall(r"[=:]+|[^=:]+", word) or [""])]
    done = subprocess.run(["bash", "-c", script, "bash", BIN / "ddpctl", "/dev/stdin"], env=daemon.env,
                          input="".join(piece + "\n" for piece in pieces), capture_output=True, text=True, timeout=20)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


def test_bash(daemon, jobs, tmp_path):
    assert bash(daemon, "ddpctl canc") == ["cancel"]
    assert bash(daemon, "ddpctl cancel ") == [jobs["live"]]
    assert bash(daemon, "ddpctl submit --mode pre") == ["pretrain"]
    assert bash(daemon, "ddpctl submit --mode=pre") == ["pretrain"]
    # Bash takes what is behind the last colon for the word.
    assert bash(daemon, "ddpctl submit --data wordnet:n") == ["noun"]
    assert bash(daemon, "ddpctl submit --data=wordnet:n") == ["noun"]
    (tmp_path / "job one.yaml").touch()
    assert bash(daemon, f"ddpctl submit -f {tmp_path}/jo") == f"{tmp_path}/job one.yaml".split()


def press_tab(daemon, program, prepare, line, expect):
    shell = OnTerminal(daemon.env | {"PATH": f"{BIN}:{os.environ['PATH']}", "PS1": "ready> "}, columns=120, program=program)
    for command in prepare:
        shell.press(command + "\n")
    at = shell.press("echo pre''pared\n")
    shell.until("prepared", start=at)
    at = shell.press(line)
    shell.until(line.split()[-1], start=at)
    shell.press("\t")
    # zsh draws the space behind a whole word in bold.
    poll(lambda: shell.read() and expect in visible(shell.output[at:]), f"{expect!r} behind {line!r}", 30)
    shell.press("\x15exit\n")
    shell.end()


def test_a_tab_in_bash(daemon):
    press_tab(daemon, ("/bin/bash", "--norc", "-i"), ["source <(ddpctl completion bash)"], "ddpctl canc", "cancel ")


def test_a_tab_in_zsh(daemon, jobs):
    prepare = ["autoload -U compinit && compinit -u -D", "source <(ddpctl completion zsh)"]
    press_tab(daemon, (shutil.which("zsh"), "-f", "-i"), prepare, "ddpctl canc", "cancel ")
    press_tab(daemon, (shutil.which("zsh"), "-f", "-i"), prepare, "ddpctl cancel ", jobs["live"])
    press_tab(daemon, (shutil.which("zsh"), "-f", "-i"), prepare, "ddpctl submit --mode=pre", "--mode=pretrain")


def fish(daemon, line, folder):
    script = "ddpctl completion fish | source; complete -C $argv[1]"
    done = subprocess.run(["fish", "--no-config", "-c", script, line], cwd=folder, capture_output=True, text=True, timeout=30,
                          env=daemon.env | {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(folder)})
    assert done.returncode == 0, done.stderr
    return dict(line.partition("\t")[::2] for line in done.stdout.splitlines())


def test_fish(daemon, jobs, tmp_path):
    (tmp_path / "job.yaml").touch()
    assert set(fish(daemon, "ddpctl canc", tmp_path)) == {"cancel"}
    assert fish(daemon, "ddpctl cancel ", tmp_path) == {jobs["live"]: "RUNNING new"}
    assert set(fish(daemon, "ddpctl submit --mode=pre", tmp_path)) == {"--mode=pretrain"}
    assert "job.yaml" in fish(daemon, "ddpctl submit -f jo", tmp_path)
    assert "--file=job.yaml" in fish(daemon, "ddpctl submit --file=jo", tmp_path)


def test_an_unknown_shell(daemon):
    done = daemon.run("completion", "tcsh")
    assert done.returncode == 2 and "tcsh" in done.stderr
