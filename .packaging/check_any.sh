#!/usr/bin/env bash
# check_any.sh - installs the wheel for other systems into an empty virtual environment, with PyPI's wasmtime, and compares
# its command with the tool of this machine: what it prints and the bytes that it writes.
#
#   check_any.sh WHEEL PYTHON
set -eu

wheel=$(realpath "$1") python=$2
tool=$(cd "$(dirname "$0")/.." && pwd)/build/release/attn-cli
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8

fail() {
    echo "check_any.sh: $*" >&2
    exit 1
}

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel" wasmtime # which it requires elsewhere
mkdir "$work/expected" "$work/seen"

compare() { # ARGUMENT...
    local status=0 found=0
    (cd "$work/expected" && "$tool" "$@" >screen 2>messages) || status=$?
    (cd "$work/seen" && "$work/venv/bin/attn-cli" "$@" >screen 2>messages) || found=$?
    [ $status -eq $found ] || fail "$* ends with $found, expected $status: $(cat "$work/seen/messages")"
    diff -r "$work/expected" "$work/seen" || fail "$* writes something else"
}

compare run 'Life is short, eat dessert first'
compare run -q --heads 2.6 --svg a.svg --npz a.npz --csv b --json a.json 'Life is short'
compare run -m interpreter --source 'The cat' '猫'
compare heads 'The keys to the cabinet are'
compare run -m "$work/nowhere" 'Life'
compare run --promt 'Life'
mkdir "$work/expected/in" "$work/seen/in"
echo 'Life is short' | tee "$work/expected/in/text" >"$work/seen/in/text"
compare run -f in/text
"$work/venv/bin/attn-cli" models | grep -q '^interpreter' || fail 'the models of the wheel are missing'
echo "check_any.sh: $(basename "$wheel"), $(($(stat -c %s "$wheel") / 1024)) KB, prints and writes what the tool does"
