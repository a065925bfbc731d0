#!/usr/bin/env bash
# dependencies.sh - what build, tests and lint need; looked for by use, not by package.
#
#   dependencies.sh find PREFIX build|check  writes PREFIX.cflags and PREFIX.libs, arguments of the
#                                            compiler; names what is missing and its package
#   dependencies.sh find PREFIX pinned       the same of the archives in the folder PREFIX (.packaging/libraries.sh)
#   dependencies.sh install GROUP...         installs what build, check, test, optional, draw,
#                                            pictures, lint, engines, packages, fresh, python, clang,
#                                            fuzz, browser, aarch64, targets, wasm, small, node, cache lack on Debian and
#                                            Ubuntu; does and says nothing when all is there
#   dependencies.sh offer GROUP...           installs what runs need, if it may; otherwise names it in a line
#   dependencies.sh missing GROUP...         names the packages
#
# XSMM=no: the build goes without libxsmm.
set -eu

cc=${CC:-cc}
apt_install=(apt-get install --no-install-recommends)
pkg_config=${PKG_CONFIG:-pkg-config}

# Both pkg-config files of libxsmm 1.17 give lines that do not link; by hand, in this order.
xsmm_libs='-lxsmm -lxsmmnoblas -lpthread -lrt -ldl -lm'
[ "${XSMM-}" != no ] || xsmm_libs='-lpthread -ldl -lm'

# zlib is linked from its archive where there is one: looking for a shared library takes each start
# 0.1 ms. ATTN_ARCHIVES=no: shared ones, as distributions want.
zlib_libs='-l:libz.a'

fail() {
    printf 'attn-cli: %s\n' "$@" >&2
    exit 1
}

# Drawing and reading pictures open such at run time.
has_shared() { /sbin/ldconfig -p 2>/dev/null | grep -qF "$1 "; }

has_monospace() {
    [ -e /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf ] ||
        { has_program fc-list && [ -n "$(fc-list :spacing=100 family)" ]; }
}

has_packages() { apt-get install --simulate -qq "$@" >/dev/null 2>&1; }
has_program() { command -v "$1" >/dev/null; }
has_module() { "$pkg_config" --exists "$1" 2>/dev/null; }
has_for_arm() { [ -e "/usr/lib/aarch64-linux-gnu/$1" ]; }
# A library is there if a program that uses it can be linked: pkg-config knows nothing of the compiler's C library.
# Where a source distribution has its sources, nothing is missing.
has_library() { # MODULE FUNCTION
    local flags
    flags=$("$pkg_config" --cflags --libs "$1" 2>/dev/null) || return
    # shellcheck disable=SC2086 # words of their own
    echo "int $2(void); int main(void) { return $2(); }" | "$cc" -w -x c - $flags -o /dev/null 2>/dev/null
}
has_cjson() { has_library libcjson cJSON_Version; }
has_pcre2() { has_library libpcre2-8 pcre2_config_8; }
has_zlib() { has_library zlib zlibVersion; }
is_carried() { [ -d "libraries/$1" ]; }

has_libc() { echo '#include <stdlib.h>' | "$cc" -E - >/dev/null 2>&1; }

has_xsmm() {
    local folder found=0
    folder=$(mktemp -d)
    cat >"$folder/link.c" <<'END'
#include <libxsmm.h>
#if LIBXSMM_VERSION_MAJOR != 1
#error "the interface of libxsmm 1 is used"
#endif
int main(void) { libxsmm_init(); libxsmm_finalize(); }
END
    # shellcheck disable=SC2086 # words of their own
    "$cc" "$folder/link.c" -o "$folder/link" $xsmm_libs 2>/dev/null || found=1
    rm -r "$folder"
    return $found
}

has_static_zlib() {
    echo 'extern const char *zlibVersion(void); int main(void) { return !zlibVersion(); }' |
        "$cc" -x c - $zlib_libs -o /dev/null 2>/dev/null
}

# Its name may carry a version. Looked for anew each time: it may have been installed meanwhile.
find_clang() { command -v clang || command -v clang-14; }

has_fuzzer() {
    echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
        "$(find_clang)" -fsanitize=fuzzer,address,undefined -x c - -o /dev/null 2>/dev/null
}

# Prints the Debian packages of what GROUP lacks.
missing() {
    case $1 in
    build)
        has_program "$cc" || case $cc in *clang*) echo clang ;; *) echo gcc ;; esac
        has_libc || echo libc6-dev
        is_carried zlib || has_program "$pkg_config" || echo pkg-config
        is_carried cjson || has_cjson || echo libcjson-dev
        is_carried pcre2 || has_pcre2 || echo libpcre2-dev
        is_carried zlib || has_zlib || echo zlib1g-dev
        [ "${XSMM-}" = no ] || has_xsmm || echo libxsmm-dev
        ;;
    xsmm) has_xsmm || echo libxsmm-dev ;;
    check) # what unit tests are linked with
        has_module check || echo check
        ;;
    test) # what no test is skipped without
        missing check
        has_program unzip || echo unzip
        ;;
    optional) # tests are skipped without these, and say so
        has_program g++ || echo g++
        has_program strace || echo strace
        [ -e /usr/share/i18n/locales/de_DE ] || echo locales
        has_program pdftotext || echo poppler-utils
        has_program abidiff || echo abigail-tools
        ;;
    draw) # what --png and --pdf use at run time
        has_shared libpangocairo-1.0.so.0 || echo libpangocairo-1.0-0
        has_monospace || echo fonts-dejavu-core
        ;;
    pictures) # what --image reads PNG, JPEG and WebP with at run time, and --source file:sound
        has_shared libpng16.so.16 || echo libpng16-16
        has_shared libturbojpeg.so.0 || echo libturbojpeg0
        has_shared libwebp.so.7 || echo libwebp7
        has_shared libsndfile.so.1 || echo libsndfile1
        ;;
    lint)
        has_program clang-format || echo clang-format
        has_program clang-tidy || echo clang-tidy
        has_program abidiff || echo abigail-tools
        ;;
    clang)
        find_clang >/dev/null || echo clang
        ;;
    engines) # that run shards of batch
        has_program slurmctld || echo slurmctld
        has_program slurmd || echo slurmd
        has_program sbatch || echo slurm-client
        has_program munged || echo munge
        has_program parallel || echo parallel
        has_program pkill || echo procps
        ;;
    packages) # Debian's: what builds and judges them
        has_program dpkg-buildpackage || echo dpkg-dev
        has_program dh || echo debhelper
        has_program dh_python3 || echo dh-python
        has_program lintian || echo lintian
        missing fresh
        ;;
    fresh) # what makes a Debian in a folder
        has_program debootstrap || echo debootstrap
        ;;
    python)
        has_program "${PYTHON:-python3}" || echo python3
        "${PYTHON:-python3}" -c 'import numpy' 2>/dev/null || echo python3-numpy
        ;;
    browser)
        has_program "${CHROMIUM:-chromium}" || echo chromium
        ;;
    aarch64) # Debian's: a cross compiler, an emulator, and the libraries of that processor
        has_program aarch64-linux-gnu-gcc || echo gcc-aarch64-linux-gnu
        has_program qemu-aarch64 || echo qemu-user
        has_for_arm libcjson.so || echo libcjson-dev:arm64
        has_for_arm libpcre2-8.so || echo libpcre2-dev:arm64
        has_for_arm libz.so || echo zlib1g-dev:arm64
        has_for_arm pkgconfig/check.pc || echo check:arm64
        has_for_arm libpangocairo-1.0.so.0 || echo libpangocairo-1.0-0:arm64
        has_for_arm libpng16.so.16 || echo libpng16-16:arm64
        has_for_arm libturbojpeg.so.0 || echo libturbojpeg0:arm64
        has_for_arm libwebp.so.7 || echo libwebp7:arm64
        has_monospace || echo fonts-dejavu-core
        ;;
    wasm) # a compiler for WebAssembly, its C library, and what gets sources of libraries
        has_program clang-19 || echo clang-19
        has_program wasm-ld-19 || echo lld-19
        [ -e /usr/lib/wasm32-wasi/libc.a ] || echo wasi-libc
        [ -e /usr/lib/llvm-19/lib/clang/19/lib/wasi ] || echo libclang-rt-19-dev-wasm32
        has_program dpkg-source || echo dpkg-dev
        ;;
    targets) # what runs programs for other systems; has the loader of musl
        has_program qemu-aarch64 || echo qemu-user
        [ -e /lib/ld-musl-x86_64.so.1 ] || echo musl
        missing pip
        ;;
    windows) # what runs programs for Windows
        has_program wine64 || has_program wine || echo wine64
        missing pip
        ;;
    macos) # what looks into programs for macOS
        has_program llvm-objdump || echo llvm
        missing pip
        ;;
    pip) # what gets zig
        "${PYTHON:-python3}" -m pip --version >/dev/null 2>&1 || echo python3-pip
        "${PYTHON:-python3}" -c 'import ensurepip' 2>/dev/null || echo python3-venv
        ;;
    small) # what builds with musl and the small tools of busybox
        has_program musl-gcc || echo musl-tools
        has_program busybox || echo busybox
        ;;
    node) has_program node || echo nodejs ;;
    cache) [ -d /usr/lib/ccache ] || echo ccache ;; # CI compiles one source in several folders
    fuzz) # behind clang, whose version decides
        has_fuzzer || echo "libclang-rt-$("$(find_clang)" -dumpversion | cut -d. -f1)-dev"
        ;;
    *) fail "dependencies.sh: unknown group '$1'" ;;
    esac
}

missing_of() {
    local group
    for group; do missing "$group"; done | paste -sd ' '
}

# What a user has to ask for: once, so that what is built can be tested, too.
asked_of() {
    [[ " $* " != *' build '* ]] || set -- "$@" test
    # shellcheck disable=SC2046 # words of their own
    missing_of $(printf '%s\n' "$@" | sort -u)
}

# How to go on without the packages, where that is possible.
way_around() {
    [[ " $* " != *' libxsmm-dev '* ]] || echo 'libxsmm is optional: make XSMM=no ... builds without it, slower'
}

find_libraries() {
    local prefix=$1 group=$2 packages around
    if [ "$group" = pinned ]; then
        local of_system=''
        case ${CC-} in *-windows-*) xsmm_libs='' of_system='-DPCRE2_STATIC -DCJSON_HIDE_SYMBOLS' ;; esac # no DLLs of their own
        echo "-isystem $prefix/include $of_system" >"$prefix.cflags" # warnings of their headers are not ours
        echo "-L$prefix -lcjson -lpcre2-8 -lz $xsmm_libs" >"$prefix.libs"
        return
    fi
    packages=$(missing_of "$group")
    around=$(way_around "$packages")
    [ -z "$packages" ] ||
        fail "missing Debian packages: $(asked_of "$group")" "'make deps' installs them, or: ${apt_install[*]} $(asked_of "$group")" \
            ${around:+"$around"}
    if [ "$group" = build ]; then
        find_for_build "$prefix"
        return
    fi
    mkdir -p "$(dirname "$prefix")"
    "$pkg_config" --libs check >"$prefix.libs"
    "$pkg_config" --cflags check >"$prefix.cflags"
}

# Takes each library from the system, or makes it of the sources in the folder libraries.
find_for_build() { # PREFIX
    local modules=() made=() libs='' cflags='' carried=''
    if has_cjson; then modules+=(libcjson); else made+=(cjson) carried+=' -lcjson'; fi
    if has_pcre2; then modules+=(libpcre2-8); else made+=(pcre2) carried+=' -lpcre2-8'; fi
    if ! has_zlib; then
        made+=(zlib) zlib_libs=-lz
    elif [ "${ATTN_ARCHIVES-}" = no ] || ! has_static_zlib; then
        zlib_libs=$("$pkg_config" --libs zlib)
    fi
    if [ ${#made[@]} -gt 0 ]; then
        LIBRARIES="${made[*]}" .packaging/libraries.sh "$1" libraries
        cflags="-I$1/include" libs="-L$1"
    fi
    if [ ${#modules[@]} -gt 0 ]; then
        cflags+=" $("$pkg_config" --cflags "${modules[@]}")" libs+=" $("$pkg_config" --libs "${modules[@]}")"
    fi
    mkdir -p "$(dirname "$1")"
    echo "$libs$carried $zlib_libs $xsmm_libs" >"$1.libs" # libm last: for static linking
    echo "$cflags" >"$1.cflags"
}

install() {
    local packages as_root=() around
    packages=$(missing_of "$@")
    [ -n "$packages" ] || return 0
    around=$(way_around "$packages")
    has_program apt-get || fail "missing, by the names of Debian's packages: $(asked_of "$@")" ${around:+"$around"}
    if [ "$(id -u)" -ne 0 ]; then
        has_program sudo || fail "missing Debian packages: $(asked_of "$@")" "as root: ${apt_install[*]} $(asked_of "$@")"
        as_root=(sudo)
    fi
    echo "installing $packages"
    [[ $packages != *:arm64* ]] || "${as_root[@]}" dpkg --add-architecture arm64
    "${as_root[@]}" apt-get update -qq
    # shellcheck disable=SC2086
    has_packages $packages || [ -z "$around" ] ||
        fail "this system has no package for some of: $packages" ${around:+"$around"}
    # shellcheck disable=SC2086
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        "${apt_install[@]}" -o DPkg::Lock::Timeout=600 -qq -y $packages >/dev/null
    packages=$(missing_of "$@")
    [ -z "$packages" ] || fail "installed but not usable: $packages"
}

# The program opens these libraries when it is used, so it is built without them, too.
offer() {
    local packages
    packages=$(missing_of "$@")
    [ -n "$packages" ] || return 0
    if has_program apt-get && { [ "$(id -u)" -eq 0 ] || has_program sudo; } && (install "$@"); then
        return 0
    fi
    echo "attn-cli: without $(missing_of "$@") some of --image, sound, --png and --pdf are refused when they are used" >&2
}

case ${1-} in
find) find_libraries "$2" "$3" ;;
install) install "${@:2}" ;;
offer) offer "${@:2}" ;;
missing) missing_of "${@:2}" ;;
*) fail "usage: dependencies.sh find PREFIX build|check, dependencies.sh install|offer|missing GROUP..." ;;
esac
