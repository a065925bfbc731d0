#!/usr/bin/env bash
# check_windows.sh - runs the tool for Windows, with wine or on Windows itself: same_bits.sh, tests/cli without the cases of
# windows_skips, which it names with their reasons, and paths, arguments and output as Windows has them.
#
#   check_windows.sh PROGRAM [FOLDER|FILE|FILE:CASE]...    attn-cli.exe; what of tests/cli, default all
set -u
cd "$(dirname "$0")/../.." || exit 1
program=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- tests/cli
folder=$PWD/build/windows
status=0

say() { printf 'check-windows: %s\n' "$*"; }
fail() { say "FAILED: $*" && status=1; }

# The folder of the tool that run_cli.sh puts in PATH: the one of Windows, or a script that calls wine.
mkdir -p "$folder"
realpath --relative-to="$folder" . >"$folder/attn-cli.source"
case $(uname -s) in
MINGW* | MSYS* | CYGWIN*) cp "$program" "$folder/attn-cli.exe" && run=("$folder/attn-cli.exe") ;;
*)
    wine=$(command -v wine64 || command -v wine || echo /usr/lib/wine/wine64)
    [ -x "$wine" ] || { say 'skipped, there is no wine' && exit 0; }
    printf '%s\n' '#!/bin/sh' "WINEDEBUG=-all WINEPREFIX='$folder/prefix' exec '$wine' '$program' \"\$@\"" >"$folder/attn-cli"
    chmod +x "$folder/attn-cli"
    run=("$folder/attn-cli")
    "${run[@]}" --version >/dev/null 2>&1 # makes the prefix
    ;;
esac
say "$("${run[@]}" --version)"
tests/tools/same_bits.sh "${run[0]}" || fail 'same_bits.sh'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints what COMMAND gives, on both streams, as run in $work; \ in the text stands for itself.
seen() { (cd "$work" && "${run[@]}" "$@" 2>&1); }
expect() { # NAME EXPECTED SEEN
    [ "$3" = "$2" ] && return
    fail "$1: expected '$2', got '$3'"
}

here=$(seen run -m fable --heads 1.0 --csv - 'The keys')
cp -R models/tiny-gpt2 "$work/tiny"
mkdir "$work/in ä中" "$work/long"
cp -R models/tiny-gpt2 "$work/in ä中/tiny"
plain=$(seen run -m tiny --heads 1.0 --csv - 'The keys')
[[ $here != *$'\r'* ]] || fail 'output has CR'
expect 'a folder with a backslash' "$plain" "$(seen run -m '.\tiny' --heads 1.0 --csv - 'The keys')"
expect 'a folder with letters and a space' "$plain" "$(seen run -m 'in ä中\tiny' --heads 1.0 --csv - 'The keys')"
if [ -x "$folder/attn-cli" ]; then
    expect 'a drive' "$plain" "$(seen run -m "Z:${work//\//\\}\\tiny" --heads 1.0 --csv - 'The keys')"
    expect 'a drive among settings' "$(seen run -m tiny --steer 'resid_pre:1=v.npy' 'The keys' | head -c 60)" \
        "$(seen run -m tiny --steer "resid_pre:1=Z:${work//\//\\}\\v.npy" 'The keys' | sed 's|Z:[^'\'']*v.npy|v.npy|' | head -c 60)"
fi

# Files in folders, with both slashes and names of letters; what is written before replaces nothing else.
seen run -m fable --heads 1.0 --csv 'in ä中\out' --json 'in ä中\a.json' --svg 'in ä中/b.svg' 'The keys' >/dev/null
for file in a.json b.svg out/L01H00.pattern.csv; do
    [ -s "$work/in ä中/$file" ] || fail "'in ä中\\$file' is not there"
done
seen run -m fable --heads 1.0 --json 'in ä中\a.json' 'The doors' >/dev/null
grep -q doors "$work/in ä中/a.json" || fail 'a file is not replaced'
expect 'temporary files' '' "$(find "$work" -name '.attn-*')"

# Names that Windows has not.
for name in nul.json 'ab:c.json' 'a?.json' 'con' 'dir/aux.json' 'a.'; do
    expect "the name '$name'" "attn-cli: error: cannot write '$name': Windows has no file of this name" \
        "$(seen run -m fable --heads 1.0 --json "$name" 'The keys' | grep error)"
done

# A path of more than 260 characters, whose folders exist.
part=$(printf 'x%.0s' {1..100})
mkdir -p "$work/long/$part/$part"
seen run -m fable --heads 1.0 --json "long/$part/$part/$part.json" 'The keys' >/dev/null
[ -s "$work/long/$part/$part/$part.json" ] || fail 'a long path is not written'

# What Windows lacks, with what to do instead.
[[ $(seen run -m fable --heads 1.0 --png a.png 'The keys') == *--svg* ]] || fail '--png does not name --svg'

# Lists of paths have semicolons.
expect 'a list of paths' "$plain" "$(ATTN_CLI_MODEL_PATH='.\none;.' seen run -m tiny --heads 1.0 --csv - 'The keys')"

skips=()
while read -r name reason; do
    [[ -z $name || $name = \#* ]] || { skips+=("tests/cli/$name") && echo "skipped tests/cli/$name: $reason"; }
done <tests/tools/windows_skips
ATTN_SKIP_TESTS="${skips[*]}" ATTN_LACKS='drawing pictures terminal' BUILD=$folder CASE_SECONDS=${CASE_SECONDS:-300} \
    tests/run_cli.sh "$@" || fail 'tests/cli'
exit $status
