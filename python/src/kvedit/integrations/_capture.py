"""Writes what an engine registered, and what kvedit says about it, to files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import Error, Host, Registration, Result, _arguments
from .._core import profiles
from ._folders import write_whole
from ._options import choice, folder, known

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping

DEFAULT_FOLDER = "kvedit-capture"
_NAMES = "kvedit.path", "kvedit.profile"
_READABLE = 0o644  # to be sent with a report: there is nothing of the caches in it


class Options(NamedTuple):
    """From ``kv_connector_extra_config``."""

    folder: str
    profile: str

    @classmethod
    def of(cls, extra: Mapping[str, Any]) -> Options:
        """Raises `kvedit.Error` with the name of what cannot be, or is no option."""
        known(extra, _NAMES)
        return cls(
            folder(extra, "kvedit.path", DEFAULT_FOLDER), choice(extra, "kvedit.profile", profiles)
        )


class Captured(NamedTuple):
    registration_path: str
    report_path: str
    result: Result


def rank_suffix(vllm_config: Any) -> str:
    """Tells the files of workers apart: nothing for the only one."""
    parallel = getattr(vllm_config, "parallel_config", None)

    def number(name: str, otherwise: int) -> int:
        value = getattr(parallel, name, None)
        return value if isinstance(value, int) else otherwise

    suffix = ""
    if number("data_parallel_size", 1) > 1:
        suffix += f".dp{number('data_parallel_rank', 0)}"
    if number("world_size", 1) > 1:
        suffix += f".rank{number('rank', 0)}"
    return suffix


def capture(
    kv_cache_config: Any, kv_caches: Mapping[str, Any], vllm_config: Any, options: Options
) -> Captured:
    """Facts and report of one worker. Raises `kvedit.Error`, ``TypeError`` or ``OSError``."""
    registration = Registration.from_vllm(kv_cache_config, kv_caches, vllm_config=vllm_config)
    os.makedirs(options.folder, exist_ok=True)
    suffix = _arguments.read("vllm_config", vllm_config, rank_suffix)
    registration_path = os.path.join(options.folder, f"registration{suffix}.json")
    write_whole(registration_path, [registration.to_json().encode()], _READABLE)
    result = Host(environment=True).edit(registration, profile=options.profile)
    report_path = os.path.join(options.folder, f"report{suffix}.json")
    write_whole(report_path, [result.to_json().encode()], _READABLE)
    return Captured(registration_path, report_path, result)


def capture_and_tell(
    kv_cache_config: Any,
    kv_caches: Mapping[str, Any],
    vllm_config: Any,
    options: Options,
    logger: logging.Logger,
) -> Captured | None:
    """The same where nothing may go wrong: what does is logged, and the engine goes on."""
    try:
        captured = capture(kv_cache_config, kv_caches, vllm_config, options)
    except (Error, TypeError, OSError) as error:
        logger.error("kvedit: the registration could not be captured: %s", error)
        return None
    logger.info("kvedit: %r; written to %s", captured.result, captured.registration_path)
    for problem in captured.result.problems:
        level = logger.error if problem.severity == "error" else logger.warning
        level("kvedit: %s", problem)
    return captured
