"""Pairs of saved-tensor hooks: wrong ones, each with one fault, and right ones."""

import pickle

import numpy as np
from recorder import T, same

import wgtorch as torch


def data(device):
    rng = np.random.default_rng(0)
    x = T(rng.standard_normal((6, 6)).tolist(), device, grad=True)
    return (x / 2).exp() * x


def used(pair, device):
    """A graph with float results and inputs, a mask and an index, saved under a pair."""
    x = data(device)
    with pair:
        y = x.exp() + x.sin() + x.masked_fill(x > 1, 0.5) * x
        z = x.index_select(0, torch.tensor([5, 1], device=device))
    return y.sum() + z.sum()


class Wrong:
    """Each method is a pair of functions with one fault."""

    @staticmethod
    def scaled(kept):
        return lambda t: t.detach() * 2 if t.is_floating_point() else t, same

    @staticmethod
    def broadcastable_shape(kept):
        return lambda t: t.detach().unsqueeze(0), same

    @staticmethod
    def flattened(kept):
        return lambda t: t.detach().reshape(-1), same

    @staticmethod
    def transposed(kept):
        return lambda t: t.detach().clone().t() if t.ndim == 2 else t, same

    @staticmethod
    def tail_lost(kept):
        def pack(t):
            flat = t.detach().clone().reshape(-1)
            flat[-1] = 0
            return flat.reshape(t.shape)

        return pack, same

    @staticmethod
    def undeclared_half(kept):
        return lambda t: t.half() if t.is_floating_point() else t, lambda t: t

    @staticmethod
    def undeclared_rounding(kept):
        return lambda t: (t.detach() * 16).round() / 16 if t.is_floating_point() else t, same

    @staticmethod
    def sign_lost(kept):
        return lambda t: t.abs() if t.is_floating_point() else t, same

    @staticmethod
    def range_lost(kept):
        return lambda t: t.clamp(-1, 1) if t.is_floating_point() else t, same

    @staticmethod
    def not_a_tensor(kept):
        return lambda t: t.detach().cpu().numpy(), same

    @staticmethod
    def noisy(kept):
        def pack(t):
            return t + 1e-3 * torch.rand_like(t) if t.is_floating_point() else t

        return pack, same, {"atol": 2e-3}

    @staticmethod
    def one_cell_for_all(kept):
        def pack(t):
            kept["last"] = t.detach().clone()

        return pack, lambda _: kept["last"]

    @staticmethod
    def buffer_used_again(kept):
        def pack(t):
            key = (tuple(t.shape), t.dtype)
            if key not in kept:
                kept[key] = torch.empty_like(t)
            kept[key].copy_(t)
            return kept[key]

        return pack, same

    @staticmethod
    def works_once(kept):
        def pack(t):
            kept[len(kept)] = t.detach().clone()
            return len(kept) - 1

        return pack, lambda key: kept.pop(key)

    @staticmethod
    def unpack_writes(kept):
        def unpack(t):
            return t.mul_(2) if t.is_floating_point() else t

        return lambda t: t / 2 if t.is_floating_point() else t, unpack

    @staticmethod
    def table_that_grows(kept):
        def pack(t):
            kept[len(kept)] = t
            return len(kept) - 1

        return pack, lambda key: kept[key]

    @staticmethod
    def tolerance_too_small(kept):
        def pack(t):
            return (t.detach() * 4).round() / 4 if t.is_floating_point() else t

        return pack, same, {"atol": 0.05}


FAULTS = sorted(name for name in vars(Wrong) if not name.startswith("_"))


def to_disk(folder):
    count = iter(range(10**6))

    def pack(t):
        path = folder / f"{next(count)}.npy"
        np.save(path, t.detach().cpu().numpy())
        return path, t.device

    return pack, lambda packed: torch.from_numpy(np.load(packed[0])).to(packed[1])


def bits(t):
    return np.packbits(t.cpu().numpy()), tuple(t.shape), t.device


def unbits(packed):
    array = np.unpackbits(packed[0], count=int(np.prod(packed[1]))).astype(bool)
    return torch.tensor(array.reshape(packed[1]), device=packed[2])


def rows(t):
    return [row.clone() for row in t.detach()]


def floats(pack, unpack):
    return (
        lambda t: ("floats", pack(t)) if t.is_floating_point() else ("as it is", t),
        lambda p: unpack(p[1]) if p[0] == "floats" else p[1],
    )


RIGHT = {
    "identity": (same, same),
    "in a tuple": (lambda t: (t,), lambda p: p[0]),
    "detached": (lambda t: t.detach(), same),
    "cloned": (lambda t: t.detach().clone(), same),
    "to the cpu": (lambda t: (t.cpu(), t.device), lambda p: p[0].to(p[1])),
    "numpy": (
        lambda t: (np.array(t.detach().cpu().numpy()), t.device),
        lambda p: torch.tensor(p[0], device=p[1]),
    ),
    "pickled": (
        lambda t: (pickle.dumps(t.detach().cpu().numpy()), t.device),
        lambda p: torch.tensor(pickle.loads(p[0]), device=p[1]),
    ),
    "a list": (
        lambda t: (t.tolist(), t.dtype, t.device),
        lambda p: torch.tensor(p[0], dtype=p[1], device=p[2]),
    ),
    "transposed and back": (
        lambda t: t.mT if t.ndim == 2 else t,
        lambda t: t.mT if t.ndim == 2 else t,
    ),
    "in rows": (rows, torch.stack),
    "backwards": (lambda t: t.flip(0), lambda t: t.flip(0)),
    "twice and half": floats(lambda t: t * 2, lambda t: t / 2),
    "negated": floats(lambda t: -t, lambda t: -t),
    "a dict": (lambda t: {"data": t.detach(), "shape": t.shape}, lambda p: p["data"]),
    "flat": (lambda t: (t.detach().reshape(-1), t.shape), lambda p: p[0].reshape(p[1])),
    "declared half": (*floats(lambda t: t.half(), lambda t: t.float()), {"rtol": 2.0**-11}),
    "declared bfloat16": (*floats(lambda t: t.bfloat16(), lambda t: t.float()), {"rtol": 2.0**-8}),
    "declared grid": (
        *floats(lambda t: (t * 16).round(), lambda t: t / 16),
        {"atol": 1 / 32, "rtol": 1e-6},
    ),
    "bound by its range": (
        *floats(
            lambda t: ((t / t.abs().max() * 127).round().to(torch.int8), t.abs().max()),
            lambda p: p[0].float() / 127 * p[1],
        ),
        {"atol": lambda t: t.abs().max() / 253},
    ),
    "bits": (
        lambda t: bits(t) if t.dtype is torch.bool else t,
        lambda p: unbits(p) if type(p) is tuple else p,
    ),
}
