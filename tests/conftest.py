import shutil

import pytest

from harness import Daemon


@pytest.fixture(scope="module")
def daemon(request, tmp_path_factory):
    """One daemon for a module; `SLOTS` in the module sets its CPU slots, `FLAGS` further flags of ddpd."""
    home = tmp_path_factory.mktemp("home") / "ddpd"
    daemon = Daemon(home, cpu_slots=getattr(request.module, "SLOTS", 2), flags=getattr(request.module, "FLAGS", ()))
    yield daemon
    daemon.close()
    shutil.rmtree(home)
