"""The configuration file that a command writes to."""

from __future__ import annotations

import argparse
import os

from ..net.paths import absolute_path, config_folder


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which file is meant."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        *("--scope",),
        choices=("project", "user"),
        default="project",
        help="the file of this project, .mcp.json (the default), or of this user",
    )
    group.add_argument("--config", metavar="FILE", help="another file, of any application")


def file_named(options: argparse.Namespace) -> str:
    """Return the path of the file."""
    if options.config is not None:
        return str(options.config)
    if options.scope == "user":
        return str(config_folder(os.environ) / "mcp.json")
    return absolute_path(".mcp.json")
