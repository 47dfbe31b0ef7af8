"""Knobs: defaults, values, and a clear word for a value that makes no sense."""

import os
import subprocess
import sys

import pytest

from wgtorch import config


@pytest.mark.parametrize("text, value", [(None, 7), ("", 7), ("  ", 7), ("3", 3), (" -1 ", -1)])
def test_a_number(monkeypatch, text, value):
    monkeypatch.delenv("WGTORCH_TESTED", raising=False)
    if text is not None:
        monkeypatch.setenv("WGTORCH_TESTED", text)
    assert config.knob("TESTED", 7) == value


@pytest.mark.parametrize("text", ["yes", "1.5", "0x"])
def test_not_a_number(monkeypatch, text):
    monkeypatch.setenv("WGTORCH_TESTED", text)
    with pytest.raises(ValueError, match=f"WGTORCH_TESTED='{text}' is not a whole number"):
        config.knob("TESTED")


def test_a_word(monkeypatch):
    monkeypatch.delenv("WGTORCH_TESTED", raising=False)
    assert config.word("TESTED", "warn", "warn", "error") == "warn"
    monkeypatch.setenv("WGTORCH_TESTED", " error ")
    assert config.word("TESTED", "warn", "warn", "error") == "error"
    monkeypatch.setenv("WGTORCH_TESTED", "Error!")
    with pytest.raises(ValueError, match="WGTORCH_TESTED='Error!' is none of warn, error"):
        config.word("TESTED", "warn", "warn", "error")
    assert config.word("TESTED", "") == "Error!"


@pytest.mark.parametrize(
    "variable, text, said",
    [
        ("DEBUG", "6", "is not a number from 0 to 5"),
        ("DEBUG", "all", "is not a whole number"),
        ("FALLBACK", "never", "is none of warn, error"),
    ],
)
def test_a_value_that_is_none_is_refused_at_import(variable, text, said):
    environment = {**os.environ, f"WGTORCH_{variable}": text}
    command = [sys.executable, "-c", "import wgtorch"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.endswith(f"ValueError: WGTORCH_{variable}={text!r} {said}\n")


def test_trace_speaks_only_from_its_level_on(monkeypatch, capsys):
    def unheard():
        raise AssertionError("the message was made though nobody listens")

    monkeypatch.setattr(config, "DEBUG", 2)
    config.trace(3, "room", unheard)
    config.trace(2, "room", lambda: "said")
    captured = capsys.readouterr()
    assert captured.err.endswith(" s [room] said\n") and captured.out == ""
