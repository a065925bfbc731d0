#!/usr/bin/env bash
# check_targets.sh - runs the wheels of make wheel TARGET=... where they are meant to run, and compares the bytes that they
# write with those of this machine's tool.
#
#   check_targets.sh WHEEL...
#
# manylinux on x86-64: Debian 11 by chroot, with its Python. On aarch64: qemu-user, over the C library of Debian 11 for
# that processor. musllinux: the command in an empty folder, the library by the loader of Debian's musl. Needs root.
set -u
. "$(dirname "$0")/../tests/tools/debian.sh"
debian_own_mounts "$@"
here=$(cd "$(dirname "$0")/.." && pwd)
tool=$here/build/release/attn-cli
work=$(mktemp -d)
trap 'debian_remove "$work/bullseye"; rm -rf "$work"' EXIT
failed=0

say() { printf 'check-targets: %s\n' "$*"; }
fail() { say "FAILED: $*" && failed=1; }

arguments=(run -q --sites 'pattern,z,resid*' --npz a.npz --svg pictures/ 'Life is short, eat dessert first')
mkdir "$work/expected" && (cd "$work/expected" && "$tool" "${arguments[@]}" >screen)

# Runs the tool by COMMAND in a folder of its own; what it prints and writes must be what the tool of this machine does.
compare() { # NAME COMMAND...
    local name=$1 seen=$work/seen
    shift
    rm -rf "$seen" && mkdir "$seen"
    if (cd "$seen" && "$@" "${arguments[@]}" >screen 2>"$work/messages") && diff -r "$work/expected" "$seen"; then
        say "$name: the same bytes; $("$@" --version | head -1)"
    else
        fail "$name: $(cat "$work/messages")"
    fi
}

# Unpacks the C library of Debian 11 for ARM into FOLDER.
get_arm_libraries() { # FOLDER
    mkdir -p "$1" "$work/lists/partial" "$work/cache/archives/partial"
    local settings=(-qq -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Architecture=arm64
        -o APT::Architectures=arm64 -o "Dir::Etc::SourceList=$work/sources" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::status=/dev/null -o APT::Sandbox::User=root)
    echo "deb ${DEBIAN_MIRROR:-http://deb.debian.org/debian} bullseye main" >"$work/sources"
    (cd "$work" && apt-get "${settings[@]}" update && apt-get "${settings[@]}" download libc6) &&
        dpkg-deb -x "$work"/libc6_*_arm64.deb "$1"
}

check_manylinux_x86_64() { # FOLDER of the wheel's files
    debian_make bullseye "$work/bullseye" >"$work/log" 2>&1 &&
        debian_install "$work/bullseye" python3-numpy >>"$work/log" 2>&1 || { fail "Debian 11: $(tail -1 "$work/log")" && return; }
    cp -R "$1" "$work/bullseye/wheel"
    mkdir -p "$work/bullseye/$work/seen"
    compare "Debian 11" chroot_in "$work/bullseye"
    chroot "$work/bullseye" env PYTHONPATH=/wheel python3 -c 'import attn
print(attn.open("fable").run("Life is short").pattern[2, 2][1])' >"$work/log" 2>&1 || fail "Debian 11: $(cat "$work/log")"
    say "Debian 11, Python 3.9 and numpy 1.19: $(tail -1 "$work/log")"
}
# Runs the command inside ROOT, in a folder there, and brings what it wrote.
chroot_in() { # ROOT ARGUMENT...
    local root=$1
    shift
    rm -rf "$root/seen" && mkdir "$root/seen"
    chroot "$root" sh -c 'cd /seen && exec /wheel/attn_cli-*.data/scripts/attn-cli "$@"' sh "$@" || return
    cp -R "$root/seen/." .
}

check_manylinux_aarch64() {
    get_arm_libraries "$work/arm" >"$work/log" 2>&1 || { fail "the C library for ARM: $(tail -1 "$work/log")" && return; }
    compare "qemu, glibc 2.31 for ARM" qemu-aarch64 -L "$work/arm" "$1"/*.data/scripts/attn-cli
}

check_musllinux_x86_64() {
    compare "musl, static" "$1"/*.data/scripts/attn-cli
    cat >"$work/try.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    const char *(*version)(void) = library ? (const char *(*)(void))dlsym(library, "attn_version") : 0;
    if (!version)
        return puts(dlerror()), 1;
    return puts(version()) < 0;
}
END
    "$here/build/zig/x86_64-linux-musl/cc" -dynamic "$work/try.c" -o "$work/try" &&
        say "musl's loader: attn $(/lib/ld-musl-x86_64.so.1 "$work/try" "$1/attn/libattn.so")" || fail "musl's loader"
}

[ "$(id -u)" -eq 0 ] || { say 'skipped, chroot needs root' && exit 0; }
for wheel; do
    wheel=$(realpath "$wheel") name=$(basename "$wheel" .whl)
    folder=$work/$name
    mkdir "$folder" && (cd "$folder" && python3 -m zipfile -e "$wheel" . && chmod +x ./*.data/scripts/*)
    case $name in
    *manylinux*x86_64) check_manylinux_x86_64 "$folder" ;;
    *manylinux*aarch64) check_manylinux_aarch64 "$folder" ;;
    *musllinux*x86_64) check_musllinux_x86_64 "$folder" ;;
    *) fail "'$name' is of an unknown system" ;;
    esac
done
exit $failed
