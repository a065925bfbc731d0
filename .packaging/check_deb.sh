#!/usr/bin/env bash
# check_deb.sh - installs the packages of deb.sh in a fresh Debian 12, uses, upgrades and removes them.
#
#   check_deb.sh FOLDER VERSION      needs root, for debootstrap and chroot
set -eu

. "$(dirname "$0")/../tests/tools/debian.sh"
debian_own_mounts "$@"

folder=$(realpath "$1") version=$2
root=$(mktemp -d) before=$(mktemp)
trap 'debian_remove "$root"; rm -f "$before"' EXIT

say() { printf 'check-deb: %s\n' "$*"; }
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
apt() { inside apt-get -qq -y "$@" >"$root/log" 2>&1 || { cat "$root/log" && return 1; }; }
# What is in the system, but for what a package manager and a cache write.
list() { (cd "$root" && find . -xdev -path ./proc -prune -o -path ./packages -prune -o \
    -path './var/*' -prune -o -path ./log -prune -o -path './tmp/*' -prune -o -print | LC_ALL=C sort); }
# Makes the same packages with a later version.
raise() {
    local file made
    for file in "$root"/packages/*.deb; do
        made=$(mktemp -d)
        dpkg-deb -R "$file" "$made"
        sed -i "s/$version-1/$version-2/g" "$made/DEBIAN/control"
        dpkg-deb -b --root-owner-group "$made" "${file/$version-1/$version-2}" >"$root/log"
        rm -r "$made" "$file"
    done
}
use() {
    local test package
    for package in attn-cli libattn1 libattn-dev python3-attn; do
        grep -q . "$root/usr/share/doc/$package/NOTICE" || { say "$package has no NOTICE" && return 1; }
    done
    for test in main-job compile python; do
        inside env AUTOPKGTEST_TMP=/tmp sh -c "$(cat "$(dirname "$0")/debian/tests/$test")" >"$root/log" 2>&1 ||
            { cat "$root/log" && return 1; }
    done
}

debian_make bookworm "$root" >/dev/null
debian_mount "$root"
# What the packages and their tests need stays when they are removed.
debian_install "$root" gcc libc6-dev libcjson-dev libpcre2-dev libxsmm-dev \
    zlib1g-dev pkg-config python3-numpy unzip >"$root/log" 2>&1 || { cat "$root/log" && exit 1; }
list >"$before"
mkdir "$root/packages"
cp "$folder"/*"_$version-1_"*.deb "$root/packages/"
rm -f "$root"/packages/*-dbgsym_*

# shellcheck disable=SC2046 # a word each
apt install --no-install-recommends $(cd "$root" && ls packages/*.deb | sed 's|^|/|')
use
say "installed and used: $(inside attn-cli --version | head -1)"
raise
# shellcheck disable=SC2046
apt install --no-install-recommends $(cd "$root" && ls packages/*.deb | sed 's|^|/|')
[ "$(inside dpkg-query -W -f '${Version}' attn-cli)" = "$version-2" ]
use
say "upgraded to $version-2 and used"
apt purge attn-cli libattn1 libattn-dev python3-attn
rm -r "$root/packages"
list | diff "$before" - || { say "FAILED: the lines above were left or lost"; exit 1; }
say 'removed: nothing is left'
