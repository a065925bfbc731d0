#!/usr/bin/env bash
# check_reproducible.sh - makes packages here and in a clone of what is committed: they must have the same bytes. The clone
# lies in a folder of another name and length, and is made later, without a cache, with another umask and time zone.
#
#   check_reproducible.sh PACKAGE...     dist, wheel, wheel-any, static, deb: what make makes; static@TARGET, wheel@TARGET
#
# DEB_BUILD_OPTIONS=nocheck is set: the tests have no part in the bytes.
set -eu
cd "$(dirname "$0")/../.."

work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
trap 'rm -rf "$work"' EXIT
clone=$work/a_longer_name/clone

fail() {
    printf 'check_reproducible.sh: %s\n' "$@" >&2
    exit 1
}

make_all() { # FOLDER PACKAGE...
    local folder=$1 package target
    shift
    for package; do
        target=
        [[ $package != *@* ]] || target=TARGET=${package#*@}
        # shellcheck disable=SC2086 # nothing if empty
        env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BUILD -u CC -u XSMM DEB_BUILD_OPTIONS=nocheck \
            make -C "$folder" "${package%@*}" $target >"$work/log" 2>&1 ||
            fail "make ${package%@*} $target fails in '$folder'" "$(tail -n 20 "$work/log")"
    done
}

[ -z "$(git status --porcelain --untracked-files=no)" ] || fail 'there are changes that are not committed'
git clone -q "file://$PWD" "$clone"
mkdir "$clone/build"
for kept in sources zig; do # digests are checked
    [ ! -d build/$kept ] || cp -Rl build/$kept "$clone/build/"
done
make_all . "$@"
(umask 077 && export TZ=Asia/Tokyo CCACHE_DISABLE=1 ZIG_GLOBAL_CACHE_DIR="$work/zig" && make_all "$clone" "$@")

mapfile -t made < <(cd "$clone" && find build \( -path 'build/*.tar.gz' -o -name '*.whl' -o -name '*.deb' \) -type f \
    ! -path 'build/sources/*' ! -path '*/debian/*' ! -name '*.orig*' ! -name '*-dbgsym*' | LC_ALL=C sort)
[ ${#made[@]} -gt 0 ] || fail 'no package was made'
differs=
for package in "${made[@]}"; do
    cmp "$package" "$clone/$package" || { differs=yes && continue; }
    echo "reproducible: $(sha256sum "$package")"
done
[ -z "$differs" ] || fail 'the files above have other bytes in another folder'
