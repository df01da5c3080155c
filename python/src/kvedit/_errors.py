"""The one exception of kvedit, and what is wrong with a registration."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Problem(NamedTuple):
    """One finding; ``docs/formats.md``, "Problems" and "Problem codes"."""

    severity: str
    """``error`` or ``warning``; one error, and nothing is served."""
    code: str
    group: int | None
    layer: str | None
    """The first layer concerned."""
    rule: str | None
    message: str
    """Names layer, group, rule, the numbers compared and what to do."""
    facts: Mapping[str, int | str]

    def __str__(self) -> str:
        return f"{self.severity} {self.code}: {self.message}"


class Error(ValueError):
    """Everything that kvedit refuses.

    ``problems`` has what is wrong with a registration that could be read; it is empty where an input
    or an option could not be read at all, and then ``where`` has the JSON pointer, the path or the
    option.
    """

    def __init__(self, message: str, where: str = "", problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.where = where
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[Error], tuple[str, str, tuple[Problem, ...]]]:
        return type(self), (str(self), self.where, self.problems)
