"""``mcpclient completion``: a script that lets a shell complete commands, options and servers."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from .command import Answer, LocalCommand, LocalWork
from .main import COMMANDS, command_named
from .parsing import options_of
from .screen import Screen

_NAMES = "mcpclient servers --names 2>/dev/null"

# The names come from files of the folder one stands in: no shell may expand them. So bash compares
# and inserts them as it would have them quoted, and completes files by itself, which quotes those.
_BASH = """\
# mcpclient completion for bash: eval "$(mcpclient completion bash)"
_mcpclient() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} options= name= quoted=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word"))
        return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
    case $word in
        -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
        *)
            [ "$COMP_CWORD" -eq 2 ] || return
            while IFS= read -r name; do
                printf -v quoted %q "$name"
                [[ $name != -* && $quoted == "$word"* ]] && COMPREPLY+=("$quoted")
            done < <({names})
            ;;
    esac
}}
complete -o default -F _mcpclient mcpclient
"""

_ZSH = """\
# mcpclient completion for zsh: eval "$(mcpclient completion zsh)"
_mcpclient() {{
    local -a commands names options
    if (( CURRENT == 2 )); then
        commands=(
{commands}
        )
        _describe command commands
        return
    fi
    case ${{words[2]}} in
{cases}
    esac
    if [[ ${{words[CURRENT]}} == -* ]]; then
        compadd -- $options
        return
    fi
    if (( CURRENT == 3 )); then
        names=(${{(f)"$({names})"}})
        compadd -- $names
    fi
    _files
}}
compdef _mcpclient mcpclient
"""

_FISH = """\
# mcpclient completion for fish: mcpclient completion fish | source
complete -c mcpclient -n __fish_use_subcommand -f
{lines}
complete -c mcpclient -n 'not __fish_use_subcommand' -a '({names})'
"""


def script_for(shell: str) -> str:
    """Return the script for ``bash``, ``zsh`` or ``fish``."""
    options = {name: options_of(command_named(name)) for name in COMMANDS}
    if shell == "bash":
        cases = [f'        {name}) options="{" ".join(each)}" ;;' for name, each in options.items()]
        return _BASH.format(commands=" ".join(COMMANDS), cases="\n".join(cases), names=_NAMES)
    if shell == "zsh":
        cases = [f"        {name}) options=({' '.join(each)}) ;;" for name, each in options.items()]
        commands = [f"            '{name}:{about}'" for name, about in COMMANDS.items()]
        return _ZSH.format(commands="\n".join(commands), cases="\n".join(cases), names=_NAMES)
    lines = [
        f"complete -c mcpclient -n __fish_use_subcommand -a {name} -d '{about}'"
        for name, about in COMMANDS.items()
    ]
    lines += [
        f"complete -c mcpclient -n '__fish_seen_subcommand_from {name}' {_fish_option(option)}"
        for name, each in options.items()
        for option in each
    ]
    return _FISH.format(lines="\n".join(lines), names=_NAMES)


def _fish_option(option: str) -> str:
    return f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"


def _prepare(options: argparse.Namespace) -> LocalWork:
    words: list[str] = options.words
    if len(words) != 1 or words[0] not in ("bash", "zsh", "fish"):
        raise UsageError("completion is for one of: bash, zsh, fish")
    script = script_for(words[0])

    async def work(screen: Screen) -> Answer:
        return Answer({"script": script}, script.rstrip("\n"))

    return work


COMMAND = LocalCommand(
    "completion",
    _prepare,
    usage="[OPTION ...] bash | zsh | fish",
    details=(
        'In ~/.bashrc or ~/.zshrc: eval "$(mcpclient completion bash)", or zsh. For fish: '
        "mcpclient completion fish > ~/.config/fish/completions/mcpclient.fish"
    ),
)
