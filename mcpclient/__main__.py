"""``python -m mcpclient``, and the console script of the same name."""

from __future__ import annotations

import atexit
import gc
import sys
from importlib import import_module

_PACKAGE = __spec__.parent if __spec__ is not None else "mcpclient"

# The commands that a session's process can run; others edit lines or serve a page.
_QUICK = (
    *("info", "tools", "call", "resources", "read"),
    *("prompts", "prompt", "complete", "ping", "listen"),
)


def main() -> int:
    """Run one command and return its exit code; ``verify`` needs no command line.

    A command for a running session runs in its process, so this one imports next to nothing.
    """
    if sys.argv[1:2] and sys.argv[1] in _QUICK and any(word[:1] == "@" for word in sys.argv[2:]):
        try:
            front = import_module(".net.session_front", _PACKAGE)
            in_session: int | None = front.run_in_session(sys.argv[1:])
            if in_session is not None:
                return in_session
        except ModuleNotFoundError:  # vendored without sessions
            pass
    if hasattr(gc, "freeze"):  # else it is not CPython
        # Collections find nothing while modules are imported, nor at the end, and would take a
        # tenth of a short command. So many new objects take a few megabytes.
        gc.set_threshold(20_000)
        atexit.register(gc.freeze)
    wanted = ".vendoring.manifest" if sys.argv[1:] == ["verify"] else ".cli.main"
    try:
        code: int = import_module(".lazy", _PACKAGE).import_part(wanted, _PACKAGE).main()
    except Exception as error:
        # The exceptions are loaded for one, since they take longer than all of ``--version``.
        if not isinstance(error, import_module(".errors", _PACKAGE).UsageError):
            raise
        print(f"error: {error}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
