"""What a server asks, and a login needs, answered by whoever sits before the page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Any, Callable

from ..auth.url_guard import host_of
from ..client.answers.elicitation import Elicitation, form_problem
from ..client.answers.sampling import Sampling
from ..errors import UsageError
from ..protocol.elicitation import ElicitationRequest
from ..protocol.sampling import SamplingRequest
from .board import Board


class Questions:
    """Puts questions on the board and waits for the page to answer them.

    Give a client its `elicitation` and `sampling`, and the page answers for it. A question
    that nobody waits for any more, as when its call was cancelled, is taken away.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._problems: dict[str, Callable[[Any], str | None]] = {}
        self._count = 0
        self._logins: dict[str, asyncio.Task[Any]] = {}

    @property
    def elicitation(self) -> Elicitation:
        """The option ``elicitation`` of a client."""
        return Elicitation(form=self._ask_form, url=self._ask_visit)

    @property
    def sampling(self) -> Sampling:
        """The option ``sampling`` of a client."""
        return Sampling(self._ask_model, tools=True)

    async def ask(
        self,
        kind: str,
        server: str,
        facts: Mapping[str, Any],
        problem_with: Callable[[Any], str | None] | None = None,
    ) -> Any:
        """Show a question and return the answer to it, whatever that is.

        An answer that has a problem, by ``problem_with``, is refused, and the question stays.
        """
        self._count += 1
        name = str(self._count)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[name] = answer
        if problem_with is not None:
            self._problems[name] = problem_with
        self.board.put("question", name, {"kind": kind, "server": server, **facts})
        try:
            return await answer
        finally:
            del self._waiting[name]
            self._problems.pop(name, None)
            self.board.put("question", name, None)

    def answer(self, name: str, answer: Any) -> None:
        """Answer a question. Raises `UsageError` when nobody waits for that, or it does not fit."""
        waiting = self._waiting.get(name)
        if waiting is None or waiting.done():
            raise UsageError("this question has been answered, or nobody asks it any more")
        problem = self._problems[name](answer) if name in self._problems else None
        if problem is not None:
            raise UsageError(f"the answer does not fit the form: {problem}")
        waiting.set_result(answer)

    async def _ask_form(self, request: ElicitationRequest) -> Any:
        facts = {"message": request.message, "schema": request.schema}
        return await self.ask("form", request.server, facts, partial(form_problem, request))

    async def _ask_visit(self, request: ElicitationRequest) -> Any:
        facts = {
            "message": request.message,
            "url": request.url,
            "host": request.host,
            "warnings": request.url_warnings,
        }
        return await self.ask("visit", request.server, facts)

    async def _ask_model(self, request: SamplingRequest) -> Any:
        return await self.ask("sampling", request.server, {"request": dict(request.raw)})

    def show_login(self, server: str, url: str) -> Awaitable[bool]:
        """Show where to log in to a server, for a `BrowserLogin`; the visitor opens the address.

        It is shown until the task that calls this method ends. The result is always True.
        """
        # Not `async`: `BrowserLogin` calls this in the task of the login, and awaits the result in
        # a task of its own, which ends long before the login does.
        self.board.put("login", server, {"url": url, "host": host_of(url)})
        login = asyncio.current_task()
        assert login is not None
        self._logins[server] = login
        login.add_done_callback(lambda login: self._login_ended(server, login))
        return asyncio.sleep(0, True)

    def _login_ended(self, server: str, login: asyncio.Task[Any]) -> None:
        if self._logins.get(server) is login:  # and there is no other by now
            del self._logins[server]
            self.board.put("login", server, None)
