"""The script of a faulty server: all as it should be, but for one fault at one step."""

from __future__ import annotations

import asyncio
from functools import partial

from tests.faults.faulty_peers.faults import FAULTS, Delivery, duplicate, reorder
from tests.faults.faulty_peers.wire import Wire
from tests.support.mcp_server import Json, McpServer

_OPENING = ("initialize", "server/discover")
_FORM = {"type": "object", "properties": {"size": {"type": "string"}}}
_QUESTION = {"mode": "form", "message": "Which size?", "requestedSchema": _FORM}
_REQUEST = {"jsonrpc": "2.0", "id": 99, "method": "elicitation/create", "params": _QUESTION}


class Script:
    """One server. Its fault strikes once, at ``step``; after that it is a good server.

    ``runs``: how many executions of the tool call of that step the client has asked for.
    ``due``: what the fault was given to send, for a client that asks for it again.
    """

    def __init__(self, era: str, step: str, fault: str) -> None:
        self.step = step
        self.fault = FAULTS[fault]
        self.mcp = McpServer(era)
        self.runs = 0
        self.struck = False
        self.due: list[Delivery] = []
        self.channel: Wire | None = None
        self._held: list[Delivery] = []
        self._subscription: tuple[Wire, Json] | None = None

    def strike(self, due: list[Delivery]) -> None:
        """Apply the fault to the message that is due."""
        self.struck = True
        self.due = due
        self.fault(due)

    def strikes_at(self, step: str) -> bool:
        """Whether this is the step, and the fault has not struck yet."""
        return step == self.step and not self.struck

    def receive(self, message: Json, wire: Wire) -> None:
        """Receive a message of the client's; answers go to ``wire``."""
        method = message.get("method")
        arguments = (message.get("params") or {}).get("arguments") or {}
        if method == "tools/call" and arguments.get("fault"):
            self.runs += 1
            self._take_call(message, wire)
        elif method == "subscriptions/listen":
            self._take_subscription(message, wire)
        elif method == "vendor/change":
            self._take_change(wire)
        elif method in _OPENING and (self.strikes_at("open") or self.strikes_at("probe")):
            self.strike(self._answer(message, wire))
        elif method is None and self.strikes_at("answer"):
            self._take_answer(wire)
        elif self._strikes_at_notification(method):
            self.strike([Delivery(wire, _notification("vendor/notice"))])
        else:
            self.mcp.receive(message, wire.deliver)

    def _strikes_at_notification(self, method: str | None) -> bool:
        return (self.strikes_at("initialized") and method == "notifications/initialized") or (
            self.strikes_at("notify") and method == "vendor/note"
        )

    def _answer(self, message: Json, wire: Wire) -> list[Delivery]:
        """The immediate answers of the server."""
        due: list[Delivery] = []
        self.mcp.receive(message, lambda reply: due.append(Delivery(wire, reply)))
        return due

    # The call

    def _take_call(self, message: Json, wire: Wire) -> None:
        due = self._answer_of_call(message, wire)
        if self.struck:
            for each in due:
                each.wire.deliver(each.message)
        elif self.step == "request":
            self._held += due
            if len(self._held) == (2 if self.fault is reorder else 1):
                self.strike(self._held)
        elif self.step == "stream":
            due[0].wire.send(due[0].message)
            if self.channel is None:
                self.strike(due[1:])
            else:  # on another connection, which the client could read first
                asyncio.get_running_loop().call_later(0.001, self.strike, due[1:])
        elif self.step == "ask":
            self._ask(message, due)
        elif self.step == "answer":
            self._held = due
            (self.channel or due[0].wire).send(_REQUEST)

    def _answer_of_call(self, message: Json, wire: Wire) -> list[Delivery]:
        side = self.channel or wire
        return [
            Delivery(side if "method" in each.message else wire, each.message)
            for each in self._answer(message, wire)
        ]

    def _ask(self, message: Json, due: list[Delivery]) -> None:
        params = message["params"]
        if "inputResponses" in params:
            self.strike(due)
        elif self.mcp.era == "stateless":
            question = {"method": "elicitation/create", "params": _QUESTION}
            result = {"resultType": "input_required", "inputRequests": {"size": question}}
            due[0].wire.deliver({"jsonrpc": "2.0", "id": message["id"], "result": result})
        else:
            self._ask_beside(due)

    def _ask_beside(self, due: list[Delivery]) -> None:
        """Ask with a request of the server's own, and strike while the client thinks."""
        wire = self.channel or due[0].wire
        if self.channel is not None or self.fault in (duplicate, reorder):
            self.strike([Delivery(wire, _REQUEST), *due])
        else:
            wire.send(_REQUEST)
            self.strike(due)

    def _take_answer(self, wire: Wire) -> None:
        """Strike at the receipt of the client's answer; where there is none, at the call's own."""
        if wire is self._held[0].wire:
            self.strike(self._held)
        else:
            self.strike([Delivery(wire, _notification("vendor/notice"))])
            self._held[0].wire.deliver(self._held[0].message)

    # Changes

    def _take_subscription(self, message: Json, wire: Wire) -> None:
        meta = {"io.modelcontextprotocol/subscriptionId": message["id"]}
        agreed = {"notifications": {"toolsListChanged": True}, "_meta": meta}
        agreement = _notification("notifications/subscriptions/acknowledged", agreed)
        change = _notification("notifications/tools/list_changed", {"_meta": meta})
        self._subscription = wire, change
        if self.strikes_at("listen") and self.fault is reorder:
            self.strike([Delivery(wire, agreement), Delivery(wire, change)])
            return
        wire.send(agreement)
        if self.struck:
            wire.send(change)

    def _take_change(self, wire: Wire) -> None:
        if self._subscription is not None:
            wire, change = self._subscription
        else:
            wire, change = self.channel or wire, _notification("notifications/tools/list_changed")
        if self.strikes_at("listen"):
            self.strike([Delivery(wire, change)])
        else:
            wire.send(change)

    def channel_opened(self, wire: Wire) -> None:
        """Use the client's own channel for messages the server sends unasked."""
        if self.struck:
            for each in self.due:
                if each.wire is self.channel:
                    wire.send(each.message)
        self.channel = wire

    def farewell(self, wire: Wire, otherwise: partial[None]) -> None:
        """Receive the client's goodbye."""
        if self.strikes_at("close"):
            self.strike([Delivery(wire, _notification("vendor/notice"))])
        else:
            otherwise()


def _notification(method: str, params: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params or {}}
