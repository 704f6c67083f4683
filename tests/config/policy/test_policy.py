"""F-MANY-9, F-SAFE-6: the judgement over one server, and what may come with an allowed command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mcpclient.auth.options import Endpoints, OAuth
from mcpclient.config.config import ServerConfig
from mcpclient.config.policy.policy import Policy, folder_of, is_plain_variable
from mcpclient.config.policy.rules import NameRule
from mcpclient.errors import UsageError
from tests.support.tables import each_row


def server(target: Any, name: str = "x", **fields: Any) -> ServerConfig:
    return ServerConfig(name, target=target, **fields)


def is_allowed(policy: Policy, target: Any, name: str = "x", **fields: Any) -> bool:
    return policy.judge(server(target, name, **fields)).allowed


def test_deny_wins_and_tells_the_rule() -> None:
    """F-MANY-9: deny wins; the reason and the rule are given."""
    rule = NameRule("x")
    policy = Policy(allow=["name:*"], deny=[rule])
    verdict = policy.judge(server(["npx"]))
    assert (verdict.allowed, verdict.rule) == (False, rule)
    assert verdict.reason == "denied by the rule name:x"
    assert repr(policy) == "Policy(allow=['name:*'], deny=['name:x'])"


def test_both_what_is_written_and_what_is_connected_to_are_judged() -> None:
    """F-MANY-9: judged before and after expansion."""
    deny = Policy(deny=["url:https://evil.com/*", "command:evil"])
    assert not is_allowed(deny, "https://evil.com/", written="https://${HOST}/")
    assert not is_allowed(deny, "https://good.com/", written="https://evil.com/${A}")
    assert not is_allowed(deny, ["good"], written=["evil", "${A}"])
    allow = Policy(allow=["url:https://*.corp.com/*"])
    assert is_allowed(allow, "https://a.corp.com/", written="${BASE}/")
    assert not is_allowed(allow, "https://evil.com/", written="https://a.corp.com/${A}")


def test_a_path_of_its_own_does_not_hide_a_denied_program(tmp_path: Path) -> None:
    """F-MANY-9: a link on the ``PATH`` of the entry is a name of the program, too."""
    program = tmp_path / "evil"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "good").symlink_to(program)
    options = {"env": {"Path": str(tmp_path)}}
    assert not is_allowed(Policy(deny=["command:evil"]), ["good"], options=options)


@each_row("name", ["PATH", "Path", "NODE_OPTIONS", "LD_PRELOAD", "npm_config_x"])
def test_variables_that_change_what_a_command_runs(name: str) -> None:
    """F-MANY-9: an allowed command with a PATH of its own is another command."""
    env: dict[str, Any] = {"options": {"env": {"A_TOKEN": "b", name: "/tmp/evil"}}}
    verdict = Policy(allow=["command:npx *"]).judge(server(["npx", "a"], **env))
    assert not verdict.allowed
    assert name in verdict.reason
    assert "/tmp/evil" not in verdict.reason
    assert is_allowed(Policy(allow=["name:x"]), ["npx", "a"], **env)


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


@each_row("auth", LOGINS.values())
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


def test_a_url_that_cannot_be_judged_is_denied() -> None:
    verdict = Policy().judge(server("https://good.com\\@evil.com/"))
    assert not verdict.allowed
    assert "cannot be judged" in verdict.reason


TARGETS: list[Any] = [
    *("npx -y evil", 'sh -c "npx evil"', {"command": "npx", "args": ["evil"]}, ("npx", "evil")),
    {"mcpServers": {"a": {"command": ["npx", "evil"]}}},
]


@each_row("target", TARGETS)
def test_a_target_made_in_code_is_judged_as_it_is_connected_to(target: Any) -> None:
    """F-MANY-9"""
    assert not is_allowed(Policy(deny=["command:npx evil"]), target)
    assert not is_allowed(Policy(allow=["command:npx good"]), target)
    assert is_allowed(Policy(deny=["command:npx other"]), target)


@each_row("rules", ["name:x", {"serverName": "x"}, 3, [3], ["x"]])
def test_a_list_that_cannot_be_read_is_an_error(rules: Any) -> None:
    """F-MANY-9"""
    with pytest.raises(UsageError):
        Policy(allow=rules)
    with pytest.raises(UsageError):
        Policy(deny=rules)
    with pytest.raises(UsageError):
        Policy.from_settings({"deniedMcpServers": rules})


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


@each_row("name", STEERING)
def test_a_variable_that_may_change_what_runs(name: str) -> None:
    """F-SAFE-6, F-MANY-9: only known data may come with an allowed command."""
    assert not is_plain_variable(name, "x")


@each_row(
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
