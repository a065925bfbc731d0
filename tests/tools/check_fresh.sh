#!/usr/bin/env bash
# check_fresh.sh - tries README's make run and make test, word for word, where nothing is installed yet.
#
#   check_fresh.sh SUITE...      of Debian (bookworm, trixie), made by debootstrap; needs root
#
# XSMM=no is handed on: Debian 11 (bullseye) has no libxsmm.
#
# In each Debian it plays these, or those that SCENARIOS names:
#
#   root    root, in an empty Debian that has but make and git
#   user    a user without root or sudo, where root has installed the packages
#   space   the same user, in a folder with a space in its path
#   archive the same user, with the two archives of `make dist` instead of a clone; only when it is named
#   bare    the same user, where /dev/pts and /dev/shm are not mounted; only when it is named
#
# root and space run all tests, the others those that see user and mounts: command line, README and installation.
# It takes a clone of what is committed. A line tells of each command how it ended; below it stands
# what was skipped and what failed. build/fresh/SUITE-SCENARIO.log has all that was printed.
set -u
. "$(dirname "$0")/debian.sh"
debian_own_mounts "$@"
cd "$(dirname "$0")/../.." || exit 1

say() { printf 'check-fresh: %s\n' "$*"; }
fail() {
    say "FAILED: $*"
    failed=1
}
give_up() {
    fail "$@"
    exit 1
}

# Runs COMMAND in FOLDER of the Debian as a shell of WHO would.
as() { # WHO FOLDER COMMAND
    local places=/usr/local/bin:/usr/bin:/bin home=/home/$1
    [ "$1" != root ] || places=/usr/local/sbin:$places:/usr/sbin:/sbin home=/root
    # shellcheck disable=SC2016 # for the shell inside
    chroot --userspec="$1:$1" --groups= "$root" env -i HOME="$home" PATH="$places" TERM=dumb \
        ${http_proxy:+http_proxy="$http_proxy"} ${ATTN_TEST_AGAIN:+ATTN_TEST_AGAIN=yes} ${without_xsmm:+XSMM=no} bash -c 'cd "$1" && eval "$2"' bash "$2" "$3" </dev/null
}

# Makes the Debian that scenarios share, with what README tells to install by hand.
prepare() { # SUITE
    [ -z "$root" ] || debian_remove "$root"
    root=$(mktemp -d)
    debian_make "$1" "$root" >"$log" 2>&1 || give_up "$1 cannot be had: $(tail -n 1 "$log")"
    debian_mount "$root" 2>"$log" || give_up "$1 has no /proc and /dev/pts: $(tail -n 1 "$log")"
    debian_install "$root" make git >"$log" 2>&1 ||
        give_up "$1: make and git cannot be installed: $(tail -n 1 "$log")"
    chroot "$root" useradd --create-home someone || give_up "$1: no user can be made"
}

# What `make test` counted, or how the command ended.
judge() { # STATUS
    local counts
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    [ "$1" -ne 0 ] || { echo "${counts:-passed}" && return; }
    echo "${counts:+$counts, }status $1"
}

# Checks that make run, whose output is in $log, installed what --image, sound, --png and --pdf open, if it could,
# and otherwise named what is missing in one line.
check_offer() { # WHO FOLDER WHERE
    local missing
    missing=$(as root "$2" 'tests/tools/dependencies.sh missing draw pictures')
    if [ "$1" = root ] && [ -n "$missing" ]; then
        fail "$3: make run did not install $missing"
    elif [ -n "$missing" ] && ! grep -qF "attn-cli: without $missing some of --image, sound, --png and --pdf are refused" "$log"; then
        fail "$3: make run did not name $missing"
    fi
}

# Unpacks what make dist makes of the clone; its folder becomes the clone.
take_archives() {
    local archive
    make -C "$clone" dist >"$log" 2>&1 || give_up "make dist: $(tail -n 1 "$log")"
    mkdir "$clone/unpacked"
    for archive in "$clone"/build/*.tar.gz; do tar -C "$clone/unpacked" --strip-components=1 -xzf "$archive" || give_up "$archive"; done
}

play() { # SUITE SCENARIO WHO FOLDER
    local command status start summary where="$1, $2"
    [[ $2 = root || $2 = space ]] || local parts=" PARTS='cli readme install'"
    mkdir -p "$root${4%/*}"
    cp -r "$clone$([ "$2" != archive ] || echo /unpacked)" "$root$4"
    chroot "$root" chown -R "$3:$3" "${4%/*}"
    if [ "$3" != root ]; then
        as root "$4" 'make deps-test' >"$log" 2>&1 ||
            give_up "$where: make deps-test: $(tail -n 1 "$log")"
    fi
    for command in "${commands[@]}"; do
        start=$SECONDS
        [[ $command != 'make test '* ]] || command="make test${parts-}"
        as "$3" "$4" "$command" >"$log" 2>&1
        status=$?
        cat "$log" >>"build/fresh/$1-$2.log"
        summary="$where: ${command%%  *}: $(judge $status), $((SECONDS - start)) s"
        if [ $status -eq 0 ]; then say "$summary"; else fail "$summary"; fi
        [[ $command != 'make run '* ]] || check_offer "$3" "$4" "$where"
        grep '^unsteady: ' "$log"
        sed -n '/^What was skipped, and why:$/,$p' "$log" | sed -e '$d' -e '/^$/d' | grep . ||
            [ $status -eq 0 ] || tail -n 30 "$log"
    done
}

[ "$(id -u)" -eq 0 ] || { say 'needs root, for debootstrap and chroot' && exit 1; }
[ $# -gt 0 ] || { say 'expected a SUITE, bookworm say' && exit 1; }
[ "${XSMM-}" != no ] || without_xsmm=yes
root='' log=$(mktemp) clone=$(mktemp -d) failed=0
trap '[ -z "$root" ] || debian_remove "$root"; rm -rf "$log" "$clone"' EXIT
mkdir -p build/fresh
git clone -q --depth 1 "file://$PWD" "$clone" 2>"$log" || give_up "no clone: $(tail -n 1 "$log")"

# The commands that build and test: README says that these two are enough.
mapfile -t commands < <(awk '/^```/ { inside = /sh$/ } inside && /^make (run|test) /' "$clone/README.md")
[[ ${#commands[@]} -eq 2 && ${commands[0]} == 'make run '* && ${commands[1]} == 'make test '* ]] ||
    give_up "README.md has ${#commands[@]} such commands, '${commands[*]}', expected make run and make test"
say "of $(git -C "$clone" log -1 --format='%h, %s')"

for suite; do
    root=''
    for scenario in ${SCENARIOS:-root user space}; do
        : >"build/fresh/$suite-$scenario.log"
        if [ -z "$root" ] || [ "$scenario" = root ]; then prepare "$suite"; fi
        case $scenario in
        root) play "$suite" root root /root/attn-cli ;;
        user) play "$suite" user someone /home/someone/attn-cli ;;
        space) play "$suite" space someone '/home/someone/some models/attn-cli' ;;
        archive)
            [ -d "$clone/unpacked" ] || take_archives
            play "$suite" archive someone /home/someone/archive/attn-cli
            ;;
        bare)
            umount "$root/dev/pts" "$root/dev/shm"
            play "$suite" bare someone /home/someone/bare/attn-cli
            ;;
        *) give_up "there is no scenario '$scenario', expected root, user, space, archive or bare" ;;
        esac
    done
    debian_remove "$root"
    root=''
done
exit $failed
