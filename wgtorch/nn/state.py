"""The state of a module: its parameters and persistent buffers by name, out and in again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from wgtorch import Tensor, no_grad
from wgtorch.nn.hooks import OfModule, RemovableHandle, hung
from wgtorch.nn.parameter import Parameter, is_lazy
from wgtorch.nn.tree import Tree

EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """Which names `load_state_dict` looked for in vain, and which it did not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )

    def __str__(self) -> str:
        return repr(self)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Takes a prefix off the names that begin with it, in place: such as "module.", which
    PyTorch's DataParallel puts there. The modules' paths in `_metadata` follow."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    paths = getattr(state_dict, "_metadata", {})
    for path in [path for path in paths if f"{path}.".startswith(prefix) and path]:
        paths[path[len(prefix) :]] = paths.pop(path)


class Stateful(Tree):
    _version = 1  # of the layout of this class's own state

    def __init__(self) -> None:
        super().__init__()
        self._state_dict_hooks: OrderedDict[int, Callable] = OrderedDict()
        self._state_dict_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
        self._load_state_dict_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
        self._load_state_dict_post_hooks: OrderedDict[int, Callable] = OrderedDict()

    # Out

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name, detached unless `keep_vars`.

        The tensors share memory with the module: copy them to keep a moment. An attribute
        `_metadata` of the dict has the version of each module, by its path.
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()  # type: ignore[attr-defined]
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local)
            if getattr(hook, "returns_nothing", False):
                if replaced is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif replaced is not None:
                destination = replaced
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        """What this module itself, without its children, has to save."""
        hidden = self._non_persistent_buffers_set
        kept = {name: buffer for name, buffer in self._buffers.items() if name not in hidden}
        return {name: t for name, t in (self._parameters | kept).items() if t is not None}

    def get_extra_state(self) -> Any:
        """Override, with `set_extra_state`, to save more than tensors."""
        raise RuntimeError(f"{self._get_name()} keeps no extra state")

    def set_extra_state(self, state: Any) -> None:
        """Override, with `get_extra_state`, to take back what it gave."""
        raise RuntimeError(f"{self._get_name()} keeps no extra state")

    # In

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy tensors in by name; with `assign`, make them the module's own instead.

        Raises RuntimeError listing every missing and unexpected name (if `strict`) and every
        tensor of another shape.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        state = OrderedDict(state_dict)  # a copy, as hooks may change it
        metadata = getattr(state_dict, "_metadata", None)
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]
        keys, errors = IncompatibleKeys([], []), []
        self._load(state, "", metadata or {}, assign, keys, errors)
        if strict:
            for what, names in (("Unexpected", keys[1]), ("Missing", keys[0])):
                if names:
                    listed = ", ".join(f'"{name}"' for name in names)
                    errors.insert(0, f"{what} key(s) in state_dict: {listed}. ")
        if errors:
            listed = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {self._get_name()}:\n\t{listed}"
            )
        return keys

    def _load(self, state: dict, prefix: str, metadata: dict, assign, keys, errors) -> None:
        local = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local, True, keys[0], keys[1], errors)
        for name, child in self._modules.items():
            if child is not None:
                start = f"{prefix}{name}."
                below = {key: value for key, value in state.items() if key.startswith(start)}
                child._load(below, start, metadata, assign, keys, errors)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                    "expected to return new values, if incompatible_keys need to be modified, "
                    "it should be done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state; override to read older versions of it."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                 error_msgs)  # fmt: skip
        own = self._own_state()
        for name, tensor in own.items():
            if prefix + name in state_dict:
                assign = local_metadata.get("assign_to_params_buffers", False)
                problem = self._load_tensor(
                    name, tensor, prefix + name, state_dict[prefix + name], assign
                )
                error_msgs.extend(problem)
            elif strict:
                missing_keys.append(prefix + name)
        extra = prefix + EXTRA
        takes_extra = type(self).set_extra_state is not Stateful.set_extra_state
        if takes_extra and extra in state_dict:
            self.set_extra_state(state_dict[extra])
        elif strict and takes_extra:
            missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        for key in state_dict if strict else ():
            if key.startswith(prefix) and key != extra:
                name, *below = key[len(prefix) :].split(".", 1)
                if name not in (self._modules if below else own):
                    unexpected_keys.append(key)

    def _load_tensor(self, name: str, tensor: Tensor, key: str, given: Any, assign: bool):
        """The problems (a list of messages, hopefully empty) met in loading one tensor."""
        if not isinstance(given, Tensor):
            return [
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(given)}"
            ]
        if is_lazy(tensor) and is_lazy(given) and not assign:
            return []
        if not is_lazy(tensor):
            if tensor.ndim == 0 and tuple(given.shape) == (1,):
                given = given[0]
            if given.shape != tensor.shape:
                return [
                    f"size mismatch for {key}: copying a param with shape {given.shape} from "
                    f"checkpoint, the shape in current model is {tensor.shape}."
                ]
        try:
            with no_grad():
                if not assign:
                    tensor.copy_(given)
                elif isinstance(tensor, Parameter) and not isinstance(given, Parameter):
                    setattr(self, name, Parameter(given, tensor.requires_grad))
                else:
                    setattr(self, name, given.requires_grad_(tensor.requires_grad))
        except Exception as error:
            return [
                f'While copying the parameter named "{key}", whose dimensions in the model are '
                f"{tensor.shape} and whose dimensions in the checkpoint are {given.shape}, "
                f"an exception occurred : {error.args}."
            ]
        return []

    # Hooks on both

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(module, prefix, keep_vars)` runs before `state_dict` collects."""
        return hung(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata)` may change `state_dict` in place."""
        return hung(self._state_dict_hooks, ReturnsNothing(hook))

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """Like the post hook, but what it returns (if not None) replaces the state_dict."""
        return hung(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)` runs before this module loads its own state."""
        return hung(self._load_state_dict_pre_hooks, OfModule(hook, self))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable, with_module: bool = False
    ) -> RemovableHandle:
        """The same for hooks that do not take the module, unless `with_module`."""
        return hung(self._load_state_dict_pre_hooks, OfModule(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """`hook(module, incompatible_keys)` runs after the module and its children loaded."""
        return hung(self._load_state_dict_post_hooks, hook)


class ReturnsNothing:
    """A hook that may only change what it is given."""

    returns_nothing = True

    def __init__(self, hook: Callable):
        self.hook = hook

    def __call__(self, *args: Any) -> Any:
        return self.hook(*args)
