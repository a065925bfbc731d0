#!/usr/bin/env bash
# check_static.sh - runs the tool of an archive of static.sh where there is nothing else, and in other
# distributions.
#
#   check_static.sh ARCHIVE [SUITE...]    SUITE: of Debian, made by debootstrap (bullseye, sid)
#
# Needs root for chroot. What cannot be had is named and skipped.
set -u

. "$(dirname "$0")/../tests/tools/debian.sh"

archive=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

say() { printf 'check-static: %s\n' "$*"; }
fail() { say "FAILED: $*"; failed=1; }

# Runs what users run first inside the folder ROOT, where the tool lies in /attn.
try() { # ROOT NAME
    local root=$1 name=$2 out
    mkdir -p "$root/attn" "$root/tmp"
    tar -C "$root/attn" --strip-components=1 -xzf "$archive"
    # shellcheck disable=SC2064
    inside() { chroot "$root" /attn/attn-cli "$@"; }
    inside --version >"$work/version" 2>&1 || fail "$name: --version: $(cat "$work/version")"
    inside run --sentence "Life is short, eat dessert first" >"$work/out" 2>"$work/err" ||
        fail "$name: run: $(cat "$work/err")"
    [ -s "$work/err" ] && fail "$name: run says $(cat "$work/err")"
    cmp -s "$work/out" "$work/expected" || fail "$name: run prints something else than here"
    inside run --heads 2.6 --svg /tmp/a.svg --html /tmp/a.html --npz /tmp/a.npz "Life is short" ||
        fail "$name: run with files"
    for file in a.svg a.html a.npz; do
        [ -s "$root/tmp/$file" ] || fail "$name: $file is not there"
    done
    out=$(inside run --heads 2.6 --png /tmp/a.png "Life is short" 2>&1)
    [ $? -eq 5 ] || fail "$name: --png: $out"
    [ -e "$root/tmp/a.png" ] && fail "$name: --png left a file"
    [ "$(head -c 4 "$root/attn/attn.wasm" | tail -c 3)" = asm ] || fail "$name: attn.wasm is no module"
    out=$(inside run -m /nowhere "Life is short" 2>&1)
    [ $? -eq 3 ] || fail "$name: a wrong path: $out"
    say "$name: runs; $(head -1 "$work/version")"
}

[ "$(id -u)" -eq 0 ] || { say "skipped, chroot needs root" && exit 0; }
[ -s "$archive" ] || { say "'$archive' is missing: make static" && exit 1; }
mkdir "$work/here"
tar -C "$work/here" --strip-components=1 -xzf "$archive"
"$work/here/attn-cli" run --sentence "Life is short, eat dessert first" >"$work/expected"

mkdir "$work/empty"
try "$work/empty" "an empty folder"
for suite; do
    if ! command -v debootstrap >/dev/null; then
        say "$suite: skipped, there is no debootstrap"
    elif debian_make "$suite" "$work/$suite" >"$work/log" 2>&1; then
        try "$work/$suite" "Debian $suite"
    else
        say "$suite: skipped, it cannot be had: $(tail -1 "$work/log")"
    fi
done
exit $failed
