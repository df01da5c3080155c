"""Functions put in the place of others in modules that may not be imported yet."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.abc import Loader, MetaPathFinder
    from importlib.machinery import ModuleSpec
    from types import ModuleType
else:  # the import system asks for their methods only, and importlib.abc is slow to import
    Loader = MetaPathFinder = object


class Replaced(MetaPathFinder):
    """Finds no module itself: asks the other finders for those in question, and sees them loaded.

    A module that does not have a function of that name is left without.
    """

    def __init__(self, modules: Sequence[str], functions: Mapping[str, Any]) -> None:
        self._modules, self._ours = modules, functions
        self._theirs: dict[str, Any] = {}

    def install(self) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        for module in self._loaded():
            self.replace(module)

    def uninstall(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for module in self._loaded():
            for name, theirs in self._theirs.items():
                if getattr(module, name, None) is self._ours[name]:
                    setattr(module, name, theirs)
        self._theirs.clear()

    def replace(self, module: ModuleType) -> None:
        for name, ours in self._ours.items():
            theirs = getattr(module, name, None)
            if theirs is not None and theirs is not ours:
                self._theirs[name] = theirs
                setattr(module, name, ours)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._modules:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None
            if finder is not self and find is not None:
                spec = find(fullname, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _ReplacingLoader(spec.loader, self)
                return spec
        return None

    def _loaded(self) -> list[ModuleType]:
        return [sys.modules[name] for name in self._modules if sys.modules.get(name) is not None]


class _ReplacingLoader(Loader):
    """The module's own loader; then its functions are replaced."""

    def __init__(self, own: Any, replaced: Replaced) -> None:
        self._own, self._replaced = own, replaced

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._own.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._own
        module.__loader__ = self._own
        self._own.exec_module(module)
        self._replaced.replace(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)
