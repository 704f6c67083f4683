"""Subscriptions: the events a client asks for, and those that have come.

Source: the "Subscriptions" page of revision 2026-07-28; for the handshake era, the pages of tools,
prompts and resources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..jsonrpc.codec import weight_of
from ..jsonrpc.messages import RequestId, plain_id
from .tasks import Task
from .wire_object import object_in, string_at, strings_in, value_at

SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
"""The member of ``_meta`` in which a notification names the request that asked for it."""


@dataclass(frozen=True)
class ListenEvent:
    """An event for a listener. An unknown notification is a plain `ListenEvent`.

    ``method`` of the notification, and ``raw``, its params as the server sent them.
    """

    method: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def subject(self) -> str:
        """The subject of the event within its kind; of two alike only the later one matters."""
        return self.method


class ToolsChanged(ListenEvent):
    """The list of tools has changed."""


class PromptsChanged(ListenEvent):
    """The list of prompts has changed."""


class ResourcesChanged(ListenEvent):
    """The list of resources, or of their templates, has changed."""


class ResourceUpdated(ListenEvent):
    """A resource has changed: the one subscribed to, or a part of it."""

    @property
    def uri(self) -> str:
        """The URI of the resource."""
        return string_at(self.raw, "uri") or ""

    @property
    def subject(self) -> str:
        """The URI of the resource, as two updates of one are alike."""
        return self.uri


class TaskChanged(ListenEvent):
    """A task has changed."""

    @property
    def task(self) -> Task:
        """The task as it is now."""
        return Task(self.raw)

    @property
    def subject(self) -> str:
        """The id of the task."""
        return self.task.id


class EventsMissed(ListenEvent):
    """Events may have been lost: whatever is listened for may have changed.

    Comes when the stream had to be opened again, and when more different events waited than a
    listener keeps.
    """


_EVENTS: dict[str, type[ListenEvent]] = {
    "notifications/tools/list_changed": ToolsChanged,
    "notifications/prompts/list_changed": PromptsChanged,
    "notifications/resources/list_changed": ResourcesChanged,
    "notifications/resources/updated": ResourceUpdated,
    "notifications/tasks": TaskChanged,
    "notifications/tasks/status": TaskChanged,
}


def event_of(method: str, params: Mapping[str, Any]) -> ListenEvent:
    """Return a notification as the event of its kind."""
    return _EVENTS.get(method, ListenEvent)(method, params)


@dataclass(frozen=True)
class ListenFilter:
    """The events a client asks for, or those the server has agreed to send.

    ``tools``, ``prompts``, ``resources``: changes of these lists. ``uris``: updates of these
    resources. ``tasks``: changes of the tasks with these ids.
    """

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    uris: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != ListenFilter()

    def __str__(self) -> str:
        wanted = [(name, value) for name, value in vars(self).items() if value]
        return ", ".join(
            name if value is True else f"{name} {' '.join(value)}" for name, value in wanted
        )

    def to_wire(self) -> dict[str, Any]:
        """Return the ``notifications`` param of ``subscriptions/listen``."""
        wanted = [(_WIRE[name], value) for name, value in vars(self).items() if value]
        return {key: value if value is True else list(value) for key, value in wanted}

    @classmethod
    def from_wire(cls, value: object) -> ListenFilter:
        """Read the ``notifications`` of an acknowledgement; what makes no sense is not granted."""
        wire = value if isinstance(value, Mapping) else {}
        return cls(
            tools=wire.get("toolsListChanged") is True,
            prompts=wire.get("promptsListChanged") is True,
            resources=wire.get("resourcesListChanged") is True,
            uris=tuple(strings_in(wire.get("resourceSubscriptions"))),
            tasks=tuple(strings_in(wire.get("taskIds"))),
        )

    @classmethod
    def offered(cls, capabilities: Mapping[str, Any]) -> ListenFilter:
        """Return the list changes that a server of the handshake era announces."""
        tools, prompts, resources = [
            object_in(capabilities.get(subject)).get("listChanged") is True
            for subject in ("tools", "prompts", "resources")
        ]
        return cls(tools, prompts, resources)

    def without(self, granted: ListenFilter) -> ListenFilter:
        """Return the part of this filter that was not granted."""
        return ListenFilter(
            self.tools and not granted.tools,
            self.prompts and not granted.prompts,
            self.resources and not granted.resources,
            tuple(uri for uri in self.uris if uri not in granted.uris),
            tuple(task for task in self.tasks if task not in granted.tasks),
        )

    def wants(self, event: ListenEvent) -> bool:
        """Whether this filter asks for an event that names no subscription.

        An update may name a part of the resource subscribed to, by whatever URI; so any update is
        wanted where one is.
        """
        if isinstance(event, ResourceUpdated):
            return bool(self.uris)
        if isinstance(event, TaskChanged):
            return event.task.id in self.tasks
        return type(event) in _LISTS and getattr(self, _LISTS[type(event)])


# The changes of lists, which are gathered, and the field of a filter that asks for each.
_LISTS: dict[type[ListenEvent], str] = {
    ToolsChanged: "tools",
    PromptsChanged: "prompts",
    ResourcesChanged: "resources",
}
_WIRE = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
    "uris": "resourceSubscriptions",
    "tasks": "taskIds",
}


class Stream:
    """One ``subscriptions/listen`` request: which notifications are its own.

    ``acknowledged``: the events that the server agreed to report, None before that.
    """

    def __init__(self, request_id: RequestId, wanted: ListenFilter) -> None:
        self.request_id = request_id
        self.acknowledged: ListenFilter | None = None
        self._wanted = wanted

    def take(self, method: str, params: Mapping[str, Any]) -> ListenEvent | None:
        """Return the event of a notification for this subscription; None for other ones.

        A notification that names no subscription belongs to all that asked for its kind.
        """
        subscription = value_at(params, ("_meta", SUBSCRIPTION_ID))
        if method == "notifications/subscriptions/acknowledged":
            if self._is_own(subscription) and self.acknowledged is None:
                self.acknowledged = ListenFilter.from_wire(params.get("notifications"))
            return None
        event = event_of(method, params)
        own = self._wanted.wants(event) if subscription is None else self._is_own(subscription)
        return event if own else None

    def ended_by(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether a notification ends this subscription, as servers on stdio may do."""
        return method == "notifications/cancelled" and self._is_own(params.get("requestId"))

    def _is_own(self, request_id: object) -> bool:
        return plain_id(request_id) == plain_id(self.request_id)


class ChangePace:
    """The pace of reports about a changing list: gathered, and rarer the longer changes go on.

    The official TypeScript SDK gathers for 300 ms as well. Some servers announce a change after
    every listing; whoever lists again at each report would list thousands of times a second.
    """

    GATHERING = 0.3
    """Seconds in which changes become one report."""

    LONGEST_PAUSE = 30.0
    """Seconds between two reports at most."""

    def __init__(self) -> None:
        self._pause = self.GATHERING
        self._reported = -math.inf

    def due(self, now: float) -> float:
        """Return when a change at ``now`` is to be reported, on the clock of ``now``."""
        if now - self._reported > 2 * self._pause:
            self._pause = self.GATHERING
        return max(now + self.GATHERING, self._reported + self._pause)

    def reported(self, now: float) -> None:
        """Let the next report wait longer, unless there is no change for twice that time."""
        self._reported = now
        self._pause = min(2 * self._pause, self.LONGEST_PAUSE)


class Backlog:
    """Events that wait for their consumer, each kind and subject once, the latest of it.

    So no change is lost on a slow consumer, and a chatty server costs no memory. Past ``limit``
    different ones, or ``max_weight`` bytes of them, all give way to one `EventsMissed`. Changes of
    lists wait as `ChangePace` says.
    """

    def __init__(self, limit: int = 1000, max_weight: int = 16 * 1024 * 1024) -> None:
        self._limit = limit
        self._max_weight = max_weight
        self._weight = 0
        self._waiting: dict[tuple[type[ListenEvent], str], tuple[ListenEvent, int]] = {}
        self._due: dict[type[ListenEvent], float] = {}
        self._paces = {kind: ChangePace() for kind in _LISTS}

    def put(self, event: ListenEvent, now: float) -> None:
        """Add an event, or let it take the place of an earlier one like it."""
        kind, key = type(event), (type(event), event.subject)
        weight = weight_of(event.raw, self._max_weight)
        replaced = self._waiting[key][1] if key in self._waiting else 0
        is_full = key not in self._waiting and len(self._waiting) >= self._limit
        if is_full or self._weight + weight - replaced > self._max_weight:
            self._waiting.clear()
            self._weight = weight = replaced = 0
            event = EventsMissed()
            key = (EventsMissed, event.subject)
        elif key not in self._waiting and kind in self._paces:
            self._due[kind] = self._paces[kind].due(now)
        self._weight += weight - replaced
        self._waiting[key] = event, weight

    def take(self, now: float) -> ListenEvent | None:
        """Remove and return the oldest event that is due, None without one; at infinity all are."""
        for kind, subject in self._waiting:
            if self._due.get(kind, now) <= now:
                if kind in self._paces:
                    self._paces[kind].reported(now)
                event, weight = self._waiting.pop((kind, subject))
                self._weight -= weight
                return event
        return None

    @property
    def next_due(self) -> float:
        """Return the time at which the next event is due; ``math.inf`` where none waits."""
        return min((self._due.get(kind, -math.inf) for kind, _ in self._waiting), default=math.inf)
