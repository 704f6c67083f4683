# mcpclient completion for fish: mcpclient completion fish | source
complete -c mcpclient -n __fish_use_subcommand -f
complete -c mcpclient -a '(mcpclient __complete fish (commandline -cp | string collect))'
