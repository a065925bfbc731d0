#!/usr/bin/env bash
# make_reference.sh - writes the help of each command and topic into cmd/manual/reference/commands and topics, and the functions
# of C into c.md.
#
#   make_reference.sh            writes the files
#   make_reference.sh --check    compares them; 1 if one differs
set -eu
cd "$(dirname "$0")/../.."
tool=${BUILD:-build/release}/attn-cli
reference=cmd/manual/reference
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# The names below HEADING of the program's help.
list_names() { "$tool" --help | sed -n "/^$1:/,/^\$/s/^  \([a-z]*\) .*/\1/p"; }

write_page() { # FOLDER NAME TITLE
    mkdir -p "$made/$1"
    {
        printf '# %s\n\n' "$3"
        printf '```text\n'
        "$tool" help "$2"
        printf '```\n\n[Commands and topics](../commands.md) · [Contents](../../README.md)\n'
    } >"$made/$1/$2.md"
}

{
    printf '# Commands and topics\n\n`make reference` writes these pages from the program.\n\n| command | |\n|---|---|\n'
    for command in $(list_names Commands); do
        write_page commands "$command" "attn-cli $command"
        printf '| [%s](commands/%s.md) | %s |\n' "$command" "$command" "$("$tool" help "$command" | sed -n '1s/^[^:]*: //p')"
    done
    printf '\n| topic | |\n|---|---|\n'
    for topic in $(list_names Topics); do
        write_page topics "$topic" "attn-cli help $topic"
        printf '| [%s](topics/%s.md) | %s |\n' "$topic" "$topic" "$("$tool" help "$topic" | sed -n '1s/^[^:]*: //p')"
    done
    printf '\n[Contents](../README.md)\n'
} >"$made/commands.md"

tests/tools/list_functions.sh >"$made/c.md"

if [ "${1-}" = --check ]; then
    status=0
    for path in c.md commands commands.md topics; do
        diff -rq "$made/$path" "$reference/$path" || status=1
    done
    [ $status = 0 ] || echo "make reference renews $reference"
    exit $status
fi
rm -rf "${reference:?}/commands" "$reference/topics"
cp -r "$made"/* "$reference"
