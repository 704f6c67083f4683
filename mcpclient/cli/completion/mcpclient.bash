# mcpclient completion for bash: eval "$(mcpclient completion bash)"
# The names come from files in the current folder: they are inserted quoted, so that none is
# expanded. Names of files are completed by bash itself, which quotes those.
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
