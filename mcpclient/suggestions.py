"""Suggestions for an unknown name: the known name that is most similar."""

from __future__ import annotations

from collections.abc import Iterable

# Comparing takes quadratic time, and names come from servers, models and files.
_MAX_CHARACTERS = 80
_MAX_NAMES = 20


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return "did you mean …?" for a name that is similar to a known one, otherwise "".

    ``prefix``: printed before the known name.
    """
    from difflib import get_close_matches

    spelled = {each[:_MAX_CHARACTERS].lower(): each for each in known}
    similar = get_close_matches(name[:_MAX_CHARACTERS].lower(), spelled, n=1)
    return f"did you mean {prefix + spelled[similar[0]]!r}?" if similar else ""


def there_is_no(
    kind: str, name: str, known: Iterable[str], where: str = "", otherwise: str = ""
) -> str:
    """Return the message for an unknown name, with the most similar known one.

    ``where``: the place that lacks the name, as in "in .mcp.json". ``otherwise``: the hint when
    no known name is similar.
    """
    place = f" {where}" if where else ""
    hint = did_you_mean(name, known) or otherwise
    return f"there is no {kind} {name!r}{place}" + (f"; {hint}" if hint else "")


def there_are(known: Iterable[str]) -> str:
    """Return the known names as a sentence, for use when none of them is similar."""
    names = list(known)
    if len(names) < 2:
        return f"there is only {names[0]}" if names else "there are none"
    return f"there are {', '.join(names[:_MAX_NAMES])}" + (", …" * (len(names) > _MAX_NAMES))
