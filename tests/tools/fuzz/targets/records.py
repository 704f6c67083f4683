"""Any JSON as any object of the protocol: every property can be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from mcpclient.errors import McpError
from mcpclient.protocol import elicitation, listen, negotiation, sampling, skills, tasks, types
from mcpclient.protocol.caching import CACHEABLE, MAX_LIFETIME, ResponseCache, key_of, lifetime_of
from mcpclient.protocol.wire_object import WireObject

from ..inputs import json_lines_of

RECORDS: tuple[Callable[[dict[str, Any]], WireObject], ...] = (
    *(
        kind
        for kind in vars(types).values()
        if isinstance(kind, type) and issubclass(kind, WireObject) and kind is not WireObject
    ),
    types.content_block,
    tasks.Task,
    elicitation.ElicitationRequest,
    sampling.SamplingRequest,
    sampling.SamplingMessage,
    skills.Skill,
    skills.SkillFile,
)


def target(data: bytes) -> None:
    raw = json_lines_of(data, 1)[0]
    if not isinstance(raw, dict):
        return
    for make in RECORDS:
        read_all(make(raw))
    check_requests(raw)
    check_tasks(raw)
    check_cache(raw)


def read_all(record: WireObject) -> None:
    for name in dir(record):
        if not name.startswith("__"):
            getattr(record, name)


def check_requests(raw: dict[str, Any]) -> None:
    with suppress(McpError):
        elicitation.check_request(elicitation.ElicitationRequest(raw), {"form": {}, "url": {}})
    with suppress(McpError):
        sampling.check_request(sampling.SamplingRequest(raw), tools=True)
    problem = elicitation.content_problem(raw)
    assert problem is None or problem
    for method in ("notifications/resources/updated", "notifications/tasks", "other"):
        read = listen.event_of(method, raw)
        assert isinstance(read.subject, str)
    listen.ListenFilter.from_wire(raw).to_wire()
    listen.ListenFilter.offered(raw)


def check_tasks(raw: dict[str, Any]) -> None:
    task = tasks.created_task(raw) or tasks.Task(raw)
    polling = tasks.Polling()
    for _ in range(3):
        assert polling.MIN_INTERVAL <= polling.delay(task) <= polling.MAX_ASKED_INTERVAL
    assert tasks.polling_seconds(task) > 0
    tasks.related_task_of(raw)
    types.task_support_of(raw)
    negotiation.declares(raw, "a", "b")


def check_cache(raw: dict[str, Any]) -> None:
    assert 0 <= lifetime_of(raw) <= MAX_LIFETIME
    cache = ResponseCache(entries=2, size=10_000)
    for method in CACHEABLE:
        key = key_of(method, raw)
        if key is not None:
            cache.keep(key, "me", raw, 0.0)
            found = cache.find(key, "me", 0.0)
            assert found is None or json.dumps(found) == json.dumps(raw)
    assert len(cache) <= 2
    cache.notified("notifications/resources/updated", raw)
