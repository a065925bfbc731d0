#!/usr/bin/env bash
# check_notes.sh - reads the note of the version that is released next, .packaging/notes/MAJOR.MINOR.PATCH.md, and runs its commands.
#
#   check_notes.sh TOOL      runs each `attn-cli ...` of "Breaking" and "New" in an empty folder; it must end with 0
#   check_notes.sh           reads it only: its length, its headings, a command in each line of "New"; prints its path
#
# "Breaking" has a table of what is old and what is new, of which the command in the last column is run.
set -eu
cd "$(dirname "$0")/.."
version=$(.packaging/facts.sh versions | sed -nE 's/^header ([0-9.]+[0-9]).*/\1/p')
note=.packaging/notes/$version.md
headings='Breaking New Numbers that changed Security Not yet'

fail() {
    printf 'check_notes.sh: %s\n' "$@" >&2
    exit 1
}
section() { awk -v wanted="## $1" '/^## / { inside = $0 == wanted; next } inside' "$note"; }

[ -s "$note" ] || fail "'$note' is missing: a release has a note, written by hand"
[ "$(wc -l <"$note")" -le 60 ] || fail "$note has $(wc -l <"$note") lines, expected at most 60"
found=$(sed -n 's/^## //p' "$note" | paste -sd ' ')
[ "$found" = "$headings" ] || fail "$note has the headings '$found', expected '$headings'"
without=$(section New | grep '^- ' | grep -vE '`attn-cli [^`]+`' || :)
[ -z "$without" ] || fail "$note, New: a line without a command: $without"
[ "$(section New | grep -c '^- ')" -le 10 ] || fail "$note, New has more than ten lines"
[ $# -gt 0 ] || { echo "$note" && exit; }

tool=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/empty"
ln -s "$tool" "$work/bin/attn-cli"
n=0
while IFS= read -r command; do
    (cd "$work/empty" && PATH=$work/bin:$PATH bash -c "$command" >"$work/out" 2>&1 </dev/null) ||
        fail "$note: $command" "$(tail -n 3 "$work/out")"
    n=$((n + 1))
done < <({ section New | grep '^- ' && section Breaking | sed -n 's/^|.*|\([^|]*\)|$/\1/p'; } | grep -oE '`attn-cli [^`]+`' | tr -d '`')
echo "check-notes: $note, $(wc -l <"$note") lines, $n commands ran"
