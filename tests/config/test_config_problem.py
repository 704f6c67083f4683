"""Problems as values."""

from __future__ import annotations

from mcpclient.config.config import Problem


def test_a_problem_says_where_and_what_to_do() -> None:
    """F-MANY-7: file, line, server, field, hint."""
    problem = Problem("warning", "is odd", "/p/.mcp.json", 3, "github", "env.A", "write it so")
    assert str(problem) == "/p/.mcp.json:3: warning: github.env.A: is odd (write it so)"
    assert str(Problem("error", "is not JSON", "/p/.mcp.json")) == (
        "/p/.mcp.json: error: is not JSON"
    )
