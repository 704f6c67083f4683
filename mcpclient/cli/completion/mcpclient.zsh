# mcpclient completion for zsh: eval "$(mcpclient completion zsh)"
_mcpclient() {
    local -a found
    found=(${(f)"$(mcpclient __complete zsh "${(j: :)words[1,CURRENT]}" 2>/dev/null)"})
    compadd -S '' -- ${(M)found:#*=}
    compadd -- ${found:#*=}
    if (( CURRENT > 2 )); then _files; fi
}
compdef _mcpclient mcpclient
