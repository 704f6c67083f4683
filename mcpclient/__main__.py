"""``python -m mcpclient``, and the console script of the same name."""

from __future__ import annotations

import atexit
import gc
import sys

# The commands that a session's process can run; others edit lines or serve a page.
_QUICK = (
    *("info", "tools", "call", "resources", "read"),
    *("prompts", "prompt", "complete", "ping", "listen"),
)


def main() -> int:
    """Run one command and return its exit code; ``verify`` needs no command line.

    A command for a running session runs in its process, so this one imports next to nothing.
    """
    try:
        if sys.argv[1:] == ["verify"]:
            return _verify()
        is_of_session = any(word[:1] == "@" for word in sys.argv[2:])
        if is_of_session and sys.argv[1] in _QUICK:
            from .sessions.front import run_in_session

            in_session: int | None = run_in_session(sys.argv[1:])
            if in_session is not None:
                return in_session
        if hasattr(gc, "freeze"):  # else it is not CPython
            # Collections find nothing while modules are imported, nor at the end, and would take
            # a tenth of a short command. So many new objects take a few megabytes.
            gc.set_threshold(50_000)
            atexit.register(gc.freeze)
        from .cli.main import main as run

        code: int = run()
        return code
    except Exception as error:
        from .errors import UsageError

        # The exceptions are loaded for one, since they take longer than all of ``--version``.
        if not isinstance(error, UsageError):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2


def _verify() -> int:
    """Verify this copy by a program that is compiled anew: bytecode may be anybody's."""
    import os
    from runpy import run_path

    program = os.path.join(os.path.dirname(__file__), "vendoring", "manifest.py")
    if not os.path.isfile(program):
        print("error: a copy in an archive has no files to verify: unpack it", file=sys.stderr)
        return 2
    code: int = run_path(program)["main"]()
    return code


if __name__ == "__main__":
    sys.exit(main())
