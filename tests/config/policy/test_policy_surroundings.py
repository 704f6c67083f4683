"""F-SAFE-6: the variables and the folder that may come with an allowed command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpclient.config.config import ServerConfig
from mcpclient.config.policy.policy import folder_of, is_plain_variable

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
    *(
        "AWS_CONFIG_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "KUBECONFIG",
        "DATABASE_URL",
        "BASE_URL",
    ),
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
        *(
            ("GITHUB_TOKEN", "x"),
            ("API_KEY", "../x"),
            ("GEMINI_API_KEY", "x"),
            ("DB_PASSWORD", "$"),
        ),
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
