# Each option that the help of a command lists is in the manual page and in each shell's script.
attn-cli help --man | sed 's/\\-/-/g' >man
for shell in bash zsh fish; do attn-cli completion $shell >$shell; done

n=0
commands=$(attn-cli --help | sed -n "/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p")
for command in $commands; do
    for option in $(attn-cli help "$command" | sed -nE 's/^ +(-., )?--([a-z-]+).*/\2/p'); do
        sed -n "/^\.SH COMMAND $command$/,/^\.SH/p" man | grep -q -- "--$option\\\\" || echo "man: $command $option"
        grep -F "'$command option')" bash | grep -qE -- "[ ']--$option[ ']" || echo "bash: $command $option"
        sed -n "/^ *$command) _arguments/,/;;/p" zsh | grep -q -- "--$option[=}[]" || echo "zsh: $command $option"
        grep "'__attn_cli_is $command'" fish | grep -q -- " -l $option " || echo "fish: $command $option"
        n=$((n + 1))
    done
done
[ $n -gt 30 ] || echo "only $n options"
