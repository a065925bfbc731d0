#!/usr/bin/env bash
# make_reference.sh - writes the help of each command and topic into build/reference/commands and topics, and the functions of C
# into c.md. Links lead where they do on the site, from cmd/manual/reference.
set -eu
cd "$(dirname "$0")/../.."
tool=${BUILD:-build/release}/attn-cli
made=build/reference
rm -rf "$made"
mkdir -p "$made"

# The names below HEADING of the program's help.
list_names() { "$tool" --help | sed -n "/^$1:/,/^\$/s/^  \([a-z]*\) .*/\1/p"; }

write_page() { # FOLDER NAME TITLE ARGUMENT...
    mkdir -p "$made/$1"
    {
        printf '# %s\n\n' "$3"
        printf '```text\n'
        "$tool" "${@:4}"
        printf '```\n\n[Commands and topics](../commands.md) · [Contents](../../README.md)\n'
    } >"$made/$1/$2.md"
}

{
    printf '# Commands and topics\n\n| command | |\n|---|---|\n'
    for command in $(list_names Commands); do
        write_page commands "$command" "attn-cli $command" "$command" --help-all
        printf '| [%s](commands/%s.md) | %s |\n' "$command" "$command" "$("$tool" help "$command" | sed -n '1s/^[^:]*: //p')"
    done
    printf '\n| topic | |\n|---|---|\n'
    for topic in $(list_names Topics); do
        write_page topics "$topic" "attn-cli help $topic" help "$topic"
        printf '| [%s](topics/%s.md) | %s |\n' "$topic" "$topic" "$("$tool" help "$topic" | sed -n '1s/^[^:]*: //p')"
    done
    printf '\n[Contents](../README.md)\n'
} >"$made/commands.md"

tests/tools/list_functions.sh >"$made/c.md"
