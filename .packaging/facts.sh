#!/usr/bin/env bash
# facts.sh - what packages say of the project, from the one place of each fact: lib/ground/base/version.h has the version and its
# date, CITATION.cff the addresses.
#
#   facts.sh versions [VERSION]    prints the forms of a version, a line each; of the version of this build without VERSION
#   facts.sh fill FILE...    replaces @VERSION@, @PYTHON_VERSION@, @DEBIAN_VERSION@, @HOMEPAGE@, @REPOSITORY@ and @EMAIL@ in files
#   facts.sh require         fails for a release, of which no package may be made, while an address is of example.org
#   facts.sh module FOLDER [VERSION]       writes FOLDER/version.py, which the Python module in FOLDER takes its version from
#   facts.sh dist-info FOLDER INSTALLER    writes FOLDER/attn_cli-VERSION.dist-info and FOLDER/attn/version.py for a distribution
#   facts.sh agree           fails if CITATION.cff, CHANGELOG.md or the module are of another version, if the first section of
#                            CHANGELOG.md is too long or has other headings, or if a recipe lacks a licence
#
# The version has four forms, and no other place converts them:
#
#   header     1.0.0-rc1.dev0                       in version.h, in files that are written, in attn_version()
#   program    1.0.0-rc1.dev4548+gd0b333da5         --version, archives; a tag and CITATION.cff of a release
#   python     1.0.0rc1.dev4548+gd0b333da5          wheel, sdist, attn.__version__
#   debian     1.0.0~rc1~dev4548+gd0b333da5         Debian packages, pkg-config; sorts as the versions follow each other
#
# Between releases 4548 is the number of commits and d0b333da5 the last one. Git counts them; an archive of `make dist` has
# them in .packaging/commit. Where neither is there, the number is 0. A release has none of this.
set -eu
cd "$(dirname "$0")/.."

version=$(sed -nE 's/^#define ATTN_VERSION "(.*)"$/\1/p' lib/ground/base/version.h)
forms=() # header, program, python, debian
date=$(sed -nE 's/^#define ATTN_VERSION_DATE "(.*)"$/\1/p' lib/ground/base/version.h)

fail() {
    printf 'facts.sh: %s\n' "$@" >&2
    exit 1
}

# Sets `forms` to those of VERSION.
find_forms() { # VERSION [HEADER]
    local python=${1/-rc/rc} debian=${1/-rc/\~rc}
    forms=("${2-$1}" "$1" "$python" "${debian/.dev/\~dev}")
}

# The same of this build, which has a number between releases.
find_forms_of_build() {
    local commit='' number=''
    [[ $version = *.dev0 ]] || { find_forms "$version" && return; }
    read -r commit number <.packaging/commit || :
    if [[ $commit = *Format* ]]; then # of a checkout: no archive was made
        commit=$(git rev-parse HEAD 2>/dev/null) && number=$(git rev-list --count HEAD) || number=
    fi
    if [ -n "$number" ]; then
        find_forms "${version%0}$number+g${commit::9}" "$version"
    else
        find_forms "$version"
    fi
}

# The value of KEY in CITATION.cff.
cited() { sed -nE "s/^ *$1: \"?([^\"]*)\"?$/\1/p" CITATION.cff; }

require_addresses() {
    local key value missing=()
    for key in url repository-code email; do
        value=$(cited $key)
        [[ -n $value && $value != *example.org* ]] ||
            missing+=("CITATION.cff: '$key' is '$value', expected the project's own: no package of a release is made without it")
    done
    ! grep -q 'the attn-cli authors' CITATION.cff || missing+=("CITATION.cff: the authors are 'the attn-cli authors', expected their names")
    [ ${#missing[@]} -eq 0 ] || fail "${missing[@]}"
}

check_agreement() {
    local heading expected="## ${version%.dev*}, not released yet"
    heading=$(grep -m 1 '^## ' CHANGELOG.md)
    [[ $version = *.dev* ]] || expected="## $version, $date"
    [ "$heading" = "$expected" ] || fail "CHANGELOG.md: the first section is '$heading', expected '$expected' for version $version"
    [ "$(cited version)" = "$version" ] || fail "CITATION.cff: version is '$(cited version)', expected '$version'"
    find_forms "$version"
    [[ $version = *.dev* ]] || grep -qF "attn_cli-${forms[2]}-py3" README.md ||
        fail "README.md names no file of ${forms[2]} to install"
    grep -qxF "VERSION = \"${forms[2]}\"" lib/python/attn/version.py ||
        fail "lib/python/attn/version.py has another version, expected ${forms[2]}: .packaging/facts.sh module lib/python/attn $version"
    [[ $version = *.dev* ]] || [ "$(cited date-released)" = "$date" ] ||
        fail "CITATION.cff: date-released is '$(cited date-released)', expected '$date'"
}

# The first section of CHANGELOG.md: its size, its headings, and lines that each say one change.
check_changes() {
    local problem
    problem=$(awk -v known=' Run Heads Questions Files Library Packages ' '
        /^## / { if (inside++) exit; next }
        !inside { next }
        { words += NF }
        /^### / && (!index(known, " " $2 " ") || NF != 2 || $2 in seen) { print "the heading \"" $0 "\", expected one of" known "once" }
        /^### / { seen[$2]; next }
        /^- / { n++ }
        /^- / && NF - 1 > 25 { print NF - 1 " words, expected at most 25: " $0 }
        /^[^-]/ && n { print "a line that belongs to no change: " $0 }
        END {
            if (!n) print "no line of a change"
            if (words > 1200) print words " words, expected at most 1200"
        }' CHANGELOG.md)
    [ -z "$problem" ] || fail "CHANGELOG.md, the first section: $(head -n 1 <<<"$problem")"
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

write_module() { # FOLDER
    printf '%s\n' '"""The version of this module in the form of Python packages. .packaging/facts.sh writes it."""' \
        "VERSION = \"${forms[2]}\"" >"$1/version.py"
}

write_dist_info() { # FOLDER INSTALLER
    local info=$1/attn_cli-${forms[2]}.dist-info
    mkdir -p "$info"
    echo "$2" >"$info/INSTALLER"
    printf '%s\n' 'Metadata-Version: 2.4' 'Name: attn-cli' "Version: ${forms[2]}" \
        'Summary: Runs GPT-style models on a CPU and shows what their attention does' 'Author: the attn-cli authors' \
        'License-Expression: MIT AND BSD-3-Clause AND MIT-CMU AND Unicode-3.0' 'Requires-Python: >=3.9' \
        'Requires-Dist: numpy>=1.21' >"$info/METADATA"
    [ ! -d "$1/attn" ] || write_module "$1/attn"
}

find_forms_of_build
case ${1-} in
versions)
    [ $# -eq 1 ] || find_forms "$2"
    printf '%s %s\n' header "${forms[0]}" program "${forms[1]}" python "${forms[2]}" debian "${forms[3]}"
    ;;
module)
    [ $# -eq 2 ] || find_forms "$3"
    write_module "$2"
    ;;
fill)
    shift
    sed -i -e "s|@VERSION@|${forms[1]}|g" -e "s|@PYTHON_VERSION@|${forms[2]}|g" -e "s|@DEBIAN_VERSION@|${forms[3]}|g" -e "s|@HOMEPAGE@|$(cited url)|g" \
        -e "s|@REPOSITORY@|$(cited repository-code)|g" -e "s|@EMAIL@|$(cited email)|g" "$@"
    ;;
require) [[ $version = *.dev* ]] || require_addresses ;;
require-always) require_addresses ;; # before a release is made
agree) check_agreement && check_changes && check_licences ;;
dist-info) write_dist_info "$2" "$3" ;;
*) fail 'usage: facts.sh versions [VERSION], fill FILE..., require, agree, module FOLDER [VERSION], dist-info FOLDER INSTALLER' ;;
esac
