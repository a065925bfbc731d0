#!/usr/bin/env bash
# release.sh - makes a release of what is committed: `make release`.
#
# It refuses what is not ready, in one list; runs the tests; writes version and date; keeps what users of this version have
# (tests/former); renews the live page of README; commits that; makes all packages of a clone of the commit; checks and signs them;
# tags the commit; and begins the next version. Nothing is pushed. Run it again after a failure: on the commit of a release it begins
# with the packages, and so it does in a clone that has checked out a tag.
#
# MINISIGN_KEY   the secret key that signs; SIGN=no goes without. attn-cli.pub is its public key
# NEXT           the version that follows: by default the next candidate after one, 1.0.0-rc2, else the next MINOR
# PACKAGES       which packages, default all (make packages)
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD CC XSMM

fail() {
    printf 'release.sh: %s\n' "$@" >&2
    exit 1
}
say() { printf 'release: %s\n' "$*"; }
defined() { sed -nE "s/^#define $1 \"(.*)\"$/\1/p" lib/ground/base/version.h; }
form() { .packaging/facts.sh versions "$version" | sed -n "s/^$1 //p"; } # of the release

set_version() { # VERSION DATE
    local version=$1
    sed -i -E -e "s/^(#define ATTN_VERSION \").*\"/\1$1\"/" -e "s/^(#define ATTN_VERSION_DATE \").*\"/\1$2\"/" lib/ground/base/version.h
    sed -i -E -e "s/^version: .*/version: $1/" -e '/^date-released:/d' CITATION.cff
    .packaging/facts.sh module lib/python/attn "$1"
    [[ $1 != *.dev* ]] || return 0
    sed -i "/^version: /a date-released: \"$2\"" CITATION.cff
    sed -i -E -e "s/attn_cli-[0-9][0-9a-z.]*-py3/attn_cli-$(form python)-py3/" -e "s/attn-cli-[0-9][-0-9a-z.]*-linux/attn-cli-$1-linux/" \
        -e "s/attn-cli_[0-9][0-9a-z.~]*-1_/attn-cli_$(form debian)-1_/" -e "s/, version [0-9][-0-9a-z.]*[0-9]\./, version $1./" README.md
}

# --- What is not ready ----------------------------------------------------------------------------

problems=()
refuse() { problems+=("$@"); }
# Refuses what COMMAND says if it fails, a line each; with a TEXT only its last line, after TEXT.
must() { # TEXT COMMAND...
    local said line
    ! said=$("${@:2}" 2>&1) || return 0
    [ -z "$1" ] || { refuse "$1: $(tail -n 1 <<<"$said")" && return; }
    while IFS= read -r line; do refuse "${line#*.sh: }"; done <<<"$said"
}

missing_tools() {
    [ -z "${MINISIGN_KEY-}" ] || command -v minisign >/dev/null || echo minisign
    python3 -c 'import spdx_tools' >/dev/null 2>&1 || echo spdx-tools
    command -v abidiff >/dev/null || echo abigail-tools
    tests/tools/dependencies.sh missing build test wasm packages
}

# Lines of FILE, fields with the name of their struct, that the commit of TAG had. A new MINOR may change what extra.h has.
lost_lines() { # FILE TAG
    local same_minor=
    [[ $version != "$(cut -d. -f 1-2 <<<"${2#v}")".* ]] || same_minor=yes
    [[ -n $same_minor || $1 = *symbols ]] || return 0
    comm -23 <(git show "$2:$1" | lines_of "$same_minor") <(lines_of "$same_minor" <"$1")
}
lines_of() { # ALL
    awk -v all="$1" '/^    / { print name "." $0; next } { name = $1 } NF == 2 && /\.h / && (all || $1 == "attn.h")' | LC_ALL=C sort
}

refuse_what_is_built() {
    local tag file lost
    must 'it is not built' make -s all
    must 'tests/interface' python3 tests/tools/check_interface.py build/release/attn-cli
    must 'tests/install/symbols' tests/tools/check_symbols.sh
    must 'tests/install/layout.out' env BUILD=build/release tests/run_install.sh lays_out_structs_as_the_python_binding_does
    must 'check-upgrade' make -s check-upgrade
    tag=$(git tag --list 'v*' --merged HEAD --sort=-creatordate | head -n 1)
    for file in tests/install/symbols tests/install/layout.out; do
        [ -n "$tag" ] || break
        lost=$(lost_lines $file "$tag" | head -n 1)
        [ -z "$lost" ] || refuse "$file lost since $tag: $lost"
    done
}

refuse_what_is_not_ready() {
    local missing next=${version%.dev*}
    [ -z "$(git status --porcelain)" ] || refuse 'there are changes that are not committed'
    [ -n "${MINISIGN_KEY-}" ] || [ "${SIGN-}" = no ] || refuse 'MINISIGN_KEY names no key: SHA256SUMS cannot be signed (SIGN=no goes without)'
    [ -z "${MINISIGN_KEY-}" ] || [ -s "$MINISIGN_KEY" ] || refuse "MINISIGN_KEY: '$MINISIGN_KEY' cannot be read"
    [ "${SIGN-}" = no ] || [ -s attn-cli.pub ] || refuse 'attn-cli.pub is missing: the public key of MINISIGN_KEY, as minisign -R writes it'
    must '' .packaging/facts.sh require-always
    must '' .packaging/facts.sh agree
    must '' .packaging/check_notes.sh
    grep -q untested README.md || refuse "README.md does not say what is untested"
    missing=$(missing_tools | paste -sd ' ')
    [ -z "$missing" ] || refuse "missing, by the names of packages: $missing"
    if [[ $version = *.dev* ]]; then
        git symbolic-ref -q HEAD >/dev/null || refuse 'HEAD is detached: a release is a commit of a branch'
        ! git rev-parse -q --verify "refs/tags/v$next" >/dev/null || refuse "v$next is there already"
        refuse_what_is_built
    fi
    [ ${#problems[@]} -eq 0 ] || fail "${problems[@]}"
}

# The commit of a release. The tag comes when its packages are made.
commit_release() {
    local next=${version%.dev*} today
    today=$(date -u +%F)
    make test || fail 'the tests fail: nothing was changed'
    tests/tools/check_abi.sh --keep
    set_version "$next" "$today"
    sed -i "0,/^## /s/^## .*/## $next, $today/" CHANGELOG.md
    .packaging/facts.sh agree
    make wasm
    make all
    make keep-former
    build/release/attn-cli run -q --live --html data/pictures/live.html --story data/stories/five-heads.json "The keys to the cabinet"
    git add -A tests/install/abi-* lib/ground/base/version.h lib/python/attn/version.py CITATION.cff CHANGELOG.md README.md tests/former data/pictures/live.html
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
    local file said work debian
    work=$(mktemp -d) debian=$(form debian)
    for file in "$1"/*; do
        [[ -d $file || $file == */SHA256SUMS* || $file == *"-$version"[-.]* || $file == *"-$(form python)"[-.]* || $file == *"_$debian-1_"* ]] ||
            fail "'$file' is not of $version"
    done
    ! grep -rlE 'example\.org|@[A-Z]+@' "$1"/recipes "$1"/*.md "$1"/*.json || fail 'the files above lack an address'
    for file in "$1"/*.deb; do
        [ ! -e "$file" ] || [ "$(dpkg-deb -f "$file" Version)" = "$debian-1" ] || fail "'$file' is not of $debian-1"
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

check_signature() { # FOLDER
    minisign -V -q -p attn-cli.pub -m "$1/SHA256SUMS" || fail 'the signature is not of the key attn-cli.pub'
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
    local next
    next=${NEXT:-$(awk -F. '/-rc/ { split($0, part, "-rc"); print part[1] "-rc" part[2] + 1; next } { print $1 "." $2 + 1 ".0" }' <<<"$version")}
    set_version "$next.dev0" "$(defined ATTN_VERSION_DATE)"
    sed -i "0,/^## /s/^## /## $next, not released yet\n\n&/" CHANGELOG.md
    .packaging/facts.sh agree
    git commit -q -m "build: begin $next" lib/ground/base/version.h lib/python/attn/version.py CITATION.cff CHANGELOG.md
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
