#!/usr/bin/env bash
# check_sdist.sh - builds and uses the source distribution where there is no network: with the libraries of this system, with
# those that it carries, with musl and the small tools of busybox, as Alpine has them, and in Debians.
#
#   check_sdist.sh SDIST PYTHON [SUITE...]    SUITE: of Debian, made by debootstrap, with gcc, make and python3-venv
#
# Needs root for namespaces and chroot. What cannot be had is named and skipped.
set -eu
. "$(dirname "$0")/../tests/tools/debian.sh"
debian_own_mounts "$@"

# The interpreter itself: what stands in PATH may be a script, as pyenv's.
sdist=$(realpath "$1") python=$("$2" -c 'import sys; print(sys.executable)')
shift 2
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d -p "$here/build")
trap 'for root in "$work"/*/; do debian_remove "$root"; done; rm -rf "$work"' EXIT
unset LIBATTN PYTHONPATH ATTN_CLI_MODEL_PATH ATTN_LIVE_MODULE MAKEFLAGS MFLAGS MAKELEVEL BUILD XSMM

say() { printf 'check-sdist: %s\n' "$*"; }
fail() {
    say "FAILED: $*"
    exit 1
}
unpack() { # NAME
    mkdir "$work/$1"
    tar -C "$work/$1" --strip-components=1 -xzf "$sdist"
}
hook="import sys; sys.path.insert(0, 'lib/python'); import build_wheel; print(getattr(build_wheel, sys.argv[1])(sys.argv[2]))"

# What is said where there is nothing but Python: one line, at once. What the wheel requires needs no compiler.
check_empty() {
    local start line
    unpack empty
    cd "$work/empty"
    env -i PATH=/nowhere "$python" -c "$hook" prepare_metadata_for_build_wheel "$work/metadata" >/dev/null
    cmp PKG-INFO "$work"/metadata/*/METADATA || fail 'the hook for metadata says something else than PKG-INFO'
    start=$EPOCHREALTIME
    ! env -i PATH=/nowhere "$python" -c "$hook" build_wheel "$work/none" 2>"$work/log" || fail 'it builds without a compiler'
    [ $((${EPOCHREALTIME/./} - ${start/./})) -lt 5000000 ] || fail 'it takes seconds to say so'
    [ "$(wc -l <"$work/log")" = 1 ] || fail "without a compiler it says: $(cat "$work/log")"
    line=$(cat "$work/log")
    [[ $line = *bash*make*compiler* ]] || fail "without a compiler it says: $line"
    [ -z "$(find . -path './tests/*' ! -path './tests/tools*')" ] || fail 'it has tests'
    [ -z "$(find libraries -mindepth 2 -type d ! -name src)" ] || fail 'its libraries have more than what is compiled'
    say "$(($(stat -c %s "$sdist") / 1024)) KB; without a compiler: $line"
}

# Uses the wheel in FOLDER, which pip installs.
check_use() { # NAME FOLDER
    local venv=$work/$1.venv
    "$python" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps "$2"/*.whl
    (cd "$work" && export LC_ALL=C.UTF-8 && "$venv/bin/attn-cli" run -q --live --html "$1.html" --npz "$1.npz" 'Life is short' &&
        "$here/build/release/attn-cli" run -q --npz expected.npz 'Life is short' && cmp expected.npz "$1.npz") ||
        fail "$1: the command does not run"
    unzip -p "$2"/*.whl '*.dist-info/METADATA' | cmp - "$work/$1/PKG-INFO" || fail "$1: other metadata"
    say "$1: $(basename "$2"/*.whl), $("$venv/bin/attn-cli" --version)"
}

build() { # NAME VARIABLE=VALUE...
    unpack "$1"
    (cd "$work/$1" && env "${@:2}" unshare -n "$python" -c "$hook" build_wheel "$work/$1.wheel") >"$work/log" 2>&1 ||
        fail "$1: $(tail -5 "$work/log")"
}

check_system() {
    build system
    check_use system "$work/system.wheel"
    readelf -d "$work"/system.venv/lib*/python*/site-packages/attn/libattn.so | grep -q 'NEEDED.*libcjson' ||
        fail 'it does not use the libraries of the system'
}

check_carried() {
    build carried PKG_CONFIG=/nowhere
    check_use carried "$work/carried.wheel"
    ! readelf -d "$work"/carried.venv/lib*/python*/site-packages/attn/libattn.so | grep 'NEEDED.*lib\(cjson\|pcre2\)' ||
        fail 'it uses libraries that it has'
    (cd "$work/carried" && PKG_CONFIG=/nowhere unshare -n make install PREFIX="$work/prefix") >"$work/log" 2>&1 &&
        link_archive && [ "$("$work/first_number")" = 0.8114 ] && ! readelf -d "$work/first_number" | grep 'NEEDED.*lib\(cjson\|pcre2\)' >>"$work/log" ||
        fail "what it installs is not linked: $(tail -5 "$work/log")"
}

# Links an example with the archive that was installed. The words of pkg-config are split.
# shellcheck disable=SC2046
link_archive() {
    cc "$here/lib/examples/first_number.c" -o "$work/first_number" $(PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig pkg-config \
        --static --cflags --libs attn | sed 's/-lattn/-l:libattn.a/') >>"$work/log" 2>&1
}

# Nothing in PATH but busybox, make, bash and a compiler for musl. Kernel headers are a package of Alpine's own.
check_musl() {
    local name tools=$work/tools headers=$work/headers
    local PATH=${PATH//\/usr\/lib\/ccache:/} # ccache finds no compiler where PATH has links alone
    command -v musl-gcc busybox >/dev/null || { say 'musl: skipped, musl-tools or busybox is missing' && return; }
    mkdir "$tools" "$headers"
    for name in $(busybox --list); do ln -s "$(command -v busybox)" "$tools/$name"; done
    for name in bash make musl-gcc ar ld as readelf "$(uname -m)-linux-gnu-gcc"; do ln -sf "$(command -v $name)" "$tools/$name"; done
    for name in linux asm-generic; do ln -s /usr/include/$name "$headers/$name"; done
    ln -s "/usr/include/$(uname -m)-linux-gnu/asm" "$headers/asm"
    build musl -i PATH="$tools" CC=musl-gcc C_INCLUDE_PATH="$headers"
    mkdir "$work/musl.files"
    (cd "$work/musl.files" && export LC_ALL=C.UTF-8 && unzip -q "$work"/musl.wheel/*.whl && mv ./*.data/scripts bin && chmod +x bin/attn-cli &&
        bin/attn-cli run -q --npz a.npz 'Life is short' && "$here/build/release/attn-cli" run -q --npz b.npz 'Life is short' &&
        cmp a.npz b.npz) || fail 'musl: the command does not run'
    say "musl: $(basename "$work"/musl.wheel/*.whl), $("$work/musl.files/bin/attn-cli" --version)"
}

check_debian() { # SUITE
    local root=$work/$1
    debian_make "$1" "$root" >"$work/log" 2>&1 && debian_install "$root" gcc libc6-dev make python3-venv >"$work/log" 2>&1 ||
        { say "$1: skipped, it cannot be had: $(tail -1 "$work/log")" && return; }
    debian_mount "$root"
    cp "$sdist" "$root"
    # shellcheck disable=SC2016 # for the shell inside
    unshare -n chroot "$root" sh -c 'python3 -m venv /venv && /venv/bin/pip -q install --no-index --no-deps /*.tar.gz &&
        /venv/bin/attn-cli run -q "Life is short" && /venv/bin/attn-cli --version' >"$work/log" 2>&1 || fail "$1: $(tail -5 "$work/log")"
    say "Debian $1: $(tail -1 "$work/log")"
}

[ "$(id -u)" -eq 0 ] || { say 'skipped, unshare needs root' && exit 0; }
check_empty
check_system
check_carried
check_musl
for suite; do check_debian "$suite"; done
