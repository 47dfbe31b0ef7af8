"""A Tree is a module as a namespace: named parameters, buffers and child trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

from wgtorch import Tensor
from wgtorch.nn.parameter import Buffer, Parameter


class Tree:
    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self) -> None:
        plant = super().__setattr__  # our own looks for what is made here
        plant("training", True)
        plant("_parameters", {})
        plant("_buffers", {})
        plant("_modules", {})
        plant("_non_persistent_buffers_set", set())

    # Attributes that are entries of the three tables

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            entries = own.get(table)
            if entries is not None and name in entries:
                return entries[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        for kind, table, what, wanted in KINDS:
            entries = own.get(table)
            fits = isinstance(value, kind)
            if fits and entries is None:
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            if fits or (entries is not None and name in entries):
                if not (fits or value is None or (kind is Buffer and isinstance(value, Tensor))):
                    what = {"parameters": "parameter", "module": "child module"}.get(what, what)
                    raise TypeError(
                        f"cannot assign '{typename(value)}' as {what} '{name}' "
                        f"({wanted} or None expected)"
                    )
                self._enter(table, name, value)
                return
        super().__setattr__(name, value)

    def _enter(self, table: str, name: str, value: Any) -> None:
        if table == "_buffers":
            persistent = name not in self._non_persistent_buffers_set
            self.register_buffer(name, value, getattr(value, "persistent", persistent))
            return
        if value is not None:
            for place in ("_parameters", "_buffers", "_modules"):
                if place != table:
                    self.__dict__[place].pop(name, None)
            self.__dict__.pop(name, None)
            self._non_persistent_buffers_set.discard(name)
        if table == "_parameters":
            self.register_parameter(name, value)
        else:
            self._modules[name] = value

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules]
        return sorted(n for n in [*names, *self._buffers] if not n[0].isdigit())

    # Registering

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add `param` (or None, a place kept empty) under `name`."""
        self._check_name("parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                f"created explicitly. To express '{name}' as a function of another Tensor, "
                "compute the value in the forward() method."
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add state that is no parameter; only persistent buffers are in `state_dict`."""
        self._check_name("buffer", name, "_buffers")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        kept_out = self._non_persistent_buffers_set
        kept_out.discard(name) if persistent else kept_out.add(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add `module` (or None) as the child called `name`."""
        if module is not None and not isinstance(module, Tree):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, "_modules")
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, what: str, name: str, table: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            got = f", got: {name}" if what == "module" else ""
            raise KeyError(f'{what} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # Walking

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """(name, module) of this module and of all below it, each module once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, dotted(prefix, name), remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        for _, module in self.named_children():
            yield module

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) of this module and, with `recurse`, of all below it."""
        return self._named_members(
            lambda tree: tree._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) of this module and, with `recurse`, of all below it."""
        return self._named_members(
            lambda tree: tree._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def _named_members(
        self, members: Callable, prefix: str = "", recurse: bool = True, remove_duplicate=True
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        trees = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, tree in trees if recurse else [(prefix, self)]:
            for name, member in members(tree):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield dotted(path, name), member

    # Finding by dotted name

    def get_submodule(self, target: str) -> Any:
        """The module at the dotted path `target`; this one if it is empty."""
        found = self
        for name in target.split(".") if target else ():
            found = found._attribute(name)
            if not isinstance(found, Tree):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put `module` at the dotted path `target`; with `strict`, only replace one."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Tree):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at the dotted path `target`."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._attribute(name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at the dotted path `target`."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        found = owner._attribute(name)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _attribute(self, name: str) -> Any:
        if not hasattr(self, name):
            raise AttributeError(f"{self._get_name()} has no attribute `{name}`")
        return getattr(self, name)

    # Changing all of it

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call `fn` on every module, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training (or, with False, evaluation) mode here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Have autograd record (or not) what is done with the parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for param in self.parameters():
            if set_to_none:
                param.grad = None
            elif param.grad is not None:
                param.grad.detach_().zero_()

    # Showing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses, before the children."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        for name, module in self._modules.items():
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        inside = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({inside})"


KINDS = (  # the first that fits decides
    (Parameter, "_parameters", "parameters", "torch.nn.Parameter"),
    (Tree, "_modules", "module", "torch.nn.Module"),
    (Buffer, "_buffers", "buffer", "torch.nn.Buffer, torch.Tensor"),
)


def dotted(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def typename(value: Any) -> str:
    kind = value if isinstance(value, type) else type(value)
    home = kind.__module__
    return kind.__qualname__ if home == "builtins" else f"{home}.{kind.__qualname__}"
