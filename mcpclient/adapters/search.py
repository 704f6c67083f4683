"""When a model searches for tools instead of being shown all of them."""

from __future__ import annotations

import re

from ..errors import UsageError
from .definitions import ToolDefinitions

_SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")


class SearchRule:
    """Decides, once for a conversation, whether its tools are too many to be shown.

    ``search``: True or False; a number: more tools than that; ``"3%"``: more tokens than this share
    of ``context``, the tokens that the model reads at most.
    """

    def __init__(self, search: bool | int | str, context: int) -> None:
        self._most_tools = self._most_tokens = float("inf")
        if isinstance(search, str):
            share = _SHARE.fullmatch(search)
            if share is None or context <= 0:
                problem = f"search={search!r}, context={context!r}"
                raise UsageError(f'search takes a share of the context such as "3%", not {problem}')
            self._most_tokens = context * float(share[1]) / 100
        elif search is not False:
            self._most_tools = -1 if search is True else search
        self.is_possible: bool = search is not False
        self._decision: bool | None = None

    def applies(self, tools: ToolDefinitions) -> bool:
        """Whether to search among these tools; once there are some, the answer stays the same."""
        if self._decision is None:
            is_much = len(tools.defined) > self._most_tools or tools.tokens > self._most_tokens
            if not tools.defined:
                return is_much
            self._decision = is_much
        return self._decision
