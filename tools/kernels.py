"""Every kernel that ops generate, as text, without a GPU; and what of it changed since a commit.

python tools/kernels.py sigmoid add      the kernels of these ops
python tools/kernels.py                  how many each op has, and how long they are
python tools/kernels.py --out FOLDER     a file for each kernel
python tools/kernels.py --base HEAD~3    the difference to a commit; exits with 1 if there is one
--press weak | software                  as another kind of adapter has them (default: strong)
"""

from __future__ import annotations

import argparse
import difflib
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import wgtorch
from tools import press
from wgtorch.dispatch.doors import PUBLIC
from wgtorch.dtype import ALL, DType
from wgtorch.errors import LinalgError
from wgtorch.op import REGISTRY, Elementwise, Op

ROOT = Path(__file__).resolve().parents[1]
PRESSES = {"strong": press.STRONG, "weak": press.WEAK, "software": press.SOFTWARE}
OWN = ("tools/kernels.py", "tools/press.py")  # what a commit is asked with


def kernels_of(op: Op, index: int = press.STRONG) -> dict[str, str]:
    """By name: those of its samples, forward and backward, and of each dtype it takes."""
    found: dict[str, str] = {}
    press.forget(index)
    for number, (args, attrs) in enumerate(op.samples(rng_of(op)) if op.samples else ()):
        trial(op, args, attrs, index)
        collect(found, f"{number}", index)
        if not number and isinstance(op, Elementwise):
            for dtype in ALL:
                trial(op, args, attrs, index, dtype)
                collect(found, dtype.name, index)
    return found


def rng_of(op: Op) -> np.random.Generator:
    return np.random.default_rng(crc32(op.name.encode()))


def collect(found: dict[str, str], about: str, index: int) -> None:
    """Adds the kernels that are new, named by what made them."""
    known = set(found.values())
    for text, label in press.texts(index).items():
        if text not in known:
            found[f"{about} {label}"] = text


def trial(op: Op, args: Any, attrs: dict[str, Any], index: int, dtype: DType | None = None) -> None:
    """Runs the op and its gradient; what a dtype does not have leaves no kernel."""

    leaves = []

    def on_press(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [on_press(v) for v in value]
        if not isinstance(value, np.ndarray | np.generic):
            return value
        if dtype is not None and value.dtype.kind not in "bc":
            return wgtorch.tensor(value.astype(dtype.np), device=f"press:{index}")
        wants = value.dtype.kind == "f"
        leaf = wgtorch.tensor(value, device=f"press:{index}", requires_grad=wants)
        leaves.append(leaf)
        return leaf

    try:
        results = PUBLIC[op.name](*[on_press(a) for a in args], **attrs)
        results = results if isinstance(results, tuple | list) else [results]
        tensors = [r for r in results if isinstance(r, wgtorch.Tensor)]
        wanted = [r for r in tensors if r.requires_grad]
        if wanted:
            wgtorch.autograd.backward(wanted, [wgtorch.ones_like(r) for r in wanted])
        for made in (*tensors, *(leaf.grad for leaf in leaves)):
            if made is not None:
                made.detach().cpu().numpy()
    except LinalgError:
        pass  # a press holds no numbers: its matrices are singular
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        if dtype is None and "float64" not in str(error):
            raise


# The command


def all_kernels(names: list[str], index: int) -> Iterator[tuple[str, dict[str, str]]]:
    for name in names or REGISTRY:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                yield name, kernels_of(REGISTRY[name], index)
            except Exception as error:  # one broken op should not hide the others
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)


def write(folder: Path, names: list[str], index: int) -> None:
    for name, kernels in all_kernels(names, index):
        for about, text in kernels.items():
            path = folder / name / (about.replace("/", "-")[:100] + ".wgsl")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def at_commit(base: str, options: list[str], into: Path) -> None:
    """The kernels of a commit, printed by this very tool."""
    archive = subprocess.run(["git", "archive", base], cwd=ROOT, capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as tree:
            tree.extractall(folder, filter="data")
        for own in OWN:
            path = Path(folder, own)
            path.parent.mkdir(exist_ok=True)
            path.write_text((ROOT / own).read_text(encoding="utf-8"), encoding="utf-8")
        command = [sys.executable, str(Path(folder, OWN[0])), "--out", str(into), *options]
        subprocess.run(command, cwd=folder, check=True)


def contents(folder: Path) -> dict[str, str]:
    files = sorted(folder.rglob("*.wgsl"))
    return {str(f.relative_to(folder)): f.read_text(encoding="utf-8") for f in files}


def difference(base: str, names: list[str], chosen: str) -> Iterator[str]:
    options = [*names, "--press", chosen]
    with tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as after:
        at_commit(base, options, Path(before))
        write(Path(after), names, PRESSES[chosen])
        old, new = contents(Path(before)), contents(Path(after))
    for name in sorted(old.keys() | new.keys()):
        pair = [old.get(name, "").splitlines(), new.get(name, "").splitlines()]
        yield from difflib.unified_diff(*pair, f"{base}/{name}", name, lineterm="", n=2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--base")
    parser.add_argument("--press", choices=PRESSES, default="strong")
    given = parser.parse_args()
    unknown = [name for name in given.ops if name not in REGISTRY]
    if unknown and not given.out:
        parser.error(f"there is no op {unknown[0]}")
    if given.out:
        write(given.out, [n for n in given.ops if n in REGISTRY], PRESSES[given.press])
        return 0
    if given.base:
        lines = list(difference(given.base, given.ops, given.press))
        print("\n".join(lines) or "no kernel changed")
        return 1 if lines else 0
    for name, kernels in all_kernels(given.ops, PRESSES[given.press]):
        if given.ops:
            for about, text in kernels.items():
                print(f"// ---- {name}: {about}\n{text}")
        else:
            print(f"{name:24} {len(kernels):3} kernels {sum(map(len, kernels.values())):8} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
