#!/usr/bin/env bash
# source.sh - gets the sources of the libraries that packages are linked with, the same on every system.
#
#   source.sh FOLDER PACKAGE...    unpacks the source of each into FOLDER/PACKAGE, patched by patches/PACKAGE.patch
#   source.sh --needed FOLDER PACKAGE...    leaves only what libraries.sh compiles, and licences
#   source.sh --newest             names the packages of which their suite of Debian or its security updates have a newer version
#
# The files are those of sources.sha256, and are kept in build/sources. Debian keeps the archives of upstream as long as a
# suite; its own patches it replaces with each update, so they lie here. DEBIAN_MIRROR: where the files come from.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
kept=$(cd "$here/.." && pwd)/build/sources
table=$here/sources.sha256
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

fail() {
    printf 'source.sh: %s\n' "$@" >&2
    exit 1
}

unpack() { # FOLDER PACKAGE
    local digest path file part
    read -r digest _ _ path _ < <(grep "^[0-9a-f]* $2 " "$table") || fail "'$2' is not in .packaging/sources.sha256"
    file=$kept/${path##*/} part=$kept/${path##*/}.$$
    mkdir -p "$kept" "$1/$2"
    if ! sha256sum --status --check <<<"$digest  $file" 2>/dev/null; then
        /usr/lib/apt/apt-helper -qq -o Acquire::Retries=3 -o APT::Sandbox::User=root \
            download-file "$mirror/pool/main/$path" "$part" "SHA256:$digest" >&2 ||
            fail "'$mirror/pool/main/$path' is expected to have the SHA-256 $digest"
        mv "$part" "$file"
    fi
    tar -C "$1/$2" --strip-components=1 -xf "$file"
    [ ! -e "$here/patches/$2.patch" ] || patch -s -d "$1/$2" -p1 <"$here/patches/$2.patch"
}

# apt checks signatures; its own lists and settings stay as they are.
print_newer() {
    local settings package version newest suite
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work"/lists/partial "$work"/cache/archives/partial
    chmod 755 "$work"
    settings=(-qq -o "Dir::Etc::SourceList=$work/sources" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root)
    for suite in $(sed '/^#/d; s/.* //' "$table" | sort -u); do
        printf 'deb-src %s main\n' "$mirror $suite" \
            "${DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security} $suite-security" >"$work/sources"
        rm -rf "$work"/lists/*_*
        apt-get "${settings[@]}" update >&2 || fail "the lists of Debian's $suite cannot be read"
        while read -r _ package version _; do
            newest=$(apt-cache "${settings[@]}" showsrc --only-source "$package" | sed -n 's/^Version: //p' | sort -V | tail -n 1)
            [ "$newest" = "$version" ] || echo "$package: Debian's $suite has $newest, .packaging/sources.sha256 $version"
        done < <(grep -v '^#' "$table" | grep " $suite\$")
    done
}

[ "${1-}" != --newest ] || { print_newer && exit; }
needed=
[ "${1-}" != --needed ] || { needed=yes && shift; }
[ $# -ge 2 ] || fail 'usage: source.sh [--needed] FOLDER PACKAGE..., source.sh --newest'
folder=$1
shift
for package; do unpack "$folder" "$package"; done
if [ -n "$needed" ]; then # not tests, examples, programs or PCRE2's compiler for machine code, which are under other licences
    find "$folder" -mindepth 2 -maxdepth 2 -type d ! -name src -exec rm -r {} +
    find "$folder" -type f ! -name '*.[ch]' ! -name '*.generic' ! -name '*.dist' ! -name 'LICEN?E*' -delete
    find "$folder" -type d -empty -delete
fi
