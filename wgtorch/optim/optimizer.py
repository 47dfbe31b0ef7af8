"""An Optimizer changes parameters by their gradients, each group of them by its settings."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any

from wgtorch import Tensor, enable_grad, set_grad_enabled
from wgtorch.autograd.hooks import RemovableHandle
from wgtorch.backend import fulfil

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Hooks = OrderedDict[int, Callable]


class Optimizer:
    """Base class: an optimizer says in `update` how one parameter changes.

    Settings that choose between PyTorch's implementations (foreach, fused, capturable) are
    accepted and kept: here the expressions of an update run as one kernel in any case.
    """

    def __init__(self, params: Params, defaults: dict[str, Any]):
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {kind(params)}"
            )
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._opt_called = False  # a scheduler that goes first warns
        self._make_hooks()
        given: list[Any] = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = hooked(cls.step)  # type: ignore[method-assign]

    # Stepping

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient; returns what `closure` did.

        `closure`, if given, is called first, with gradients on: it computes the loss anew.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(self.defaults.get("differentiable", False)):
            for group in self.param_groups:
                for param in group["params"]:
                    grad = param.grad
                    if grad is not None:
                        state = self.state[param]
                        if param.is_complex():  # its parts are parameters
                            parts = param.view_as_real(), grad.view_as_real()
                            self.update(*parts, state, group)
                        else:
                            self.update(param, grad, state, group)
                        fulfil(param)
        return loss

    def update(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        """Change `param` and its `state` in place; `group` holds the settings."""
        raise NotImplementedError(f"{type(self).__name__} has neither `update` nor `step`")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    param.grad.detach_().zero_()

    # Groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Optimize more parameters: a dict with "params" and settings other than the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        names, params = split(param_group["params"])
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {kind(param)}"
                )
            if not (param.is_leaf or param.retains_grad or self.defaults.get("differentiable")):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            param_group.setdefault(name, default)
        self._check_unique(param_group)
        self.param_groups.append(param_group)

    def _check_unique(self, new: dict[str, Any]) -> None:
        params = {id(param) for param in new["params"]}
        if len(params) != len(new["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error",
                stacklevel=4,
            )
        for group in self.param_groups:
            if ("param_names" in new) != ("param_names" in group):
                which = "with names" if "param_names" in new else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {which} to the optimizer"
                )
            if params & {id(param) for param in group["params"]}:
                raise ValueError("some parameters appear in more than one parameter group")

    # State

    def state_dict(self) -> dict[str, Any]:
        """{"state": by parameter number, "param_groups": settings, and their numbers}."""
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for param in group["params"]:
                numbers.setdefault(id(param), len(numbers))
            listed = {name: value for name, value in group.items() if name != "params"}
            groups.append(listed | {"params": [numbers[id(param)] for param in group["params"]]})
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
            if value  # an update that keeps nothing leaves an empty dict
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in list(self._state_dict_post_hooks.values()):
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over the state and the settings that `state_dict` gave."""
        state_dict = dict(state_dict)
        for hook in list(self._load_state_dict_pre_hooks.values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        numbers = chain.from_iterable(group["params"] for group in saved)
        params = chain.from_iterable(group["params"] for group in groups)
        by_number = dict(zip(numbers, params, strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            param = by_number.get(key)
            state[key if param is None else param] = taken(value, param)
        for group, settings in zip(groups, saved, strict=True):
            settings["params"] = group["params"]
            if "param_names" in group:
                settings.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in list(self._load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
            self._opt_called = False
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)

    # Hooks

    def _make_hooks(self) -> None:
        self._step_pre_hooks: Hooks = OrderedDict()
        self._step_post_hooks: Hooks = OrderedDict()
        self._state_dict_pre_hooks: Hooks = OrderedDict()
        self._state_dict_post_hooks: Hooks = OrderedDict()
        self._load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._load_state_dict_post_hooks: Hooks = OrderedDict()

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` before each step; may return new (args, kwargs)."""
        return hung(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` after each step."""
        return hung(self._step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` before `state_dict` collects."""
        return hung(self._state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)`; what it returns (not None) replaces the state_dict."""
        return hung(self._state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)`; what it returns (not None) is loaded instead."""
        return hung(self._load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` after loading."""
        return hung(self._load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join(lines) + "\n)"


def hooked(step: Callable) -> Callable:
    """`step` with the hooks of its optimizer around it."""

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        for hook in list(self._step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}."
                    )
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        self._opt_called = True
        for hook in list(self._step_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    return run


Optimizer.step = hooked(Optimizer.step)  # type: ignore[method-assign]


def hung(hooks: Hooks, hook: Callable, first: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    return handle


def split(params: Any) -> tuple[list[str], list[Tensor]]:
    """Names (none, or one for each) and tensors, from tensors or pairs."""
    if isinstance(params, Tensor):
        return [], [params]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering "
            "of tensors in sets will change between runs. Please use a list instead."
        )
    given = list(params)
    pairs = [entry for entry in given if isinstance(entry, tuple)]
    if pairs and len(pairs) != len(given):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    if not pairs:
        return [], given
    return [name for name, _ in pairs], [param for _, param in pairs]


NUMBERS = ("step", "mu_product", "eta", "mu", "t", "H_diag")  # PyTorch keeps them as tensors


def taken(value: Any, param: Tensor | None, name: Any = None) -> Any:
    """A copy of saved state as `param` needs it: on its device, in its dtype, steps as numbers."""
    if isinstance(value, Tensor):
        if name in NUMBERS and value.numel() == 1:
            return value.item()
        if param is None:
            return value
        floats = param.is_floating_point() and value.is_floating_point()
        return value.detach().to(param.device, param.dtype if floats else value.dtype, copy=True)
    if isinstance(value, Mapping):
        return {key: taken(entry, param, key) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([taken(entry, param) for entry in value])
    return value


def kind(value: Any) -> str:
    where = type(value).__module__
    return type(value).__qualname__ if where == "builtins" else f"{where}.{type(value).__name__}"


def number(setting: Any) -> float:
    """A setting, which may be a 0-d tensor, as a Python number: a run-time value of kernels."""
    return setting.item() if isinstance(setting, Tensor) else setting


CALLED = {"lr": "learning rate", "eps": "epsilon value"}


def checked(betas: Any = (), **settings: Any) -> None:
    """Refuse settings below zero, and betas that are not in [0, 1)."""
    one_element("lr", settings["lr"])
    for name, value in settings.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {CALLED.get(name, name + ' value')}: {value}")
    for place, beta in enumerate(betas):
        one_element(f"betas[{place}]", beta)
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {place}: {beta}")


def one_element(name: str, setting: Any) -> None:
    if isinstance(setting, Tensor) and setting.numel() != 1:
        raise ValueError(f"Tensor {name} must be 1-element")


def adjusted(param: Tensor, grad: Tensor, group: dict[str, Any]) -> Tensor:
    """The gradient with the sign that `maximize` wants, and weight decay if it is coupled."""
    if group["maximize"]:
        grad = -grad
    decay = number(group["weight_decay"])
    if decay and not group.get("decoupled_weight_decay"):
        grad = grad._mixed(param, 1.0, decay)
    return grad


def kept(group: dict[str, Any]) -> float:
    """What decoupled weight decay leaves of a parameter."""
    if not group["decoupled_weight_decay"]:
        return 1.0
    return 1 - number(group["lr"]) * number(group["weight_decay"])
