"""The compiled core; use the classes of ``kvedit``."""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias, final

__version__: str
profiles: tuple[str, ...]

def printable(text: str, /) -> str: ...

_Problem: TypeAlias = tuple[
    str, str, int | None, str | None, str | None, str, dict[str, int | str]
]

@final
class Spec:
    @property
    def kind(self) -> str: ...

def make_spec(
    type: str, bases: Sequence[str], fields: dict[str, object], where: str, /
) -> Spec: ...

_Group: TypeAlias = tuple[Sequence[str], Spec, dict[str, Spec], bool, bool, bool, str, int | None]
_Placement: TypeAlias = tuple[Sequence[str], int, int, int, int]
_Facts: TypeAlias = tuple[
    str,
    str,
    str,
    str,
    int,
    tuple[int, int, int, int, int],
    list[_Group],
    list[_Placement],
    dict[str, str],
    list[tuple[str, object]],
]

@final
class Registration:
    @property
    def engine_name(self) -> str: ...
    @property
    def engine_version(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def layout(self) -> str: ...
    @property
    def num_blocks(self) -> int: ...
    @property
    def num_groups(self) -> int: ...
    @property
    def caches(self) -> tuple[str, ...]: ...
    @property
    def storages(self) -> tuple[str, ...]: ...
    def to_json(self) -> str: ...

def read_registration(text: bytes, /) -> Registration: ...
def build_registration(facts: _Facts, /) -> Registration: ...

@final
class Host:
    def edit(
        self,
        registration: Registration,
        profile: str,
        purpose: str,
        pass_ungrouped: bool,
        recurrent_rows: str,
        /,
    ) -> Result: ...
    def edit_live(
        self,
        facts: _Facts,
        profile: str,
        purpose: str,
        pass_ungrouped: bool,
        recurrent_rows: str,
        torch: ModuleType,
        /,
    ) -> tuple[Registration, Result, dict[str, Any] | None]: ...
    def rules(self) -> str: ...
    def problems(self) -> list[_Problem]: ...

def open_host(
    options: tuple[list[str], list[str], list[str], bool, str, bool],
    log: Callable[[str, str], object] | None,
    /,
) -> Host: ...

@final
class Result:
    @property
    def ok(self) -> bool: ...
    @property
    def chunk_tokens(self) -> int | None: ...
    @property
    def layer_names(self) -> list[str]: ...
    @property
    def edits(self) -> dict[str, int]: ...
    @property
    def registration(self) -> Registration: ...
    def problems(self) -> list[_Problem]: ...
    def report(self) -> str: ...
    def explain(self, colours: bool, /) -> str: ...
    def explain_layer(self, layer: str, colours: bool, /) -> str: ...
    def views(self, kv_caches: Mapping[str, Any], torch: ModuleType, /) -> dict[str, Any]: ...
    def addresses(self, kv_caches: Mapping[str, Any], /) -> list[int]: ...
    def address_map(
        self, layers: list[int], bases: list[int] | None, block_major: bool, /
    ) -> AddressMap: ...

@final
class AddressMap:
    @property
    def block_bytes(self) -> int: ...
    def capacity(self, count: int, /) -> int: ...
    def write(self, block_ids: object, out: object, /) -> int: ...
