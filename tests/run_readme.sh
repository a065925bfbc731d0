#!/usr/bin/env bash
# run_readme.sh - runs the ```console blocks of README.md, so that the README cannot drift.
#
# In such a block a line that starts with `$ ` is a command, lines that start with `> ` continue it,
# and the rest is what a terminal would show. All blocks run in one folder, in order, where models/
# and data/ of the checkout are at hand. LINE is that of a command: those before it are run, because
# it may need what they made, and only its own output is compared.
#
#   run_readme.sh [LINE]
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh

root=$PWD
tool=$(realpath "$build")
only=${1-}
line_number=0 command_line=0
in_block=no command='' expected=''
mkdir "$scratch/folder"
ln -s "$root/models" "$root/data" "$scratch/folder"

# Runs the command that was read and compares what it printed.
finish_command() {
    [ -n "$command" ] && [ "$command_line" -le "${only:-$command_line}" ] || return
    (
        cd "$scratch/folder" || exit 1
        exec env -i PATH="$tool:/usr/local/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 TERM=dumb \
            timeout 120 bash -c "$command" </dev/null >"$scratch/seen" 2>&1
    )
    printf '%s' "$expected" >"$scratch/expected"
    [ "$command_line" -ge "${only:-0}" ] || return
    if diff -a -u --label "README.md:$command_line: expected" --label "README.md:$command_line: seen" \
        "$scratch/expected" "$scratch/seen"; then
        pass
    else
        fail "tests/run_readme.sh $command_line"
    fi
}

while IFS= read -r line; do
    line_number=$((line_number + 1))
    if [ $in_block = no ]; then
        [ "$line" = '```console' ] && in_block=yes
    elif [ "$line" = '```' ]; then
        finish_command
        in_block=no command=''
    elif [[ $line == '$ '* ]]; then
        finish_command
        command=${line#'$ '} command_line=$line_number expected=''
    elif [[ $line == '> '* && -z $expected ]]; then
        command+=$'\n'${line#'> '}
    else
        expected+=$line$'\n'
    fi
done <README.md

finish readme
