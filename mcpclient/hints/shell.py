"""The spelling of options and calls on the command line."""

from __future__ import annotations

from .words import Speech

SHELL: Speech = {
    **{name: f"--{name.replace('_', '-')}" for name in ("ca_file", "cwd", "env", "max_timeout")},
    **{name: f"--{name}" for name in ("proxy", "timeout", "trace")},
    "auth": "--bearer",
    "token": "--bearer TOKEN",
    "agree": "Run it on a terminal to be asked, or vouch for the file with --config FILE.",
    "any_certificate": "--insecure accepts any",
    "apart": "Write the words of the command apart, without quotes around all of them.",
    "best_effort": "without --sandbox it has all of your rights",
    "bigger": "Ask for less at once, or call it from Python with a larger max_message_size.",
    "call_schema": "Compare the arguments with what this shows: mcpclient tools SERVER TOOL",
    "client_cert": "clientCert in its configuration",
    "connect": "Run the command again.",
    "connect_timeout": "--timeout",
    "credentials": (
        "Log in with another account, or give a token that may do this: --bearer TOKEN"
    ),
    "grant_network": "Grant it with --allow-network.",
    "grant_read": "Grant it with --allow-read '{0}'.",
    "grant_write": "Grant it with --allow-write '{0}'.",
    "handlers": "Answer it on a terminal, or say how with --elicit and --model.",
    "identify": "Give a token as --bearer TOKEN, or log in with: mcpclient auth login URL",
    "log_in": "Log in again: mcpclient auth login URL",
    "negotiate": "--negotiate",
    "proxy_negotiate": "--proxy-negotiate",
    "offers": "See the server's capabilities and tools with: mcpclient info SERVER",
    "or_retry": "",
    "resources": "See which resources the server has with: mcpclient resources SERVER",
    "url": "Give the URL itself, without -- before it: {0}",
    "visit": "Log in with: mcpclient auth login URL",
    "unchecked": "the other tools can be used meanwhile",
}
