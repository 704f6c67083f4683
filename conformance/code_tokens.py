"""Tokens of ten tasks with six reference servers: their own tools, ``search=True`` and code mode.

``python -m conformance.code_tokens`` prints the table of the guide's chapter "code". No model is
asked: each task is the turns that it takes, the calls are made for real, and the tokens of every
request (the definitions and the conversation so far) and of every answer are added up, a quarter
of the characters of their JSON each. An answer of code mode must hold the solution, and its
functions must be among those that were searched for.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcpclient
from conformance import peers
from mcpclient.adapters.limits import estimated_tokens

Calls = list[tuple[str, dict[str, Any]]]

SERVERS = ("everything-stdio", "filesystem", "memory", "git", "time", "fetch")
KINDS = ("tools", "search", "code")


@dataclass(frozen=True)
class Task:
    """A task: its turns of calls, the words to search for, the code, and the solution."""

    name: str
    turns: list[Calls]
    query: str
    code: str
    solution: str


def prepare(folder: Path) -> None:
    """Write the files that the tasks are about."""
    logs = folder / "logs"
    logs.mkdir()
    for number in range(12):
        lines = [
            f"2026-11-{day:02} 10:00:{number:02} "
            + ("ERROR the disk is full" if (day + number) % 10 == 0 else "INFO all is well")
            for day in range(1, 29)
        ]
        (logs / f"{number}.log").write_text("\n".join(lines * (1 + (number == 7))))
    tables = folder / "tables"
    tables.mkdir()
    for number in range(5):
        rows = [f"{row},item {row},{row * number}" for row in range(20)]
        (tables / f"{number}.csv").write_text("\n".join(["id,name,price", *rows]))
    people = [f"person {number},city {number % 7}" for number in range(20)]
    (folder / "people.csv").write_text("\n".join(people))
    for name, step in (("a", 2), ("b", 3)):
        (folder / f"{name}.txt").write_text("\n".join(f"line {n * step}" for n in range(300)))
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "-q", "-b", "main", "."], cwd=folder, check=True)
    for number in range(8):
        (folder / f"module_{number % 4}.py").write_text(f"value = {number}\n" * 20)
        subprocess.run([*git, "add", f"module_{number % 4}.py"], cwd=folder, check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"change {number}"], cwd=folder, check=True)


def tasks(folder: Path) -> list[Task]:
    """Return the ten tasks."""
    return [
        *_conversions(),
        _sum(),
        *_logs(folder),
        _commits(folder),
        _tables(folder),
        _people(folder),
        _replacing(folder),
        _comparing(folder),
    ]


READING = "tools.filesystem.read_text_file(path=path)['content']"


def _read(*paths: str) -> Calls:
    return [("filesystem__read_text_file", {"path": path}) for path in paths]


def _each_log(folder: Path) -> tuple[list[str], Calls, str]:
    """Return the paths of the logs, the call that lists them, and code that loops over them."""
    listing: Calls = [("filesystem__list_directory", {"path": f"{folder}/logs"})]
    loop = f"for path in [f'{folder}/logs/{{n}}.log' for n in range(12)]:\n"
    return [f"{folder}/logs/{number}.log" for number in range(12)], listing, loop


def _conversions() -> list[Task]:
    cities = ("London", "Paris", "Rome", "Berlin", "Madrid", "Vienna", "Athens", "Oslo", "Dublin")
    zones = [f"Europe/{city}" for city in cities]
    noon = {"source_timezone": "Asia/Tokyo", "time": "12:00"}
    return [
        Task(
            "one conversion of time",
            [[("time__convert_time", {**noon, "target_timezone": zones[0]})]],
            "convert time between time zones",
            f"tools.time.convert_time(target_timezone={zones[0]!r}, **{noon!r})['target']",
            "T03:00",
        ),
        Task(
            "nine conversions of time",
            [[("time__convert_time", {**noon, "target_timezone": zone}) for zone in zones]],
            "convert time between time zones",
            f"for zone in {cities!r}:\n"
            f"    found = tools.time.convert_time(target_timezone='Europe/' + zone, **{noon!r})\n"
            "    print(zone, found['target']['datetime'][11:16])",
            "Dublin 03:00",
        ),
    ]


def _sum() -> Task:
    return Task(
        "a sum of twelve numbers",
        [
            [("everything__get-sum", {"a": sum(range(1, number)), "b": number})]
            for number in range(2, 13)
        ],
        "sum of two numbers",
        "total = 1\n"
        "for number in range(2, 13):\n"
        "    text = tools.everything.get_sum(a=total, b=number)\n"
        "    total = int(text.rstrip('.').split()[-1])\n"
        "total",
        "78",
    )


def _logs(folder: Path) -> list[Task]:
    logs, listing, each_log = _each_log(folder)
    return [
        Task(
            "errors in twelve logs",
            [listing, _read(*logs)],
            "read a text file, list a directory",
            f"count = 0\n{each_log}    count += {READING}.count('ERROR')\ncount",
            str(sum(Path(path).read_text().count("ERROR") for path in logs)),
        ),
        Task(
            "the largest of twelve files",
            [listing, [("filesystem__get_file_info", {"path": path}) for path in logs]],
            "get information about a file: its size",
            f"sizes = {{}}\n{each_log}"
            "    text = tools.filesystem.get_file_info(path=path)['content']\n"
            "    sizes[path] = int(text.split('size: ')[1].split()[0])\n"
            "max(sizes, key=sizes.get)",
            "7.log",
        ),
    ]


def _commits(folder: Path) -> Task:
    revisions = subprocess.check_output(["git", "log", "--format=%H"], cwd=folder, text=True)
    return Task(
        "the commits that change a file",
        [
            [("git__git_log", {"repo_path": str(folder), "max_count": 8})],
            [
                ("git__git_show", {"repo_path": str(folder), "revision": revision})
                for revision in revisions.split()
            ],
        ],
        "git log and show of commits",
        "import re\n"
        f"log = tools.git.git_log(repo_path={str(folder)!r}, max_count=8)\n"
        "for revision in re.findall('[0-9a-f]{40}', log):\n"
        f"    shown = tools.git.git_show(repo_path={str(folder)!r}, revision=revision)\n"
        "    if 'module_2.py' in shown: print(revision[:8])",
        revisions.split()[1][:8],
    )


def _tables(folder: Path) -> Task:
    tables = [f"{folder}/tables/{number}.csv" for number in range(5)]

    def as_json(path: str) -> str:
        head, *rows = [line.split(",") for line in Path(path).read_text().splitlines()]
        return json.dumps([dict(zip(head, row)) for row in rows])

    return Task(
        "five tables to JSON",
        [
            _read(*tables),
            [
                (
                    "filesystem__write_file",
                    {"path": f"{path}.json", "content": as_json(path)},
                )
                for path in tables
            ],
        ],
        "read a text file, write a file",
        "import csv, json\n"
        f"for path in [f'{folder}/tables/{{n}}.csv' for n in range(5)]:\n"
        f"    rows = list(csv.DictReader({READING}.splitlines()))\n"
        "    tools.filesystem.write_file(path=path + '.json', content=json.dumps(rows))\n"
        "'written'",
        "written",
    )


def _people(folder: Path) -> Task:
    people = [line.split(",") for line in Path(folder, "people.csv").read_text().splitlines()]
    entities = [
        {"name": name, "entityType": "person", "observations": [city]} for name, city in people
    ]
    return Task(
        "twenty people remembered, one found",
        [
            _read(f"{folder}/people.csv"),
            [("memory__create_entities", {"entities": entities})],
            [("memory__search_nodes", {"query": "person 13"})],
        ],
        "read text file; create entities; search nodes of the graph",
        f"path = '{folder}/people.csv'\n"
        f"people = [line.split(',') for line in {READING}.splitlines()]\n"
        "tools.memory.create_entities(entities=[\n"
        "    {'name': name, 'entityType': 'person', 'observations': [city]}\n"
        "    for name, city in people])\n"
        "tools.memory.search_nodes(query='person 13')['entities']",
        "city 6",
    )


def _replacing(folder: Path) -> Task:
    logs, listing, each_log = _each_log(folder)
    return Task(
        "a word replaced in twelve files",
        [
            listing,
            _read(*logs),
            [
                (
                    "filesystem__edit_file",
                    {
                        "path": path,
                        "edits": [{"oldText": "2026-11-01 10", "newText": "first of November, 10"}],
                    },
                )
                for path in logs
            ],
        ],
        "edit a text file",
        f"{each_log}"
        "    edit = {'oldText': '2026-11-02 10', 'newText': 'second of November, 10'}\n"
        "    tools.filesystem.edit_file(path=path, edits=[edit])\n"
        "'edited'",
        "edited",
    )


def _comparing(folder: Path) -> Task:
    return Task(
        "two long lists compared",
        [_read(f"{folder}/a.txt", f"{folder}/b.txt")],
        "read a text file",
        "def lines(path):\n"
        f"    return set({READING}.splitlines())\n"
        f"len(lines('{folder}/a.txt') & lines('{folder}/b.txt'))",
        "100",
    )


async def spent(box: mcpclient.Toolbox, task: Task, kind: str) -> tuple[int, str]:
    """Make the calls of a task, and return its tokens and the last results."""
    messages: list[Any] = [{"role": "user", "content": f"Please: {task.name}."}]
    tokens, last = 0, ""
    for number, calls in enumerate([*turns_of(task, kind), []]):
        tokens += estimated_tokens(json.dumps([list(box.tools), messages]))
        answer: list[dict[str, Any]] = [
            {
                "type": "function_call",
                "call_id": f"call_{number}_{place}",
                "name": name,
                "arguments": json.dumps(arguments),
            }
            for place, (name, arguments) in enumerate(calls)
        ]
        if not calls:
            answer = [{"role": "assistant", "content": f"It is done: {task.solution}."}]
        tokens += estimated_tokens(json.dumps(answer))
        results = await box.run({"output": answer}, timeout=60) if calls else []
        failed = [each["output"] for each in results if each["output"].startswith("Tool error")]
        assert not failed, failed
        if kind == "code" and number == 0:
            used = set(re.findall(r"tools\.\w+\.\w+", task.code))
            shown = re.findall(r"tools\.\w+\.\w+", results[0]["output"])
            assert used.issubset(shown), used.difference(shown)
        last = "\n".join(each["output"] for each in results) or last
        messages += [*answer, *results]
    return tokens, last


def turns_of(task: Task, kind: str) -> list[Calls]:
    """Return the calls of a model that has its tools in one of the three ways."""
    if kind == "tools":
        return task.turns
    search: Calls = [("search_tools", {"query": task.query})]
    if kind == "code":
        return [search, [("run_python", {"code": task.code})]]
    wrapped = [
        [("call_tool", {"name": name, "arguments": given}) for name, given in calls]
        for calls in task.turns
    ]
    return [search, *wrapped]


async def measured() -> dict[str, dict[str, int]]:
    """Return the tokens of each task, by kind. Raises `SandboxUnavailable`."""
    options: Mapping[str, Any] = {
        "search": {"search": True},
        "code": {"code": mcpclient.CodeMode()},
    }
    found: dict[str, dict[str, int]] = {}
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            await _measure(kind, Path(folder), options.get(kind, {}), found)
    return found


async def _measure(
    kind: str, folder: Path, options: Mapping[str, Any], found: dict[str, dict[str, int]]
) -> None:
    prepare(folder)
    servers: dict[str, Any] = {}
    for name in SERVERS:
        command = peers.command(name)
        assert command is not None, f"python -m conformance.peers install {name}"
        extra = [str(folder)] if name == "filesystem" else []
        servers[name.partition("-")[0]] = mcpclient.ServerConfig(
            name.partition("-")[0],
            target=[*command, *extra],
            options={
                "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
                "cwd": str(peers.TOP),
            },
        )
    async with mcpclient.connect_all(servers, required=True, stderr="discard") as manager:
        for task in tasks(folder):
            box = manager.toolbox("openai_responses", **options)
            tokens, last = await spent(box, task, kind)
            assert kind != "code" or task.solution in last, (task.name, last)
            found.setdefault(task.name, {})[kind] = tokens


def table(found: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the lines of the table, with a sum at its end."""
    lines = ["| task | all tools | `search=True` | `code=CodeMode()` |", "|---|---|---|---|"]
    total = {kind: sum(row[kind] for row in found.values()) for kind in KINDS}
    for name, row in [*found.items(), ("all ten", total)]:
        cells = " | ".join(f"{round(row[kind], -2):,}" for kind in KINDS)
        lines.append(f"| {name} | {cells} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table(asyncio.run(measured()))))
