#!/usr/bin/env bash
# check_targets.sh - runs the wheels and static archives of TARGETs where they are meant to run. What a command writes must
# have the sums of tests/golden/same_bits.sha256, whatever the C library and the processor.
#
#   check_targets.sh PACKAGE...     wheels, and archives of make static
#
# manylinux: x86-64 in a chroot of Debian 11 with its Python, aarch64 by qemu-user over the C library and Python of Debian 11
# for that processor. musllinux: by musl's own loader, of Debian. Archives: the command is static. Needs root.
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
lines='import attn
print(attn.open("fable").run("Life is short").pattern[2, 2][1])'

# Compares what PROGRAM writes, run by RUNNER, with the kept sums.
check_sums() { # NAME RUNNER PROGRAM
    if RUNNER=$2 "$here/tests/tools/same_bits.sh" "$3" >"$work/log" 2>&1; then
        say "$1: $($2 "$3" --version | head -1): $(tail -1 "$work/log")"
    else
        fail "$1: $(tail -5 "$work/log")"
    fi
}

# Both C libraries of Debian 11 for ARM, Python and numpy.
get_arm() { debian_unpack arm64 bullseye "$work/arm" libc6 musl python3-numpy; }

check_manylinux_x86_64() { # FOLDER of the wheel's files
    debian_make bullseye "$work/bullseye" >"$work/log" 2>&1 &&
        debian_install "$work/bullseye" python3-numpy >>"$work/log" 2>&1 || { fail "Debian 11: $(tail -1 "$work/log")" && return; }
    cp -R "$1" "$work/bullseye/wheel"
    mkdir "$work/expected" "$work/bullseye/seen"
    (cd "$work/expected" && "$tool" "${arguments[@]}" >screen)
    chroot "$work/bullseye" sh -c 'cd /seen && /wheel/bin/attn-cli "$@" >screen' sh "${arguments[@]}" &&
        diff -r "$work/expected" "$work/bullseye/seen" && say "Debian 11: the bytes of this machine's tool" || fail "Debian 11"
    check_python "Debian 11" chroot "$work/bullseye" env PYTHONPATH=/wheel python3
    check_sums "here" "" "$1/bin/attn-cli"
}

check_python() { # NAME PYTHON...
    "${@:2}" -c "$lines" >"$work/log" 2>&1 || fail "$1: $(cat "$work/log")"
    say "$1, $("${@:2}" --version): $(tail -1 "$work/log")"
}

check_manylinux_aarch64() { # FOLDER of the wheel's files
    local places=/usr/lib/aarch64-linux-gnu
    get_arm >"$work/log" 2>&1 || { fail "Debian 11 for ARM: $(tail -1 "$work/log")" && return; }
    check_python "qemu, Debian 11 for ARM" qemu-aarch64 -L "$work/arm" -E "PYTHONPATH=$1" \
        -E "LD_LIBRARY_PATH=$places/blas:$places/lapack" "$work/arm/usr/bin/python3.9"
    check_sums "qemu, glibc 2.31 for ARM" "qemu-aarch64 -L $work/arm" "$1/bin/attn-cli"
}

# The command opens the library by MACHINE's musl.
check_musllinux() { # MACHINE FOLDER of the wheel's files
    local runner=''
    if [ "$1" = aarch64 ]; then
        get_arm >"$work/log" 2>&1 || { fail "musl for ARM: $(tail -1 "$work/log")" && return; }
        runner="qemu-aarch64 -L $work/arm"
    fi
    check_sums "$1, musl" "$runner" "$2/bin/attn-cli"
}

# Nothing but the file is there.
check_archive() { # MACHINE FOLDER
    local runner='' folder
    folder=$(echo "$2"/attn-cli-*)
    [ "$1" = "$(uname -m)" ] || runner=qemu-$1
    check_sums "archive for $1" "$runner" "$folder/attn-cli"
}

[ "$(id -u)" -eq 0 ] || { say 'skipped, chroot needs root' && exit 0; }
for package; do
    name=$(basename "$package") folder=$work/$(basename "$package")
    mkdir "$folder"
    case $name in
    *.whl) python3 -m zipfile -e "$package" "$folder" && chmod +x "$folder"/*.data/scripts/* && # as pip install --target
        mv "$folder"/*.data/scripts "$folder/bin" && mv "$folder"/*.data/data/share "$folder" ;;
    *) tar -C "$folder" -xzf "$package" ;;
    esac || { fail "'$package' is no package" && continue; }
    case $name in
    *manylinux*x86_64.whl) check_manylinux_x86_64 "$folder" ;;
    *manylinux*aarch64.whl) check_manylinux_aarch64 "$folder" ;;
    *musllinux*x86_64.whl) check_musllinux x86_64 "$folder" ;;
    *musllinux*aarch64.whl) check_musllinux aarch64 "$folder" ;;
    *-linux-x86_64.tar.gz) check_archive x86_64 "$folder" ;;
    *-linux-aarch64.tar.gz) check_archive aarch64 "$folder" ;;
    *) fail "'$name' is for an unknown system" ;;
    esac
done
exit $failed
