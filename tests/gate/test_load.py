"""F-MANY-7: files into a configuration: merged, judged, approved, expanded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpclient.config.config import Config
from mcpclient.config.policy.policy import Policy
from mcpclient.config.scopes import Place
from mcpclient.errors import UsageError
from mcpclient.gate import gate
from mcpclient.gate.gate import Approvals
from mcpclient.gate.load import load_config
from mcpclient.net.user_folders import config_folder
from tests.support.requirements import required

Write = Callable[[str, Any], Path]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = str(tmp_path / "home")
    return {"HOME": home, "USERPROFILE": home, "LOCALAPPDATA": f"{home}/.config", "A": "value"}


@pytest.fixture
def own(environ: dict[str, str]) -> str:
    """This library's own folder of settings."""
    return str(config_folder(environ))


@pytest.fixture(autouse=True)
def _nothing_of_this_machine(
    home: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=0))
        return path

    return write


def servers(**entries: Any) -> dict[str, Any]:
    return {"mcpServers": entries}


def states(config: Config) -> dict[str, str]:
    return {name: server.state for name, server in config.servers.items()}


def test_the_stronger_scope_counts_as_a_whole(
    write: Write, tmp_path: Path, environ: dict[str, str], own: str
) -> None:
    """F-MANY-7: plugin < user < project < local."""
    project = tmp_path / "p" / "sub"
    entry = {"command": "x"}
    write(f"{own}/plugins/one/.mcp.json", servers(a={"command": "plugin"}, e={"command": "e"}))
    write(
        "home/.claude.json",
        {
            **servers(a={"command": "user", "env": {"A": "b"}}, b=entry, c=entry, d=entry),
            "projects": {str(tmp_path / "p"): servers(d={"command": "local"})},
        },
    )
    write("p/.mcp.json", servers(b={"command": "outer"}, c={"command": "outer"}, d=entry))
    write("p/sub/.mcp.json", servers(c={"command": "inner"}))
    approvals = Approvals(lambda server: True)
    config = load_config(start=project, env=environ, approvals=approvals)
    assert {name: (server.scope, server.target) for name, server in config.servers.items()} == {
        "a": ("user", ["user"]),
        "b": ("project", ["outer"]),
        "c": ("project", ["inner"]),
        "d": ("local", ["local"]),
        "e": ("plugin", ["e"]),
    }
    assert "overrides, as a whole" in config.explain("a")
    assert config.servers["c"].options == {"cwd": str(project)}
    user = load_config(start=project, env=environ, scopes=["user"])
    assert {server.scope for server in user.servers.values()} == {"user"}


def test_a_broken_entry_does_not_uncover_another(
    write: Write, tmp_path: Path, environ: dict[str, str]
) -> None:
    """The user's own, that is: what stands in a project takes nothing away from the user."""
    project = str(tmp_path / "p")
    broken = servers(a={"comand": "x"})
    settings = {**servers(a={"command": "user"}), "projects": {project: broken}}
    write("home/.claude.json", settings)
    assert load_config(start=project, env=environ).servers == {}
    write("home/.claude.json", servers(a={"command": "user"}))
    write("p/.mcp.json", broken)
    config = load_config(start=project, env=environ)
    assert states(config) == {"a": "ready"}
    assert [problem.severity for problem in config.problems][-2:] == ["error", "warning"]


def test_what_a_policy_denies(write: Write) -> None:
    """F-MANY-9: as written, and with the values of its variables."""
    path = write(
        ".mcp.json",
        servers(
            evil={"command": "good"},
            written={"url": "https://evil.com/${A}"},
            expanded={"url": "https://${HOST}/"},
            good={"command": "good", "args": ["${A}"]},
            off={"command": "evil", "disabled": True},
        ),
    )
    policy = Policy(deny=["name:evil", "url:https://evil.com/*"])
    config = load_config(path, policy=policy, env={"HOST": "evil.com", "A": "value"})
    assert states(config) == {
        "evil": "denied",
        "written": "denied",
        "expanded": "denied",
        "good": "ready",
        "off": "disabled",
    }
    assert config.servers["expanded"].target == "https://${HOST}/"
    assert config.servers["expanded"].reason == "denied by the rule url:https://evil.com/*"
    assert config.servers["good"].target == ["good", "value"]
    assert "state: ready, nothing denies it" in config.explain("good")
    assert set(states(load_config(path, policy=Policy(allow=[]))).values()) == {
        "denied",
        "disabled",
    }


def test_the_lists_of_gemini(write: Write) -> None:
    path = write(
        ".gemini/settings.json",
        {
            **servers(a={"command": "x"}, b={"command": "y"}, c={"command": "$A"}),
            "mcp": {"allowed": ["a", "c"], "excluded": ["a"]},
        },
    )
    config = load_config(path, env={"A": "value"})
    assert states(config) == {"a": "denied", "b": "denied", "c": "ready"}
    assert config.servers["c"].target == ["value"]


def test_the_tools_that_opencode_switches_off(write: Write) -> None:
    """F-MANY-13"""
    path = write(
        "opencode.json",
        {
            "mcp": {name: {"type": "local", "command": [name]} for name in ("a", "b", "c")},
            "tools": {"a_delete*": False, "b*": False},
        },
    )
    config = load_config(path)
    assert [server.exclude for server in config.servers.values()] == [("delete*",), ("*",), ()]


def enterprise(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def place(name: str = path.name) -> Place | None:
        found = path.parent / name
        return Place(str(found), "enterprise") if os.path.lexists(found) else None

    monkeypatch.setattr(gate, "enterprise_place", place)


def test_the_enterprise_takes_over_alone(
    write: Write, tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-MANY-7, F-MANY-9: only its servers, filtered by its lists and by the caller's."""
    write("home/.claude.json", servers(u={"command": "x"}))
    write("p/.mcp.json", servers(p={"command": "x"}))
    managed = write("etc/managed-mcp.json", servers(a={"command": "x"}, b={"command": "y"}))
    enterprise(managed, monkeypatch)

    def loaded(policy: Policy | None = None) -> Config:
        return load_config(start=tmp_path / "p", env=environ, policy=policy)

    assert states(loaded()) == {"a": "ready", "b": "ready"}
    settings = write("etc/managed-settings.json", {"deniedMcpServers": [{"serverName": "a"}]})
    assert states(loaded()) == {"a": "denied", "b": "ready"}
    assert states(loaded(Policy(deny=["name:b"]))) == {"a": "denied", "b": "denied"}
    for content in ({"allowedMcpServers": [{"name": "a"}]}, "{", "[]"):
        settings.write_text(content if isinstance(content, str) else json.dumps(content))
        config = loaded()
        assert set(states(config).values()) == {"denied"}
        assert config.problems[0].file == str(settings)
    settings.unlink()
    managed.write_text('{"mcpServers": {}}')
    assert (loaded().servers, loaded().problems) == ({}, [])
    # The lists hold without servers of the enterprise as well.
    managed.unlink()
    settings.write_text('{"deniedMcpServers": [{"serverName": "u"}]}')
    assert states(loaded()) == {"u": "denied", "p": "needs_approval"}


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_to_what_was_agreed_to_starts_nothing_else(
    write: Write, tmp_path: Path, environ: dict[str, str]
) -> None:
    """F-MANY-7: it is the folder of the real file, as the agreement is."""
    good = write("good/.mcp.json", servers(a={"command": "./run"}))
    approvals = Approvals(lambda server: True)
    load_config(start=good.parent, env=environ, approvals=approvals)
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / ".mcp.json").symlink_to(good)
    server = load_config(start=tmp_path / "evil", env=environ).servers["a"]
    assert (server.state, server.options) == ("ready", {"cwd": str(good.parent)})


def test_folders_begin_at_the_project(write: Write, tmp_path: Path) -> None:
    write("p/.env", "B=file\n")
    write("p/.vscode/token", "text\n")
    path = write(
        "p/.vscode/mcp.json",
        {
            "servers": {
                "a": {
                    "command": "${workspaceFolder}/x",
                    "args": ["${workspaceFolderBasename}", "{file:token}"],
                    "cwd": "sub",
                    "envFile": "${workspaceFolder}/.env",
                }
            }
        },
    )
    server = load_config(path).servers["a"]
    project = os.path.realpath(tmp_path / "p") if os.name == "nt" else str(tmp_path / "p")
    assert server.target == [f"{project}/x", "p", "text"]
    assert server.options == {"env": {"B": "file"}, "cwd": os.path.join(project, "sub")}


URL = "https://x/mcp"


def local(value: str = "${A}", **more: Any) -> dict[str, Any]:
    return {**more, "command": "npx", "args": ["-y", "a b"], "env": {"K": value}}


def remote(value: str = "${A}", name: str = "url", **more: Any) -> dict[str, Any]:
    return {**more, name: URL, "headers": {"H": f"Bearer {value}"}}


def both(key: str, local: Any, remote: Any) -> dict[str, Any]:
    return {key: {"local": local, "remote": remote}}


SHAPES: dict[str, tuple[str, Any]] = {
    "Claude Code": ("p/.mcp.json", both("mcpServers", local(), remote(type="http"))),
    "Cursor": (
        "p/.cursor/mcp.json",
        both("mcpServers", local("${env:A}"), remote("${env:A}", transport="http")),
    ),
    "Gemini": ("p/.gemini/settings.json", both("mcpServers", local("$A"), remote("$A", "httpUrl"))),
    "Windsurf": (
        "p/mcp_config.json",
        both("mcpServers", local(), remote("${env:A}", "serverUrl", transport="http")),
    ),
    "Roo": ("p/.roo/mcp.json", both("mcpServers", local(), remote(type="streamable-http"))),
    "VS Code": (
        "p/.vscode/mcp.json",
        '{"inputs": [{"id": "k", "type": "promptString"}], // asked for\n"servers": '
        + json.dumps(
            {
                "local": local("${input:k}", type="stdio"),
                "remote": remote("${input:k}", type="http"),
            }
        )
        + ",}",
    ),
    "OpenCode": (
        "p/opencode.json",
        both(
            "mcp",
            {"type": "local", "command": ["npx", "-y", "a b"], "environment": {"K": "{env:A}"}},
            remote("{env:A}", type="remote"),
        ),
    ),
    "Zed": (
        "p/.zed/settings.json",
        both(
            "context_servers",
            {"command": {"path": "npx", "args": ["-y", "a b"], "env": {"K": "${A}"}}},
            remote(transport="http"),
        ),
    ),
    "Codex": (
        "p/.codex/config.toml",
        'model = "x"\n[mcp_servers.local]\ncommand = "npx"\nargs = ["-y", "a b"]\n'
        'env_vars = ["K"]\n[mcp_servers.remote]\nurl = "https://x/mcp"\n'
        'env_http_headers = { H = "BEARER" }\n',
    ),
    "Continue": (
        "p/.continue/mcpServers/a.yaml",
        "name: x\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: local\n    command: npx\n"
        '    args: ["-y", "a b"]\n    env:\n      K: ${A}\n  - name: remote\n'
        "    type: streamable-http\n    url: https://x/mcp\n    headers:\n      H: Bearer ${A}\n",
    ),
}


@pytest.mark.parametrize(("name", "content"), SHAPES.values(), ids=SHAPES)
def test_the_same_configuration_in_every_shape_gives_the_same_servers(
    name: str, content: Any, write: Write
) -> None:
    """F-MANY-7: every shape people have."""
    if name.endswith(".toml"):
        required("tomllib")
    environ = {"A": "value", "K": "value", "BEARER": "Bearer value"}
    config = load_config(write(name, content), env=environ, inputs={"k": "value"})
    assert config.problems == []
    local, remote = config.servers["local"], config.servers["remote"]
    assert (local.target, local.options) == (["npx", "-y", "a b"], {"env": {"K": "value"}})
    assert remote.target == URL
    assert remote.options["headers"] == {"H": "Bearer value"}
    # OpenCode and VS Code find out which HTTP transport it is.
    assert remote.options.get("transport", "http") == "http"
    assert states(config) == {"local": "ready", "remote": "ready"}


def test_two_entries_with_one_url_are_two_accounts_or_a_problem(write: Write) -> None:
    """F-SAFE-7: they share one login, unless each says whose it is, or has none."""
    url = "https://host.example/mcp"

    def found(**entries: Any) -> list[str | None]:
        servers = {name: {"url": url, **entry} for name, entry in entries.items()}
        config = load_config(write(".mcp.json", {"mcpServers": servers}))
        assert set(config.servers) == set(entries)
        return [each.server for each in config.problems if "share one login" in each.message]

    work, home = {"oauth": {"account": "work"}}, {"oauth": {"account": "home"}}
    assert found(a={}, b={}) == ["b"]
    assert found(a={"oauth": {"scopes": ["x"]}}, b={}, c={}) == ["b", "c"]
    assert found(a=work, b=home, c={}) == []
    assert found(a=work, b=work) == []
    assert found(a={"headers": {"Authorization": "Bearer x"}}, b={}) == []
    assert found(a={"url": "https://other.example/mcp"}, b={}) == []


def test_names_in_a_string_switch_nothing_on() -> None:
    """F-SAFE-1: ``evil`` is a part of ``my-evil-twin``."""
    with pytest.raises(UsageError, match="enabled must be a list of names"):
        load_config(enabled="my-evil-twin")


def test_an_unknown_scope() -> None:
    """F-MANY-7"""
    with pytest.raises(UsageError, match=r"'proyect'; did you mean 'project'\?"):
        load_config(scopes=["user", "proyect"])
    with pytest.raises(UsageError, match="there are plugin, user, project, local"):
        load_config(scopes=["zzz"])


SERVERS = {
    "github": {
        "command": "npx",
        "args": ["-y", "@modelcontextprotocol/server-github", "--key", "SECRET"],
        "env": {"GITHUB_TOKEN": "${TOKEN}", "B": "SECRET"},
        "timeout": 5,
        "include": ["a*"],
    },
    "slack": {
        "url": "https://u:SECRET@mcp.slack.com/v1?key=SECRET",
        "headers": {"Authorization": "SECRET"},
        "oauth": {"clientId": "SECRET"},
    },
    "broken": {"comand": "SECRET"},
}


def test_no_name_draws_over_what_the_user_reads(write: Write) -> None:
    """F-MANY-7: a name in one line may still hold signs that a terminal obeys."""
    name = "a\x9b2K\u202e"
    text = load_config(write(".mcp.json", servers(**{name: {"command": "x"}}))).explain(name)
    assert not {"\x9b", "\u202e"} & set(text)


def test_a_denied_server_is_not_asked_about(write: Write, tmp_path: Path) -> None:
    """F-MANY-9: the lists are about the entry as written, before the user or a value counts."""
    write("p/.mcp.json", servers(a={"command": "x"}))
    approvals = Approvals(lambda server: pytest.fail("the user is asked"))
    config = load_config(start=tmp_path / "p", policy=Policy(deny=["name:a"]), approvals=approvals)
    assert states(config) == {"a": "denied"}


def test_each_entry_is_told_with_its_place_and_no_secret(tmp_path: Path) -> None:
    """F-MANY-7: explain never holds a value of a variable or of a header."""
    path = tmp_path / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": SERVERS}, indent=1))
    config = load_config(path, env={"TOKEN": "SECRET"})
    texts = {name: config.explain(name) for name in SERVERS}
    assert not any("SECRET" in text for text in texts.values())
    assert texts["github"].splitlines() == [
        "github",
        f"  from: {path}:3 (scope file, read as a file of claude-code)",
        "  state: ready",
    ]
    assert texts["broken"].endswith("  state: not used, a server needs a command or a url")
