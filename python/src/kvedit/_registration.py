"""What an engine hands a connector, as facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from . import _arguments
from ._core import Registration as Core
from ._core import build_registration, printable, read_registration
from ._errors import Error
from ._vllm import facts_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


class Registration:
    """Groups, specs, placements and tensors without their bytes (``kvedit.registration/1``).

    Immutable; any thread. Made by `from_vllm`, `from_json` or `load`.
    """

    __slots__ = ("_core",)
    _core: Core

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("a Registration is made by Registration.from_vllm, from_json or load")

    @classmethod
    def _of(cls, core: Core) -> Self:
        made = cls.__new__(cls)
        made._core = core
        return made

    @classmethod
    def from_json(cls, text: str | bytes | bytearray | memoryview) -> Self:
        """Reads ``kvedit.registration/1``. Raises `Error`; its ``where`` is a JSON pointer."""
        if isinstance(text, str):
            try:
                data = text.encode()
            except UnicodeEncodeError as error:
                raise Error(
                    f"the text has half a surrogate pair, {text[error.start]!r}, at character "
                    f"{error.start}; UTF-8 has no such thing: read the file with errors='strict', or "
                    "as bytes"
                ) from None
        elif isinstance(text, (bytes, bytearray, memoryview)):
            data = bytes(text)
        else:
            raise _arguments.wrong("text", text, "a str or bytes of kvedit.registration/1")
        return cls._of(read_registration(data))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads a file of ``kvedit.registration/1``. Raises `Error` for what it says, ``OSError`` as
        `open` does where it cannot be read."""
        with open(_arguments.path("path", path), "rb") as file:
            return cls.from_json(file.read())

    @classmethod
    def from_vllm(
        cls,
        kv_cache_config: Any,
        kv_caches: Mapping[str, Any],
        *,
        layout: Any = None,
        vllm_config: Any = None,
        engine_version: str | None = None,
    ) -> Self:
        """The facts of what vLLM registers with a connector.

        kv_cache_config: vLLM's ``KVCacheConfig`` (0.25 to 0.33), or anything with its attributes. It
            is read by attribute with defaults; what a spec is follows from the names of its class
            and bases, so that specs of other versions and packages will do.
        kv_caches: layer → tensor, or list of tensors, as given to ``register_kv_caches``.
        layout: name of the memory layout (``LBHNC``, ``HND``, …), or an enum with such a name; asked
            of the config when not given.
        vllm_config: vLLM's ``VllmConfig``: adds parallel sizes, model name and attention backends.
        engine_version: vLLM's version when it is not the one that is loaded.

        Touches no tensor memory and needs no torch of its own. Raises ``TypeError`` for arguments
        that are something else, `Error` with the JSON pointer of what in them cannot be read.
        """
        if engine_version is not None:
            _arguments.text("engine_version", engine_version)
        facts = facts_of(kv_cache_config, kv_caches, layout, vllm_config, engine_version)
        return cls._of(build_registration(facts))

    def to_json(self) -> str:
        """Writes ``kvedit.registration/1``; `from_json` gives the same facts back."""
        return self._core.to_json()

    @property
    def engine(self) -> tuple[str, str]:
        """Name and version; empty when not given."""
        return self._core.engine_name, self._core.engine_version

    @property
    def model(self) -> str:
        return self._core.model

    @property
    def layout(self) -> str:
        """Name of the memory layout, or empty."""
        return self._core.layout

    @property
    def num_blocks(self) -> int:
        return self._core.num_blocks

    @property
    def layers(self) -> tuple[str, ...]:
        """The registered layers, in registration order."""
        return self._core.caches

    @property
    def storages(self) -> tuple[str, ...]:
        return self._core.storages

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        engine = " ".join(part for part in self.engine if part)
        about = ", ".join(part for part in (self.model, engine, self.layout) if part)
        return printable(
            f"<kvedit.Registration {about + ': ' if about else ''}{len(self.layers)} layers in "
            f"{self._core.num_groups} groups, {self.num_blocks} blocks>"
        )
