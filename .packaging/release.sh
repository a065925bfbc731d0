#!/usr/bin/env bash
# release.sh - makes a release of what is committed: `make release`.
#
# It refuses what is not ready; runs the tests; moves CHANGELOG's entries under the version and the date; renews the live page
# of README; commits that; makes all packages of a clone of the commit; checks and signs them; tags the commit; and begins the next version. Nothing is pushed.
# Run it again after a failure: on the commit of a release it begins with the packages, and so it does in a clone that has
# checked out a tag.
#
# MINISIGN_KEY   the secret key that signs; SIGN=no goes without
# NEXT           the version that follows, default the next MINOR
# PACKAGES       which packages, default all (make packages)
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD CC XSMM

fail() {
    printf 'release.sh: %s\n' "$@" >&2
    exit 1
}
say() { printf 'release: %s\n' "$*"; }
defined() { sed -nE "s/^#define $1 \"(.*)\"$/\1/p" lib/core/base/version.h; }

# The entries of CHANGELOG's first section.
entries() { awk '/^## / { n++; next } n == 1 && /^- /' CHANGELOG.md; }

set_version() { # VERSION DATE
    sed -i -E -e "s/^(#define ATTN_VERSION \").*\"/\1$1\"/" -e "s/^(#define ATTN_VERSION_DATE \").*\"/\1$2\"/" lib/core/base/version.h
    sed -i -E -e "s/^version: .*/version: $1/" -e '/^date-released:/d' CITATION.cff
    .packaging/facts.sh module lib/python/attn "$1"
    [[ $1 == *.dev* ]] || sed -i "/^version: /a date-released: \"$2\"" CITATION.cff
}

refuse_what_is_not_ready() {
    [ -z "$(git status --porcelain)" ] || fail 'there are changes that are not committed'
    .packaging/facts.sh require-always
    .packaging/facts.sh agree
    [ -n "$(entries)" ] || fail 'CHANGELOG.md: the first section has no entry'
    [ -n "${MINISIGN_KEY-}" ] || [ "${SIGN-}" = no ] || fail 'MINISIGN_KEY names no key: SHA256SUMS cannot be signed (SIGN=no goes without)'
    [ -z "${MINISIGN_KEY-}" ] || [ -s "$MINISIGN_KEY" ] || fail "MINISIGN_KEY: '$MINISIGN_KEY' cannot be read"
    local missing
    missing=$(missing_tools | paste -sd ' ')
    [ -z "$missing" ] || fail "missing, by the names of packages: $missing"
    [[ $version != *.dev* ]] || git symbolic-ref -q HEAD >/dev/null || fail 'HEAD is detached: a release is a commit of a branch'
}

missing_tools() {
    [ -z "${MINISIGN_KEY-}" ] || command -v minisign >/dev/null || echo minisign
    python3 -c 'import spdx_tools' 2>/dev/null || echo spdx-tools,
    command -v abidiff >/dev/null || echo abigail-tools
    tests/tools/dependencies.sh missing build test wasm packages
}

# The commit of a release. The tag comes when its packages are made.
commit_release() {
    local next=${version%.dev*} today
    today=$(date -u +%F)
    ! git rev-parse -q --verify "refs/tags/v$next" >/dev/null || fail "v$next is there already"
    make test || fail 'the tests fail: nothing was changed'
    tests/tools/check_abi.sh --keep
    set_version "$next" "$today"
    sed -i "0,/^## /s/^## .*/## $next, $today/" CHANGELOG.md
    .packaging/facts.sh agree
    make wasm
    make all
    build/release/attn-cli run -q --live --html data/pictures/live.html --story data/stories/five-heads.json "The keys to the cabinet"
    git add -A tests/install/abi-* lib/core/base/version.h lib/python/attn/version.py CITATION.cff CHANGELOG.md data/pictures/live.html
    git commit -q -m "build: release $next"
    version=$next
}

# Whether HEAD is the commit of the release, tagged or, after a failure, not yet.
is_release() {
    if git rev-parse -q --verify "refs/tags/v$version" >/dev/null; then
        [ "$(git rev-parse "v$version^{commit}")" = "$(git rev-parse HEAD)" ]
    else
        [ "$(git log -1 --format=%s)" = "build: release $version" ]
    fi
}

tag_release() {
    ! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || return 0
    git tag -a "v$version" -m "attn-cli $version"
    say "v$version is the commit $(git rev-parse --short=12 HEAD)"
}

# Each package says the version; programs say the commit, too.
check_packages() { # FOLDER
    local file said work
    work=$(mktemp -d)
    for file in "$1"/*; do
        [[ -d $file || $file == */SHA256SUMS* || $file == *"-$version"* || $file == *"_$version"* ]] || fail "'$file' is not of $version"
    done
    ! grep -rlE 'example\.org|@[A-Z]+@' "$1"/recipes "$1"/*.md "$1"/*.json || fail 'the files above lack an address'
    for file in "$1"/*.deb; do
        [ ! -e "$file" ] || [ "$(dpkg-deb -f "$file" Version)" = "$version-1" ] || fail "'$file' is not of $version-1"
    done
    for file in "$1"/*-linux-"$(uname -m)".tar.gz "$1"/*manylinux*"$(uname -m)".whl; do
        [ -e "$file" ] || continue
        rm -rf "$work"/*
        case $file in
        *.whl)
            python3 -m pip install -q --disable-pip-version-check --no-deps --no-index --target "$work" "$file"
            said=$("$work/bin/attn-cli" --version)
            ;;
        *) tar -C "$work" -xzf "$file" && said=$("$work"/*/attn-cli --version) ;;
        esac
        [[ $said == "attn-cli $version ("*"commit $(git rev-parse --short=12 HEAD))"* ]] || fail "'$file' says $said"
    done
    rm -rf "$work"
    (cd "$1" && sha256sum -c --quiet SHA256SUMS)
    .packaging/licences.py validate "$1"/*.spdx.json
    [ -z "${MINISIGN_KEY-}" ] || check_signature "$1"
    say "checked: $(wc -l <"$1/SHA256SUMS") files say $version"
}

# By the public key of the secret one.
check_signature() { # FOLDER
    minisign -R -f -s "$MINISIGN_KEY" -p build/minisign.pub >/dev/null
    minisign -V -q -p build/minisign.pub -m "$1/SHA256SUMS" || fail 'the signature is wrong'
}

# Of a clone of the commit, so that nothing that lies around gets in.
make_packages() {
    local tree=build/tree-$version kept
    rm -rf "$tree"
    git clone -q --no-checkout "file://$PWD" "$tree"
    git -C "$tree" checkout -q "$(git rev-parse HEAD)"
    mkdir "$tree/build"
    for kept in sources zig; do # digests are checked
        [ ! -d build/$kept ] || cp -Rl build/$kept "$tree/build/"
    done
    make -C "$tree" packages PACKAGES="${PACKAGES-}" MINISIGN_KEY="${MINISIGN_KEY:+$(realpath "$MINISIGN_KEY")}"
    check_packages "$tree/build/attn-cli-$version"
    rm -rf "build/attn-cli-$version"
    mv "$tree/build/attn-cli-$version" build/
    rm -rf "$tree"
}

begin_next() {
    local next=${NEXT:-$(awk -F. '{ print $1 "." $2 + 1 ".0" }' <<<"$version")}
    set_version "$next.dev0" "$(defined ATTN_VERSION_DATE)"
    sed -i "0,/^## /s/^## /## $next, not released yet\n\n&/" CHANGELOG.md
    .packaging/facts.sh agree
    git commit -q -m "build: begin $next" lib/core/base/version.h lib/python/attn/version.py CITATION.cff CHANGELOG.md
    say "the tree is $next.dev0 now"
}

version=$(defined ATTN_VERSION)
refuse_what_is_not_ready
if [[ $version = *.dev* ]]; then
    commit_release
elif ! is_release; then
    fail "ATTN_VERSION is $version, and HEAD is not the commit of v$version"
fi
make_packages
tag_release
! git symbolic-ref -q HEAD >/dev/null || begin_next
say "build/attn-cli-$version is ready. Then: git push --follow-tags, and upload what is in it"
