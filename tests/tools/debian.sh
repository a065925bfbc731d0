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
