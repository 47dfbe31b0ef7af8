"""Saved tensors get a budget of their device: `device_budget`.

Nothing moves while there is room. Beyond the budget the oldest go, which backward needs last: to
the host, or wherever `then` says. So a step is as fast as memory allows, and never runs out of it.
"""

from __future__ import annotations

import sys

from small_transformer import Cost, arguments, bench_of, compare

from wgtorch.autograd.graph import device_budget, save_on_cpu

SHARES = (1.0, 0.5, 0.25, 0.0)


def main(given: list[str] | None = None) -> list[Cost]:
    options = arguments(__doc__ or "", given)
    bench = bench_of(options)
    meter = device_budget(1 << 20)  # no bound: what would be held
    bench.step(lambda: meter)
    whole = meter.peak
    budgets: dict[float, device_budget] = {}

    def within(share: float) -> device_budget:
        budgets[share] = device_budget(whole * share / 2**20, then=save_on_cpu())
        return budgets[share]

    ways = [(f"{share:.0%} of {whole / 2**20:.1f} MiB", share) for share in SHARES]
    costs = compare(bench, [(name, lambda share=share: within(share)) for name, share in ways])
    for (name, share), cost in zip(ways, costs[1:], strict=True):
        budget = budgets[share]
        print(
            f"{name}: held at most {budget.peak:,} bytes, sent away {budget.evicted:,};"
            f" {cost.milliseconds / costs[0].milliseconds:.2f} times as long as plain"
        )
    return costs


if __name__ == "__main__":
    main(sys.argv[1:])
