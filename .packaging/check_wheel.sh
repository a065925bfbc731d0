#!/usr/bin/env bash
# check_wheel.sh - runs the Python wheel and its tests in other distributions.
#
#   check_wheel.sh WHEEL SUITE...    SUITE: of Debian, made by debootstrap, with its own Python and numpy (trixie)
#
# Needs root for chroot. What cannot be had is named and skipped.
set -u

. "$(dirname "$0")/../tests/tools/debian.sh"
debian_own_mounts "$@"

wheel=$1
shift
work=$(mktemp -d)
trap 'for root in "$work"/*/; do debian_remove "$root"; done; rm -rf "$work"' EXIT
failed=0

say() { printf 'check-wheel: %s\n' "$*"; }

# Installs and tests the wheel inside the folder ROOT.
try() { # ROOT NAME
    local root=$1 name=$2
    mkdir "$root/attn"
    cp "$wheel" "$root/attn"
    cp -r tests/python "$root/attn/tests"
    debian_mount "$root"
    # shellcheck disable=SC2016 # for the shell inside
    if chroot "$root" sh -c 'cd /attn && python3 -m venv --system-site-packages venv &&
        venv/bin/pip -q install --no-index --no-deps ./*.whl && cd tests &&
        ../venv/bin/python -m unittest discover' >"$work/log" 2>&1; then
        say "$name: $(chroot "$root" python3 --version): $(tail -1 "$work/log")"
    else
        say "FAILED: $name: $(cat "$work/log")"
        failed=1
    fi
}

[ "$(id -u)" -eq 0 ] || { say "skipped, chroot needs root" && exit 0; }
for suite; do
    if ! command -v debootstrap >/dev/null; then
        say "$suite: skipped, there is no debootstrap"
    elif debian_make "$suite" "$work/$suite" >"$work/log" 2>&1 &&
        debian_install "$work/$suite" python3-numpy python3-venv >"$work/log" 2>&1; then
        try "$work/$suite" "Debian $suite"
    else
        say "$suite: skipped, it cannot be had: $(tail -1 "$work/log")"
    fi
done
exit $failed
