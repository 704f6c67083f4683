"""Problems as values."""

from __future__ import annotations

from mcpclient.config.problem import Problem, did_you_mean


def test_a_problem_says_where_and_what_to_do() -> None:
    """F-MANY-7: file, line, server, field, hint."""
    problem = Problem("warning", "is odd", "/p/.mcp.json", 3, "github", "env.A", "write it so")
    assert str(problem) == "/p/.mcp.json:3: warning: github.env.A: is odd (write it so)"
    assert str(Problem("error", "is not JSON", "/p/.mcp.json")) == (
        "/p/.mcp.json: error: is not JSON"
    )


def test_a_near_word_is_offered() -> None:
    assert did_you_mean("comand", ["command", "url"]) == "did you mean 'command'?"
    assert did_you_mean("HTTPURL", ["httpUrl"]) == "did you mean 'httpUrl'?"
    assert did_you_mean("zzz", ["command"]) == ""
