"""``python -m conformance.peers list`` and ``python -m conformance.peers install [NAME ...]``."""

from __future__ import annotations

import argparse
import sys

from conformance import peers
from conformance.peers.install import install_all


def main() -> int:
    """Run one command; 1 means that something could not be installed."""
    parser = argparse.ArgumentParser(prog="python -m conformance.peers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="show what can be installed, and what is")
    installing = commands.add_parser("install", help="install everything, or what is named")
    installing.add_argument("names", nargs="*", metavar="NAME", default=peers.environments())
    arguments = parser.parse_args()
    if arguments.command == "list":
        return show()
    unknown = set(arguments.names) - set(peers.environments())
    if unknown:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    install_all(arguments.names)
    return int(any(name in peers.problems for name in arguments.names))


def show() -> int:
    for environment in peers.environments():
        state = "installed" if peers.is_installed(environment) else "not installed"
        print(f"{environment:14} {state}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
