"""The virtual environment in `.venv` that the tools run in: made once, then found ready.

What was installed is remembered in `.venv/wgtorch.json`, by extra: the hash of what decided it
(pyproject.toml, the interpreter, the place of the repository). Standard library only, and readable
by any Python 3.7, so that an old interpreter gets a sentence and not a syntax error.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
MEMORY = VENV / "wgtorch.json"
OLDEST = (3, 11)


def say(sentence: str) -> None:
    """Tell the user on stderr; stdout belongs to the program that is run."""
    print(sentence, file=sys.stderr, flush=True)


def prepare(extra: str) -> Path:
    """The interpreter of `.venv`, with wgtorch[extra] installed in it. Exits where that fails."""
    if not python().exists():
        make()
    wanted = fingerprint(extra)
    if remember().get(extra) == wanted:
        return python()
    say(f"Installing wgtorch[{extra}] into {VENV} (once; a minute or two)")
    install("-e", f".[{extra}]")
    remember(**{extra: wanted})
    return python()


def python() -> Path:
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(*packages: str) -> None:
    command = [str(python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *packages], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        say(done.stdout + done.stderr)
        sys.exit(f"pip could not install {' '.join(packages)}: see above; then run this again")


def remember(**facts: str) -> dict:
    """What is known of this environment, with `facts` added."""
    try:
        known = json.loads(MEMORY.read_text())
    except (OSError, ValueError):
        known = {}
    if facts:
        known.update(facts)
        MEMORY.write_text(json.dumps(known, indent=1))
    return known


def fingerprint(extra: str) -> str:
    parts = [(ROOT / "pyproject.toml").read_bytes(), str(ROOT).encode(), extra.encode()]
    config = VENV / "pyvenv.cfg"
    parts.append(config.read_bytes() if config.exists() else b"")
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def make() -> None:
    """Make `.venv` anew."""
    say(f"Making the virtual environment {VENV}")
    command = [interpreter(), "-m", "venv", "--clear", str(VENV)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and apt_install("python3-venv"):
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        say(done.stdout + done.stderr)
        sys.exit(
            "Python cannot make a virtual environment: install its venv module "
            "(Debian, Ubuntu: apt-get install python3-venv), then run this again"
        )


def interpreter() -> str:
    """A Python that is new enough: this one, or one on PATH."""
    if sys.version_info >= OLDEST:
        return sys.executable
    for minor in range(OLDEST[1] + 4, OLDEST[1] - 1, -1):
        path = shutil.which(f"python3.{minor}")
        if path:
            return path
    running = ".".join(map(str, sys.version_info[:3]))
    sys.exit(f"wgtorch needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this is {running}")


def apt_install(*packages: str) -> bool:
    """Whether they are installed now: on a Debian-like Linux, and with the rights to do it."""
    if not apt_update():
        return False
    say(f"Installing {' '.join(packages)} with apt-get")
    done = apt("install", "-y", "--no-install-recommends", *packages)
    if done.returncode:
        say(done.stdout + done.stderr)
    return done.returncode == 0


def apt_update() -> bool:
    """Whether apt-get may be used; its package lists are new then."""
    if not shutil.which("apt-get") or administrator() is None:
        return False
    apt("update")  # may fail for one source and still bring what is needed
    return True


def apt(*arguments: str) -> subprocess.CompletedProcess:
    command = [*(administrator() or []), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True)


def administrator() -> list[str] | None:
    """What to put before a command that needs root; None where nobody would let us."""
    if os.name == "nt":
        return None
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo and subprocess.run([sudo, "-n", "true"], capture_output=True).returncode == 0:
        return [sudo, "-n"]
    return None


def become(command: list[str], variables: dict[str, str]) -> None:
    """Run `command` in place of this program and exit as it does."""
    environment = {**os.environ, **variables}
    if os.name != "nt":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(command[0], command, environment)
    try:
        sys.exit(subprocess.run(command, env=environment).returncode)
    except KeyboardInterrupt:
        sys.exit(130)
