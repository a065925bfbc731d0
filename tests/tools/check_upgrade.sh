#!/usr/bin/env bash
# check_upgrade.sh - what users of a former release have works with today's build (check_upgrade.py says what that is).
#
#   check_upgrade.sh [FROM] [WHEEL|DEB...]    FROM: a file of tests/former, a tag or a commit, which is built in build/former;
#                                             default: the newest file of tests/former
#   check_upgrade.sh --keep                   writes tests/former/VERSION.tar of today's build, and leaves the five newest
#
# BUILD names today's build folder, default build/release.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build/release}

# The files of tests/former, the oldest first.
list_former() {
    local file
    for file in tests/former/*.tar; do
        [ -e "$file" ] || continue
        printf '%s %s\n' "$(.packaging/facts.sh versions "$(basename "$file" .tar)" | sed -n 's/^debian //p')" "$file"
    done | sort -V | sed 's/.* //'
}

# Builds the commit FROM, and keeps what its users have.
build_former() { # FROM
    local commit tree=build/former/tree
    commit=$(git rev-parse -q --verify "$1^{commit}") || { echo "check_upgrade: '$1' is no file, tag or commit" >&2 && exit 2; }
    [ "$(cat build/former/commit 2>/dev/null)" != "$commit" ] || return 0
    rm -rf build/former
    git clone -q --shared . "$tree" && git -C "$tree" checkout -q "$commit"
    (cd "$tree" && tests/tools/fixtures.sh unpack)
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BUILD make -s -C "$tree" WERROR= all >build/former/log 2>&1 ||
        { tail -n 20 build/former/log && exit 1; }
    tests/tools/check_upgrade.py keep "$tree" "$tree/build/release" build/former/kept
    echo "$commit" >build/former/commit
}

case ${1-} in
--keep)
    version=$(.packaging/facts.sh versions | sed -nE 's/^header (.*)/\1/p')
    tests/tools/check_upgrade.py keep . "$build" build/former-kept
    tests/tools/check_upgrade.py pack build/former-kept "tests/former/${version%.dev0}.tar"
    rm -rf build/former-kept
    list_former | head -n -5 | xargs -r rm
    ;;
*)
    from=${1:-$(list_former | tail -n 1)}
    [ -n "$from" ] || { echo 'check_upgrade: skipped, tests/former has no file' && exit 0; }
    if [ ! -f "$from" ]; then
        build_former "$from"
        from=build/former/kept
    fi
    tests/tools/check_upgrade.py check "$from" "$build" "${@:2}"
    ;;
esac
