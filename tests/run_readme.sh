#!/usr/bin/env bash
# run_readme.sh - runs the ```console blocks of README.md, so that the README cannot drift.
#
# In such a block a line that starts with `$ ` is a command, lines that start with `> ` continue it,
# and the rest is what a terminal would show. All blocks run in one folder, in order, where models/
# and data/ of the checkout are at hand.
set -u
cd "$(dirname "$0")/.." || exit 1

root=$PWD
build=$(realpath "${BUILD:-build/release}")
passed=0 failed=0 line_number=0 block_line=0
in_block=no command='' expected=''
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/folder"
ln -s "$root/models" "$root/data" "$scratch/folder"

# Runs the command that was read and compares what it printed.
finish_command() {
    [ -n "$command" ] || return
    (
        cd "$scratch/folder" || exit 1
        exec env -i PATH="$build:/usr/local/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 TERM=dumb \
            timeout 120 bash -c "$command" </dev/null >"$scratch/seen" 2>&1
    )
    printf '%s' "$expected" >"$scratch/expected"
    if diff -a -u --label "README.md:$block_line: expected" --label "README.md:$block_line: seen" \
        "$scratch/expected" "$scratch/seen"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED README.md:%s: %s\n' "$block_line" "$command"
    fi
    command='' expected=''
}

while IFS= read -r line; do
    line_number=$((line_number + 1))
    if [ $in_block = no ]; then
        [ "$line" = '```console' ] && in_block=yes
    elif [ "$line" = '```' ]; then
        finish_command
        in_block=no
    elif [[ $line == '$ '* ]]; then
        finish_command
        command=${line#'$ '} block_line=$line_number
    elif [[ $line == '> '* && -z $expected ]]; then
        command+=$'\n'${line#'> '}
    else
        expected+=$line$'\n'
    fi
done <README.md

echo "readme: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
