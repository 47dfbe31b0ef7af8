"""The two commands: what they make, remember, choose, and say when something is missing."""

import ast
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import drivers  # noqa: E402
import environment  # noqa: E402


class Called(Exception):
    """Something was run that should not have been."""


def refuse(*arguments, **_):
    raise Called(arguments)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A repository with a ready-made `.venv`."""
    venv = tmp_path / ".venv"
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "VENV", venv)
    monkeypatch.setattr(environment, "MEMORY", venv / "wgtorch.json")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    environment.python().parent.mkdir(parents=True)
    environment.python().touch()
    (venv / "pyvenv.cfg").write_text("version = 3.11\n")
    return tmp_path


@pytest.fixture
def answers(home, monkeypatch):
    """What the doctor says, one report a question; and what apt-get was asked to install."""
    reports, installed = [], []
    monkeypatch.setattr(drivers, "ask", lambda python, environment: reports.pop(0))
    monkeypatch.setattr(drivers, "apt_install", lambda *names: installed.extend(names) or True)
    monkeypatch.delenv("WGTORCH_ADAPTER", raising=False)
    return reports, installed


def report(chosen=None, adapters=(), why="no WebGPU adapter found; install one"):
    return {"chosen": chosen, "adapters": list(adapters), "why": why}


def adapter(backend, is_software=False):
    return {"backend": backend, "is_software": is_software}


def run(*command: str, **variables: str) -> subprocess.CompletedProcess:
    done = [sys.executable, *command]
    env = os.environ | variables
    return subprocess.run(done, cwd=ROOT, env=env, capture_output=True, text=True)


# The environment


def test_the_first_run_installs_and_the_second_starts_at_once(home, monkeypatch):
    wanted = []
    monkeypatch.setattr(environment, "install", lambda *packages: wanted.append(packages))
    assert environment.prepare("dev") == environment.python()
    assert wanted == [("-e", ".[dev]")]
    monkeypatch.setattr(subprocess, "run", refuse)
    environment.prepare("dev")
    assert len(wanted) == 1


def test_another_extra_or_a_changed_project_installs_again(home, monkeypatch):
    wanted = []
    monkeypatch.setattr(environment, "install", lambda *packages: wanted.append(packages[1]))
    environment.prepare("dev")
    environment.prepare("examples")
    environment.prepare("dev")
    assert wanted == [".[dev]", ".[examples]"]
    (home / "pyproject.toml").write_text("[project]\ndependencies = ['more']\n")
    environment.prepare("dev")
    assert wanted[2:] == [".[dev]"]


def test_another_interpreter_installs_again(home):
    before = environment.fingerprint("dev")
    (home / ".venv" / "pyvenv.cfg").write_text("version = 3.12\n")
    assert environment.fingerprint("dev") != before


def test_an_environment_whose_python_is_gone_is_made_anew(home, monkeypatch):
    monkeypatch.setattr(environment, "install", lambda *packages: None)
    environment.prepare("dev")
    environment.python().unlink()
    made = []

    def make():
        made.append(environment.python())
        environment.python().touch()
        (home / ".venv" / "pyvenv.cfg").write_text("version = 3.13\n")
        (home / ".venv" / "wgtorch.json").unlink()

    monkeypatch.setattr(environment, "make", make)
    environment.prepare("dev")
    monkeypatch.setattr(environment, "install", refuse)
    environment.prepare("dev")
    assert len(made) == 1


def test_a_failed_installation_is_shown_and_not_remembered(home, monkeypatch, capsys):
    failure = subprocess.CompletedProcess([], 1, "", "ERROR: no matching distribution")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: failure)
    with pytest.raises(SystemExit, match="pip could not install"):
        environment.prepare("dev")
    assert "no matching distribution" in capsys.readouterr().err
    assert environment.remember() == {}


def test_a_spoilt_memory_counts_as_none(home):
    (home / ".venv" / "wgtorch.json").write_text("{ not json")
    assert environment.remember() == {}
    environment.remember(dev="x")
    assert environment.remember() == {"dev": "x"}


def test_an_old_python_looks_for_a_newer_one(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(
        environment.shutil, "which", lambda name: f"/opt/{name}" if name == "python3.12" else None
    )
    assert environment.interpreter() == "/opt/python3.12"
    monkeypatch.setattr(environment.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="needs Python 3.11 or newer; this is 3.9.2"):
        environment.interpreter()


@pytest.mark.parametrize("name", ["environment", "drivers", "run", "test"])
def test_old_pythons_can_read_the_tools(name):
    ast.parse((ROOT / "tools" / f"{name}.py").read_text(), feature_version=(3, 7))


# Adapters


def test_an_adapter_that_is_there_is_asked_for_once(answers):
    reports, installed = answers
    reports.append(report("Card (discrete, Vulkan)", [adapter("Vulkan")]))
    assert drivers.find(Path("python"), {}) == "Card (discrete, Vulkan)"
    assert drivers.find(Path("python"), {}) == "Card (discrete, Vulkan)"
    assert installed == []


def test_what_was_found_with_one_driver_says_nothing_of_another(answers):
    reports, _ = answers
    reports += [report(name, [adapter("Vulkan")]) for name in "AB"]
    assert drivers.find(Path("python"), {"VK_DRIVER_FILES": "a.json"}) == "A"
    assert drivers.find(Path("python"), {"VK_DRIVER_FILES": "b.json"}) == "B"


def test_without_an_adapter_mesa_is_installed(answers, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    reports, installed = answers
    reports += [report(), report("llvmpipe (cpu, Vulkan)", [adapter("Vulkan", True)])]
    assert drivers.find(Path("python"), {}) == "llvmpipe (cpu, Vulkan)"
    assert installed == ["mesa-vulkan-drivers"]


@pytest.mark.parametrize(
    "wish, software, expected",
    [(None, True, ["mesa-vulkan-drivers"]), ("gl", True, []), (None, False, [])],
)
def test_beside_software_opengl_mesa_vulkan_is_installed(
    answers, monkeypatch, wish, software, expected
):
    monkeypatch.setattr(sys, "platform", "linux")
    reports, installed = answers
    reports.append(report("GL", [adapter("OpenGL", software)]))
    reports.append(report("llvmpipe", [adapter("Vulkan", True), adapter("OpenGL", software)]))
    drivers.find(Path("python"), {"WGTORCH_ADAPTER": wish} if wish else {})
    assert installed == expected


def test_without_the_rights_one_sentence_and_the_cpu(answers, monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(drivers, "apt_install", lambda *names: False)
    answers[0].append(report())
    assert drivers.find(Path("python"), {}) is None
    said = capsys.readouterr().err
    assert "no WebGPU adapter found; install one. Continuing on the cpu." in said


def test_a_misspelt_adapter_installs_nothing(answers, monkeypatch, capsys):
    monkeypatch.setattr(sys, "platform", "linux")
    reports, installed = answers
    reports.append(report(None, ["Card"], "WGTORCH_ADAPTER=crad fits no adapter here"))
    assert drivers.find(Path("python"), {"WGTORCH_ADAPTER": "crad"}) is None
    assert installed == [] and "crad fits no adapter" in capsys.readouterr().err


def test_webgpu_switched_off_asks_nothing(answers):
    assert drivers.find(Path("python"), {"WGTORCH_ADAPTER": "none"}) is None


def test_a_named_adapter_brings_its_driver_alone(tmp_path, monkeypatch):
    manifest = tmp_path / "lvp_icd.x86_64.json"
    manifest.touch()
    monkeypatch.setattr(drivers, "MANIFESTS", [str(tmp_path)])
    variables = drivers.variables("llvmpipe")
    assert variables["VK_DRIVER_FILES"] == str(manifest)
    assert variables["WGTORCH_ADAPTER"] == "llvmpipe"
    assert variables["WGTORCH_REQUIRE_WEBGPU"] == "1"
    assert drivers.variables("discrete") == {
        "WGTORCH_ADAPTER": "discrete",
        "WGTORCH_REQUIRE_WEBGPU": "1",
    }


def test_swiftshader_is_taken_from_a_browser_before_it_is_fetched(tmp_path, monkeypatch):
    (tmp_path / drivers.SWIFTSHADER).touch()
    monkeypatch.setattr(drivers, "CHROMIUMS", [str(tmp_path)])
    monkeypatch.setattr(drivers, "fetch", refuse)
    assert drivers.swiftshader() == tmp_path / drivers.SWIFTSHADER


def test_a_missing_driver_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(drivers, "MANIFESTS", [str(tmp_path)])
    monkeypatch.setattr(drivers, "apt_install", lambda *names: False)
    with pytest.raises(SystemExit, match="llvmpipe is not installed: .*mesa-vulkan-drivers"):
        drivers.variables("llvmpipe")


def test_only_the_wanted_files_leave_a_package(tmp_path, monkeypatch):
    content = tmp_path / "libvk_swiftshader.so"
    content.write_bytes(b"\x7fELF")
    archive = tmp_path / "package.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(content, "./usr/lib/chromium/libvk_swiftshader.so")
        tar.add(content, "./usr/lib/chromium/chromium")
    target = tmp_path / "out"
    target.mkdir()
    monkeypatch.setattr(drivers, "FETCHED", target)
    popen = subprocess.Popen
    cat = [sys.executable, "-c", f"import sys; sys.stdout.buffer.write(open({str(archive)!r}, "
           "'rb').read())"]  # fmt: skip
    monkeypatch.setattr(subprocess, "Popen", lambda command, **k: popen(cat, **k))
    drivers.take_out(tmp_path / "package.deb", {"libvk_swiftshader.so"})
    assert [path.name for path in target.iterdir()] == ["libvk_swiftshader.so"]
    assert (target / "libvk_swiftshader.so").read_bytes() == b"\x7fELF"


# The commands


def load(name: str):
    """tools/<name>.py as a module; `test` would not be found by that name."""
    scope = {"__name__": name, "__file__": str(ROOT / "tools" / f"{name}.py")}
    exec(compile((ROOT / "tools" / f"{name}.py").read_text(), name, "exec"), scope)
    return scope


@pytest.mark.parametrize(
    "given, adapter, rest",
    [
        ([], "", []),
        (["--adapter", "gl", "-k", "sum"], "gl", ["-k", "sum"]),
        (["-x", "--adapter=swiftshader"], "swiftshader", ["-x"]),
        (["tests/test_ops.py", "-n", "2"], "", ["tests/test_ops.py", "-n", "2"]),
    ],
)
def test_the_adapter_is_ours_and_the_rest_is_pytests(given, adapter, rest):
    assert load("test")["split"](given) == (adapter, rest)


@pytest.mark.parametrize("codes, left", [((0, 1, 0), 1), ((-9, 0, 2), -9), ((0, 0, 0), 0)])
def test_all_tests_run_in_parts_and_one_failure_fails_all(codes, left, monkeypatch):
    ran, answers = [], iter(codes)

    def run(command, env):
        ran.append(command[1:])
        return subprocess.CompletedProcess(command, next(answers))

    monkeypatch.setattr(subprocess, "run", run)
    assert load("test")["run_in_parts"](["pytest"], {}) == left
    every = [path for part in ran for path in part]
    here = [str(path) for path in Path("tests").glob("test_*.py")]
    assert len(ran) == 3 and sorted(every) == sorted([*here, str(Path("tests/oracle"))])


def test_an_adapter_without_a_name():
    with pytest.raises(SystemExit, match="--adapter needs a name"):
        load("test")["split"](["-x", "--adapter"])


def test_examples_go_by_name_file_or_path(tmp_path):
    scope = load("run")
    path = tmp_path / "mine.py"
    path.write_text('"""Does what I want.\n\nAt length."""\n')
    scope["EXAMPLES"] = tmp_path
    for name in ("mine", "mine.py", str(path)):
        assert scope["example"](name) == path.resolve()
    assert scope["listing"]().splitlines()[1].split(maxsplit=1) == ["mine", "Does what I want."]


def test_an_unknown_example_lists_those_there_are():
    done = run("tools/run.py", "no_such_example")
    assert done.returncode == 2 and done.stdout == ""
    assert "there is no example 'no_such_example'" in done.stderr
    assert "Traceback" not in done.stderr
    assert "'tuor'; did you mean tour?" in run("tools/run.py", "tuor").stderr


@pytest.mark.parametrize("tool", ["run", "test"])
def test_help_installs_nothing(tool):
    done = run(f"tools/{tool}.py", "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert f"python3 tools/{tool}.py" in done.stdout
