"""Rule packs loaded once, registrations edited with them."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _arguments, _core
from ._errors import Error, Problem
from ._registration import Registration
from ._result import Result
from ._vllm import facts_of

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable, Mapping

    Log: TypeAlias = Callable[[str, str], object] | logging.Logger
    Path: TypeAlias = str | os.PathLike[str]

Purpose: TypeAlias = Literal["prefix", "transfer"]

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def _to_callable(log: Log | None) -> Callable[[str, str], object] | None:
    if log is None or callable(log):
        return log
    if not callable(getattr(log, "log", None)):
        raise _arguments.wrong("log", log, "a logger, or a callable of level and message,")
    return lambda level, message: log.log(_LEVELS[level], "%s", message)


def _core_of(registration: Registration) -> _core.Registration:
    if not isinstance(registration, Registration):
        raise _arguments.wrong(
            "registration", registration, "a kvedit.Registration (from_vllm, from_json or load)"
        )
    return registration._core


def _check_choices(
    profile: str, purpose: str, pass_ungrouped: bool, recurrent_rows: str
) -> None:
    if not (isinstance(profile, str) and isinstance(purpose, str)
            and isinstance(pass_ungrouped, bool) and isinstance(recurrent_rows, str)):  # fmt: skip
        _arguments.text("profile", profile)
        _arguments.text("purpose", purpose)
        _arguments.switch("pass_ungrouped", pass_ungrouped)
        _arguments.text("recurrent_rows", recurrent_rows)
    if recurrent_rows == "page" and profile != "lmcache":
        raise Error(
            f"recurrent_rows: 'page' goes with profile 'lmcache', and profile is {profile!r}",
            "recurrent_rows",
        )


class Host:
    """Finds and loads rule packs once, then edits registrations. Immutable; any thread.

    packs: rule pack files, looked at first, in this order.
    rule_dirs: directories of rule packs; they must exist.
    required_packs: pack ids whose absence is an error of every edit.
    standard_rules: also the rules that come with kvedit, from ``standard_rules_dir`` when given.
    environment: also ``KVEDIT_RULE_PATH`` and the configuration directories.
    log: a logger, or a callable that takes a level (``debug`` … ``error``) and a message. It may be
        called from several threads at once. Nothing is written anywhere else.

    Rule packs are code: opening a host runs them. Raises `Error` for a directory that cannot be read,
    and for a ``standard_rules_dir`` without rules; a pack that cannot be loaded is among the
    ``problems`` of the host and of every result.
    """

    __slots__ = ("_core",)

    def __init__(
        self,
        *,
        packs: Iterable[Path] = (),
        rule_dirs: Iterable[Path] = (),
        required_packs: Iterable[str] = (),
        standard_rules: bool = True,
        standard_rules_dir: Path | None = None,
        environment: bool = False,
        log: Log | None = None,
    ) -> None:
        _arguments.switch("standard_rules", standard_rules)
        if standard_rules_dir is not None and not standard_rules:
            raise Error(
                "standard_rules_dir: given, and standard_rules is False; leave one of them out",
                "standard_rules_dir",
            )
        folder = (
            ""
            if standard_rules_dir is None
            else _arguments.path("standard_rules_dir", standard_rules_dir)
        )
        self._core = _core.open_host(
            (
                _arguments.paths("packs", packs),
                _arguments.paths("rule_dirs", rule_dirs),
                _arguments.texts("required_packs", required_packs),
                standard_rules,
                folder,
                _arguments.switch("environment", environment),
            ),
            _to_callable(log),
        )

    def edit(
        self,
        registration: Registration,
        *,
        profile: str = "native",
        purpose: Purpose = "prefix",
        pass_ungrouped: bool = False,
        recurrent_rows: Literal["tight", "page"] = "tight",
    ) -> Result:
        """From facts to proved views and pages. Touches no tensor memory; other threads run meanwhile.

        profile: the shape in which the views are wanted; ``docs/architecture.md``, "Profiles".
        purpose: ``prefix`` (blocks are found again by token prefix) or ``transfer`` (a running
            request moves).
        pass_ungrouped: leave caches of no group alone instead of reporting ``missing-spec``.
        recurrent_rows: profile ``lmcache`` only: rows of states ``tight``, or the whole ``page``.

        A wrong registration raises nothing: ask ``result.ok`` or call ``raise_for_problems``.
        """
        given = _core_of(registration)
        _check_choices(profile, purpose, pass_ungrouped, recurrent_rows)
        core = self._core.edit(given, profile, purpose, pass_ungrouped, recurrent_rows)
        return Result._of(core, registration)

    def edit_live(
        self,
        kv_cache_config: Any,
        kv_caches: Mapping[str, Any],
        *,
        layout: Any = None,
        vllm_config: Any = None,
        profile: str = "native",
        purpose: Purpose = "prefix",
        pass_ungrouped: bool = False,
        recurrent_rows: Literal["tight", "page"] = "tight",
    ) -> tuple[Result, dict[str, Any] | None]:
        """`Registration.from_vllm`, `edit` and `Result.views` in one, reading each tensor once.

        Gives the result and its views; no views when the result is not ok. Imports torch.
        """
        _check_choices(profile, purpose, pass_ungrouped, recurrent_rows)
        facts = facts_of(kv_cache_config, kv_caches, layout, vllm_config, None)
        torch = sys.modules.get("torch") or import_module("torch")
        registration, result, views = self._core.edit_live(
            facts, profile, purpose, pass_ungrouped, recurrent_rows, torch
        )
        return Result._of(result, Registration._of(registration)), views

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Packs refused or missing."""
        return tuple(Problem._make(each) for each in self._core.problems())

    def report(self) -> dict[str, Any]:
        """The rules in the order in which they are asked, and every pack found (``kvedit.rules/1``)."""
        found: dict[str, Any] = json.loads(self._core.rules())
        return found

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules, in the order in which they are asked."""
        return tuple(rule["id"] for rule in self.report()["rules"])

    def __repr__(self) -> str:
        return f"<kvedit.Host {len(self.rules)} rules, {len(self.problems)} problems>"
