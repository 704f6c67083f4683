"""``mcpclient completion``: a script for a shell that completes words.

The scripts run ``mcpclient __complete SHELL``, which completes commands, options and servers, and
the tools, arguments and values of servers whose tools were listed in this folder before.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..errors import McpError, UsageError
from ..framing.escaping import escape_line
from ..lazy import OnDemand
from .command import Answer, AnyCommand, LocalCommand, LocalWork
from .main import COMMANDS, command_named
from .parsing import parser_of
from .screen import Screen
from .shell.completion import argument_candidates, typing_at

if TYPE_CHECKING:
    from ..net import session_sockets
    from . import configured, help, tools
else:
    session_sockets = OnDemand("..net.session_sockets", __name__)
    configured = OnDemand(".configured", __name__)
    help = OnDemand(".help", __name__)
    tools = OnDemand(".tools", __name__)

# The names come from files in the current folder, so no shell may expand them: bash inserts them
# quoted (printf %q), and completes file names by itself, which quotes those.
_BASH = """\
# mcpclient completion for bash: eval "$(mcpclient completion bash)"
_mcpclient() {
    local name= quoted=
    COMPREPLY=()
    while IFS= read -r name; do
        printf -v quoted %q "$name"
        COMPREPLY+=("$quoted")
        if [[ $name == *= ]]; then compopt -o nospace 2>/dev/null; fi
    done < <(mcpclient __complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o default -F _mcpclient mcpclient
"""

_ZSH = """\
# mcpclient completion for zsh: eval "$(mcpclient completion zsh)"
_mcpclient() {
    local -a found
    found=(${(f)"$(mcpclient __complete zsh "${(j: :)words[1,CURRENT]}" 2>/dev/null)"})
    compadd -S '' -- ${(M)found:#*=}
    compadd -- ${found:#*=}
    if (( CURRENT > 2 )); then _files; fi
}
compdef _mcpclient mcpclient
"""

_FISH = """\
# mcpclient completion for fish: mcpclient completion fish | source
complete -c mcpclient -n __fish_use_subcommand -f
complete -c mcpclient -a '(mcpclient __complete fish (commandline -cp | string collect))'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_TOPICS = {
    "audit": ("verify", "show"),
    "auth": ("login", "finish", "logout", "status"),
    "completion": tuple(_SCRIPTS),
}


def complete(arguments: Sequence[str]) -> str:
    """Return the completions at the end of a command line, one per line.

    ``arguments``: the name of the shell, and the line up to the cursor.
    """
    shell, line = arguments
    typing = typing_at(line, len(line))
    found = dict.fromkeys(_candidates([word.text for word in typing.words[1:]], typing.word))
    # Bash replaces only the text after the last of these characters.
    skipped = max(typing.word.rfind(each) + 1 for each in "=:") if shell == "bash" else 0
    fitting = (each for each in found if each.startswith(typing.word))
    return "".join(f"{escape_line(each)[skipped:]}\n" for each in fitting)


def _candidates(words: Sequence[str], word: str) -> Iterable[str]:
    if not words:
        return COMMANDS
    if words[0] not in COMMANDS or "--" in words:
        return ()
    command = command_named(words[0])
    parser = parser_of(command)
    for action in parser._actions:
        if words[-1] in action.option_strings and action.choices is not None:
            return action.choices
    if word.startswith("-"):
        return [option for action in parser._actions for option in action.option_strings]
    options, others = parser.parse_known_args([*words[1:]])
    return _words_of(command, options, [*getattr(options, "words", ()), *others], word)


def _words_of(
    command: AnyCommand, options: argparse.Namespace, words: Sequence[str], word: str
) -> Iterator[str]:
    """Yield the words that may follow these positional words of a command."""
    if not words:
        yield from _TOPICS.get(command.name, ())
        if command.name == "help":
            yield from (*help.CHAPTERS, *COMMANDS)
        if command.takes_server or command.name in ("remove", "lock"):
            yield from (f"@{name}" for name in session_sockets.session_names(os.environ))
            names = configured.load(options.config).servers
            yield from (name for name in names if not name.startswith("-"))
        return
    if command.name not in ("call", "tools"):
        return
    options.named = [words[0]]
    known = {tool.name: tool for tool in tools.remembered_tools(options)}
    if len(words) == 1:
        yield from known
    elif command.name == "call" and words[1] in known:
        schema = known[words[1]].input_schema
        yield from (each.text for each in argument_candidates(schema, words[2:], word))


def print_candidates(arguments: Sequence[str]) -> str:
    """Return the result of `complete`, or "" on any error: the user is still typing."""
    try:
        return complete(arguments)
    except (McpError, ValueError):
        return ""


@LocalCommand(
    "completion",
    usage="[OPTION ...] bash | zsh | fish",
    details='In ~/.bashrc or ~/.zshrc: eval "$(mcpclient completion bash)", or zsh. For fish: '
    "mcpclient completion fish > ~/.config/fish/completions/mcpclient.fish",
)
def _prepare(options: argparse.Namespace) -> LocalWork:
    words: list[str] = options.words
    if len(words) != 1 or words[0] not in _SCRIPTS:
        raise UsageError("completion is for one of: bash, zsh, fish")
    script = _SCRIPTS[words[0]]

    async def work(screen: Screen) -> Answer:
        return Answer({"script": script}, script.rstrip("\n"))

    return work
