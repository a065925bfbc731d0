# debian.sh - a Debian in a folder to try something in; needs root and debootstrap.
#
#     . "$(dirname "$0")/debian.sh"
#     debian_own_mounts "$@"                 # before anything else: it starts the script again
#     trap 'debian_remove "$root"' EXIT
#     debian_make bookworm "$root"
#     debian_mount "$root"
#     debian_install "$root" make git
#     chroot "$root" make ...
#
#     debian_unpack arm64 bookworm FOLDER python3      # the files alone, for qemu-user: without root or debootstrap
#
# What debootstrap makes is kept as build/debian/SUITE.tar, and unpacked the next time; `make clean`
# removes it. DEBIAN_MIRROR: where packages come from.

debian_kept=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/debian

# Starts the script again where its mounts are its own, so that not even SIGKILL leaves one. Where
# that is not permitted, it goes on.
debian_own_mounts() { # ARGUMENT...
    [ -z "${DEBIAN_OWN_MOUNTS-}" ] && unshare --mount true 2>/dev/null || return 0
    DEBIAN_OWN_MOUNTS=yes exec unshare --mount "$0" "$@"
}

# Makes the folder ROOT a minimal Debian SUITE. What fails is told by debootstrap.
debian_make() { # SUITE ROOT
    local kept=$debian_kept/$1.tar
    if [ ! -s "$kept" ]; then
        mkdir -p "$2" "$debian_kept"
        debootstrap --variant=minbase "$1" "$2" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" || return
        chroot "$2" apt-get clean
        # Another script may keep the same one now.
        tar -C "$2" --one-file-system -cf "$kept.$$" . && mv "$kept.$$" "$kept"
    else
        mkdir -p "$2" && tar -C "$2" -xpf "$kept"
    fi || return
    chmod 755 "$2" # mktemp makes a folder that its owner alone may enter
    cp /etc/resolv.conf "$2/etc/"
}

# Mounts what every machine has; fails where mounting is not permitted.
debian_mount() { # ROOT
    mount -t proc proc "$1/proc" &&
        mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$1/dev/pts" &&
        mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
}

debian_install() { # ROOT PACKAGE...
    local inside=(chroot "$1" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -qq -y)
    "${inside[@]}" update && "${inside[@]}" install --no-install-recommends "${@:2}"
}

# Unpacks PACKAGEs of SUITE and all packages that they depend on into FOLDER, unless it is there. Their scripts do not run.
debian_unpack() { # ARCHITECTURE SUITE FOLDER PACKAGE...
    local work file settings status=0
    [ ! -e "$3" ] || return 0
    work=$(mktemp -d)
    mkdir -p "$work/files" "$work/lists/partial" "$work/cache/archives/partial" "$(dirname "$3")"
    settings=(-qq -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o "APT::Architecture=$1"
        -o "APT::Architectures=$1" -o "Dir::Etc::SourceList=$work/sources" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::status=/dev/null -o APT::Sandbox::User=root -o APT::Install-Recommends=no)
    echo "deb ${DEBIAN_MIRROR:-http://deb.debian.org/debian} $2 main" >"$work/sources"
    apt-get "${settings[@]}" update && apt-get "${settings[@]}" -y --download-only install "${@:4}" || status=1
    for file in "$work"/cache/archives/*.deb; do
        [ $status -ne 0 ] || dpkg-deb -x "$file" "$work/files" || status=1
    done
    [ $status -ne 0 ] || mv "$work/files" "$3" || status=1
    rm -rf "$work"
    return $status
}

debian_unmount() { # ROOT
    local folder
    for folder in dev/shm dev/pts proc; do
        ! mountpoint -q "$1/$folder" || umount "$1/$folder" || umount -l "$1/$folder"
    done
}

# Mounts are no part of it: never removes what they hold.
debian_remove() { # ROOT
    debian_unmount "$1"
    rm -rf --one-file-system "$1"
}
