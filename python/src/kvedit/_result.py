"""What an edit found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Set
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

from . import _arguments
from ._addresses import AddressMap
from ._errors import Error, Problem
from ._report import Group, Layer, PageMap, Part, Tried, View

if TYPE_CHECKING:
    from ._core import Result as Core
    from ._registration import Registration

__all__ = ["Group", "Layer", "PageMap", "Part", "Result", "Tried", "View"]


def _address(storage: str, given: object) -> int:
    address = _arguments.integer(f"bases[{storage!r}]", given, "an address (int)")
    if not 0 <= address < 1 << 64:
        raise Error(f"bases[{storage!r}]: {address} is no address of 64 bits", "bases")
    return address


class Result:
    """What `Host.edit` found. Immutable; any thread. Texts and objects are made when asked for."""

    __slots__ = ("_core", "_parsed", "_layers", "_pages", "registration")
    _core: Core
    _parsed: dict[str, Any] | None
    _layers: Mapping[str, Layer] | None
    _pages: Mapping[str, PageMap] | None
    registration: Registration
    """What was edited."""

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("a Result is made by Host.edit or Host.edit_live")

    @classmethod
    def _of(cls, core: Core, registration: Registration) -> Self:
        made = cls.__new__(cls)
        made._core, made.registration = core, registration
        made._parsed = made._layers = made._pages = None
        return made

    @property
    def ok(self) -> bool:
        """No problem is an error. Otherwise no layer has views or pages."""
        return self._core.ok

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All of them, errors first."""
        return tuple(Problem._make(each) for each in self._core.problems())

    def raise_for_problems(self) -> None:
        """Raises `Error` with all problems when one of them is an error."""
        if self._core.ok:
            return
        problems = self.problems
        errors = [problem for problem in problems if problem.severity == "error"]
        raise Error("\n".join(str(error) for error in errors), problems=problems)

    @property
    def chunk_tokens(self) -> int | None:
        """The smallest number of tokens that is whole blocks in every served group."""
        return self._core.chunk_tokens

    @property
    def edits(self) -> dict[str, int]:
        """How many layers each rule edited, in the order of the rules; without making the layers."""
        return self._core.edits

    @property
    def layers(self) -> Mapping[str, Layer]:
        """By name: layers by group and their order in it, then caches of no group."""
        if self._layers is None:
            layers: dict[str, Layer] = {}
            for given in self._report()["layers"]:
                layers.setdefault(given["name"], Layer._of(given, self))
            self._layers = MappingProxyType(layers)
        return self._layers

    @property
    def pages(self) -> Mapping[str, PageMap]:
        """Page maps of the layers that have one."""
        if self._pages is None:
            self._pages = MappingProxyType(
                {name: layer.pages for name, layer in self.layers.items() if layer.pages}
            )
        return self._pages

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(Group._of(given) for given in self._report()["groups"])

    @property
    def fingerprint(self) -> str | None:
        """Names the layout of all groups; None when the result is not ok."""
        found: str | None = self._report().get("fingerprint")
        return found

    def views(self, kv_caches: Mapping[str, Any]) -> dict[str, Any]:
        """Tensors over the same storages, with dtype, shape, strides and offset as planned.

        kv_caches: the registered tensors, all of them: dtype, shape, stride, offset and storages are
            held against the registration. The device may be another, so that a dump can be replayed
            elsewhere.

        Gives layer → tensor, or list of tensors when the page lies in several, in the order of
        ``kv_caches``. A layer that is shown as it is registered, or is excluded, gets the very object
        that was given; layers that show the same bytes in the same way get one tensor. Imports torch.
        Raises `Error` when the result is not ok, or a tensor is not the registered one; no view can
        leave its storage.
        """
        self.raise_for_problems()
        caches = _arguments.caches(kv_caches)
        torch = import_module("torch")

        return self._core.views(caches, torch)

    def bases(self, kv_caches: Mapping[str, Any]) -> dict[str, int]:
        """Address of the first byte of each storage; 0 for one without memory. Checks ``kv_caches`` as
        `views` does."""
        names = self.registration.storages
        return dict(zip(names, self._core.addresses(_arguments.caches(kv_caches))))

    def address_map(
        self,
        layers: str | int | Iterable[str],
        bases: Mapping[str, int] | None = None,
        *,
        order: Literal["layer_major", "block_major"] = "layer_major",
    ) -> AddressMap:
        """From block ids to addresses.

        layers: a layer, layers of one group in storing order, or the number of a group: all its
            layers that have pages. At least one.
        bases: address of each storage (`bases`); addresses are offsets into the storage without.
        order: ``layer_major`` (layer, part, block, range) or ``block_major`` (block, layer, part,
            range).
        """
        self.raise_for_problems()
        if _arguments.text("order", order) not in ("layer_major", "block_major"):
            raise Error(f"order: {order!r} is neither layer_major nor block_major", "order")
        addresses: list[int] | None = None
        if bases is not None:
            _arguments.mapping("bases", bases, "a dict of storage to address")
            given: dict[str, Any] = _arguments.read("bases", bases, dict)
            missing = [name for name in self.registration.storages if name not in given]
            if missing:
                raise Error(f"bases: no address of storage {missing[0]}", "bases")
            addresses = [_address(name, given[name]) for name in self.registration.storages]
        numbers = self._numbers(layers)
        return AddressMap._of(self._core.address_map(numbers, addresses, order == "block_major"))

    def _numbers(self, layers: str | int | Iterable[str]) -> list[int]:
        wanted = "a layer, a list of layers or the number of a group"
        if isinstance(layers, str):
            chosen = [layers]
        elif not isinstance(layers, Iterable):
            chosen = self._of_group(_arguments.integer("layers", layers, wanted))
        elif hasattr(layers, "__array__") or isinstance(layers, (bytes, Mapping, Set)):  # of no order
            raise _arguments.wrong("layers", layers, wanted)
        else:
            chosen = _arguments.texts("layers", layers)
            if not chosen:
                raise Error(f"layers: none is given; give {wanted}", "layers")
        at = {name: number for number, name in reversed(list(enumerate(self._core.layer_names)))}
        for name in chosen:
            if name not in at:
                raise Error(f"layer {name}: the registration has no such layer", f"layer {name}")
        return [at[name] for name in chosen]

    def _of_group(self, number: int) -> list[str]:
        """Its layers that have pages."""
        groups = self.groups
        if not 0 <= number < len(groups):
            there = f"there are 0 to {len(groups) - 1}" if groups else "there is none"
            raise Error(f"layers: {number} is no group; {there}", "layers")
        chosen = [name for name in self.pages if self.layers[name].group == number]
        if not chosen:
            where, outcome = f"group {number}", groups[number].outcome
            raise Error(f"{where}: it is {outcome}, no layer of it has pages", where)
        return chosen

    def report(self) -> dict[str, Any]:
        """The whole report (``kvedit.report/1``), anew with every call."""
        report: dict[str, Any] = json.loads(self._core.report())
        return report

    def to_json(self) -> str:
        """The report as text; the same registration and rules give the same bytes."""
        return self._core.report()

    def explain(self, layer: str | None = None, *, colours: bool = False) -> str:
        """The report for people; or all about one layer, with what every rule said."""
        _arguments.switch("colours", colours)
        if layer is None:
            return self._core.explain(colours)
        _arguments.text("layer", layer)
        return self._core.explain_layer(layer, colours)

    def _report(self) -> dict[str, Any]:
        if self._parsed is None:
            self._parsed = self.report()
        return self._parsed

    def __repr__(self) -> str:
        if not self.ok:
            codes = sorted({each.code for each in self.problems if each.severity == "error"})
            return f"<kvedit.Result refused: {', '.join(codes)}; {len(self.problems)} problems>"
        served = len(self.pages)
        return (
            f"<kvedit.Result ok: {served} of {len(self.layers)} layers served in "
            f"{len(self.groups)} groups, chunk {self.chunk_tokens} tokens>"
        )
