"""`python -m wgtorch`: the doctor, see doctor.py. Exits with 1 where no GPU can be used."""

from __future__ import annotations

import argparse
import json
import os
import sys

from wgtorch import doctor


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m wgtorch",
        description="Which adapters there are, which one is used and why, whether it works, how "
        "fast it is, and what to do about what is missing.",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--quick", action="store_true", help="leave the self-test out")
    parser.add_argument("--device", default="webgpu", help="which one to test (default: webgpu)")
    options = parser.parse_args(arguments)
    report = doctor.examine(options.device, test=not options.quick)
    try:
        print(json.dumps(report, indent=2) if options.json else doctor.text(report), flush=True)
    except BrokenPipeError:  # who reads has seen enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0 if report["healthy"] else 1


if __name__ == "__main__":
    sys.exit(main())
