#!/usr/bin/env bash
# facts.sh - what packages say of the project, from the one place of each fact: lib/core/base/version.h has the version and its
# date, CITATION.cff the addresses.
#
#   facts.sh fill FILE...    replaces @VERSION@, @DEBIAN_VERSION@, @HOMEPAGE@, @REPOSITORY@ and @EMAIL@ in files
#   facts.sh require         fails for a release, of which no package may be made, while an address is of example.org
#   facts.sh dist-info FOLDER INSTALLER    writes FOLDER/attn_cli-VERSION.dist-info for the Python module of a distribution
#   facts.sh agree           fails if CITATION.cff and CHANGELOG.md are of another version, or a recipe lacks a licence
set -eu
cd "$(dirname "$0")/.."

version=$(sed -nE 's/^#define ATTN_VERSION "(.*)"$/\1/p' lib/core/base/version.h)
date=$(sed -nE 's/^#define ATTN_VERSION_DATE "(.*)"$/\1/p' lib/core/base/version.h)

fail() {
    printf 'facts.sh: %s\n' "$@" >&2
    exit 1
}

# The value of KEY in CITATION.cff.
cited() { sed -nE "s/^ *$1: \"?([^\"]*)\"?$/\1/p" CITATION.cff; }

require_addresses() {
    local key value
    for key in url repository-code email; do
        value=$(cited $key)
        [[ -n $value && $value != *example.org* ]] ||
            fail "CITATION.cff: '$key' is '$value', expected the project's own: no package of a release is made without it"
    done
}

check_agreement() {
    local heading expected="## ${version%.dev*}, not released yet"
    heading=$(grep -m 1 '^## ' CHANGELOG.md)
    [[ $version = *.dev* ]] || expected="## $version, $date"
    [ "$heading" = "$expected" ] || fail "CHANGELOG.md: the first section is '$heading', expected '$expected' for version $version"
    [ "$(cited version)" = "$version" ] || fail "CITATION.cff: version is '$(cited version)', expected '$version'"
    [[ $version = *.dev* ]] || [ "$(cited date-released)" = "$date" ] ||
        fail "CITATION.cff: date-released is '$(cited date-released)', expected '$date'"
}

# A package has the licences of what the sources contain of others (PORTS), built from a recipe, too.
check_licences() {
    local licence file
    for licence in $(sed -nE '/^PORTS/,/^}/s/^ *"[^"]*": \("([^"]*)".*/\1/p' .packaging/licences.py | sort -u); do
        for file in .packaging/recipes/* .packaging/facts.sh; do
            grep -qE "license.*$licence" -i "$file" || fail "$file: its licences lack $licence, which .packaging/licences.py has"
        done
    done
}

write_dist_info() { # FOLDER INSTALLER
    local info=$1/attn_cli-$version.dist-info
    mkdir -p "$info"
    echo "$2" >"$info/INSTALLER"
    printf '%s\n' 'Metadata-Version: 2.4' 'Name: attn-cli' "Version: $version" \
        'Summary: Runs GPT-style models on a CPU and shows what their attention does' 'Author: the attn-cli authors' \
        'License-Expression: MIT AND BSD-3-Clause AND MIT-CMU AND Unicode-3.0' 'Requires-Python: >=3.9' \
        'Requires-Dist: numpy>=1.21' >"$info/METADATA"
}

case ${1-} in
fill)
    shift
    sed -i -e "s|@VERSION@|$version|g" -e "s|@DEBIAN_VERSION@|${version/.dev/\~dev}|g" -e "s|@HOMEPAGE@|$(cited url)|g" \
        -e "s|@REPOSITORY@|$(cited repository-code)|g" -e "s|@EMAIL@|$(cited email)|g" "$@"
    ;;
require) [[ $version = *.dev* ]] || require_addresses ;;
require-always) require_addresses ;; # before a release is made
agree) check_agreement && check_licences ;;
dist-info) write_dist_info "$2" "$3" ;;
*) fail 'usage: facts.sh fill FILE..., require, agree, dist-info FOLDER INSTALLER' ;;
esac
