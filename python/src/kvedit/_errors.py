"""The one exception of kvedit, and what is wrong with a registration."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _printable(text: str) -> str:
    """What of foreign text a terminal would obey is shown instead, as the program shows it."""
    from ._core import printable  # it needs this module

    return printable(text)


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
        return _printable(f"{self.severity} {self.code}: {self.message}")


class Error(ValueError):
    r"""Everything that kvedit refuses.

    ``problems`` has what is wrong with a registration that could be read; it is empty where an input
    or an option could not be read at all, and then ``where`` has the JSON pointer, the path or the
    option. Names from outside are shown in the message and never obeyed by a terminal: control and
    format characters are written as ``\x1b`` or ``\u202e``. ``where`` and the fields of the problems
    have them as they are.
    """

    def __init__(self, message: str, where: str = "", problems: Sequence[Problem] = ()) -> None:
        super().__init__("\n".join(map(_printable, str(message).split("\n"))))
        self.where = where
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[Error], tuple[str, str, tuple[Problem, ...]]]:
        return type(self), (str(self), self.where, self.problems)
