#!/usr/bin/env bash
# check_reproducible.sh - makes packages twice of what is committed, in folders of different names and lengths, at different
# times and in different time zones and umasks: they must have the same bytes.
#
#   check_reproducible.sh PACKAGE...     dist, wheel, wheel-any, static, deb: what make makes
#
# DEB_BUILD_OPTIONS=nocheck is set: the tests have no part in the bytes.
set -eu
cd "$(dirname "$0")/../.."

work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
trap 'rm -rf "$work"' EXIT
packages=(-path '*/build/*.tar.gz' -o -name '*.whl' -o -name '*.deb')

make_all() { # FOLDER TARGET...
    local folder=$1 target
    shift
    git clone -q --depth 1 "file://$PWD" "$folder"
    mkdir -p "$folder/build"
    [ ! -d build/sources ] || cp -R build/sources "$folder/build/" # digests are checked
    for target; do
        env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL DEB_BUILD_OPTIONS=nocheck make -C "$folder" "$target" ||
            { echo "check_reproducible.sh: make $target failed in $folder" >&2 && return 1; }
    done >"$work/log" 2>&1 || { tail -n 40 "$work/log" && return 1; }
    (cd "$folder" && find . \( "${packages[@]}" \) ! -path './build/sources/*' ! -name '*.orig*' ! -name '*-dbgsym*' -type f -exec sha256sum {} + |
        LC_ALL=C sort -k 2)
}

(umask 022 && TZ=UTC make_all "$work/one" "$@") >"$work/first"
(umask 077 && TZ=Asia/Tokyo make_all "$work/a_longer_name/two" "$@") >"$work/second"
diff "$work/first" "$work/second" || { echo 'check_reproducible.sh: the packages above differ' && exit 1; }
[ -s "$work/first" ] || { echo 'check_reproducible.sh: no package was made' && exit 1; }
awk '{ print "reproducible: " $2 }' "$work/first"
