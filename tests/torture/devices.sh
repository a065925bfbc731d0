#!/usr/bin/env bash
# devices.sh - places that cannot be written or read: a full device, a file system that fills up
# after any number of blocks, a pipe without a reader, closed descriptors, missing permission,
# directories in place of files and files in place of directories.
. "$(dirname "$0")/frame.sh"

# To fill a file system it must be ours: a name space of mounts, as root or as who may be root there.
if [ -z "${TORTURE_HAS_MOUNTS-}" ]; then
    for unshare in 'unshare --mount' 'unshare --map-root-user --mount'; do
        $unshare true 2>/dev/null || continue
        TORTURE_HAS_MOUNTS=yes exec $unshare "$root/tests/torture/devices.sh"
    done
fi

life=(-m models/life-is-short -p 'Life is short, eat dessert first')
long=(-m models/tiny-gpt2 --sites '*' -p 'The keys are on the table')

# Runs with ARGUMENTS, or makes a model if they begin with "init"; tells what is wrong when it should
# end with STATUS.
ends_with() { # STATUS ARGUMENTS...
    local expected=$1 status
    shift
    [ "$1" = init ] || set -- run "$@"
    timeout "$patience" "$cli" "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    [ $status -eq "$expected" ] || echo "status $status, expected $expected: $(cat "$scratch/err")"
    strange_end $status "$scratch/err"
}

# The same as a test of its own.
expect_end() { # WHAT STATUS ARGUMENTS...
    local what=$1 problem
    shift
    problem=$(ends_with "$@")
    [ -z "$problem" ] && pass || fail "$what: $problem"
}

# --- full devices -------------------------------------------------------------------------------

# Sets the array `command` to what writes FORMAT into FOLDER; "init" makes a model there.
writing() { # FORMAT FOLDER
    local options everything making
    case $1 in
    init)
        making_into "$2/model" 160
        command=("${making[@]}")
        return
        ;;
    everything)
        everything_into "$2"
        options=("${everything[@]}")
        ;;
    *) into "$1" "$2" ;;
    esac
    command=(run "${long[@]}" "${options[@]}")
}

fill_up() { # FORMAT FREE_KIB
    local command problem status standard=$scratch/out
    rm -rf "$scratch/small"/*
    head -c $(((1024 - $2) * 1024)) /dev/zero >"$scratch/small/filler"
    mkdir -p "$scratch/small/seen"
    [ "$1" != text ] || standard=$scratch/small/standard
    writing "$1" "$scratch/small/seen"
    timeout "$patience" "$cli" "${command[@]}" >"$standard" 2>"$scratch/err"
    status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 5 ] || problem="status $status"
    problem+=$(strange_end $status "$scratch/err")
    problem+=$(strange_files "$scratch/good-$1" "$scratch/small/seen" /nonexistent \
        "$([ $status -ne 0 ] || echo whole)")
    [ -z "$problem" ] && pass || fail "$1 with $2 KiB left: $problem"
    n_full=$((n_full + (status == 5)))
}

if [ -n "${TORTURE_HAS_MOUNTS-}" ] && mkdir "$scratch/small" &&
    mount -t tmpfs -o size=1m tmpfs "$scratch/small" 2>/dev/null; then
    n_full=0
    step=64 formats=(everything init)
    is_full && step=4 formats=(text "${outputs[@]}" everything init)
    for format in "${formats[@]}"; do
        mkdir "$scratch/good-$format"
        writing "$format" "$scratch/good-$format"
        "$cli" "${command[@]}" >/dev/null || fail "$format does not run"
        for ((free = 0; free <= 1024; free += step)); do
            fill_up "$format" "$free"
        done
    done
    [ $n_full -ge ${#formats[@]} ] && pass || fail "only $n_full runs met the end of the device"
    umount "$scratch/small"
else
    skip 'a file system that fills up: mounting is not permitted here'
fi

for format in tidy npz json; do
    expect_end "--$format /dev/full" 5 "${life[@]}" "--$format" /dev/full
done
for format in csv npy; do
    expect_end "--$format below a device" 5 "${life[@]}" "--$format" /dev/full
done
"$cli" run "${life[@]}" >/dev/full 2>"$scratch/err"
status=$?
[ $status -eq 5 ] && [ -z "$(strange_end 5 "$scratch/err")" ] && pass || fail "text: status $status"

# --- pipes and descriptors ----------------------------------------------------------------------

for format in '' '--csv - --sites pattern' '--tidy -' '--npz -' '--json -'; do
    read -ra arguments <<<"$format"
    : >"$scratch/err"
    {
        sleep 0.05 # the reader is gone by then
        timeout "$patience" "$cli" run "${life[@]}" "${arguments[@]}" 2>"$scratch/err"
        echo $? >"$scratch/status"
    } | true
    status=$(cat "$scratch/status")
    [ "$status" -eq 0 ] && [ ! -s "$scratch/err" ] && pass ||
        fail "closed pipe, '$format': status $status, $(cat "$scratch/err")"
done

mkdir "$scratch/good" "$scratch/seen"
everything_into "$scratch/good"
"$cli" run "${life[@]}" "${everything[@]}"
making_into "$scratch/good/model"
"$cli" "${making[@]}"
everything_into "$scratch/seen"
making_into "$scratch/seen/model"
for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- 2>&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    rm -rf "$scratch/seen"/*
    eval 'timeout "$patience" "$cli" run "${life[@]}" "${everything[@]}"' "$closed"
    status=$?
    eval 'timeout "$patience" "$cli" "${making[@]}"' "$closed" || status=$?
    problem=$(strange_files "$scratch/good" "$scratch/seen" /nonexistent whole)
    [ $status -eq 0 ] && [ -z "$problem" ] && pass || fail "with $closed: status $status $problem"
done

# --- permission and kinds of files --------------------------------------------------------------

places=$scratch/places
mkdir -p "$places/csv" "$places/closed" "$places/directory"
cp -r models/life-is-short "$places/model"
echo 'Life is short' >"$places/text"
echo old >"$places/old"
chmod 755 "$scratch"
chmod 444 "$places/old"
chmod 555 "$places/closed"

if [ "$(id -u)" -ne 0 ]; then
    someone=()
elif command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups test -r models/tiny-gpt2/config.json; then
    someone=(setpriv --reuid=65534 --clear-groups)
else
    someone=(none)
    skip 'permissions: root has them all, and nobody else can read this folder, or there is no setpriv (util-linux)'
fi
if [ "${someone[*]-}" != none ]; then
    chmod 777 "$places"
    for file in config.json vocab.json model.safetensors; do
        chmod 000 "$places/model/$file"
        expect_by_someone() { # WHAT STATUS ARGUMENTS...
            local run=("$cli") problem
            cli=$scratch/as_someone problem=$(ends_with "${@:2}")
            cli=${run[0]}
            [ -z "$problem" ] && pass || fail "$1: $problem"
        }
        printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${someone[*]-}" "$cli" >"$scratch/as_someone"
        chmod 755 "$scratch/as_someone"
        expect_by_someone "unreadable $file" 3 -m "$places/model" -p 'Life is'
        chmod 644 "$places/model/$file"
    done
    chmod 000 "$places/text"
    expect_by_someone 'unreadable text' 4 "${life[@]:0:2}" -f "$places/text"
    chmod 644 "$places/text"
    for format in tidy npz json; do
        expect_by_someone "$format into a closed folder" 5 "${life[@]}" "--$format" "$places/closed/x"
        expect_by_someone "$format over a read-only file" 5 "${life[@]}" "--$format" "$places/old"
    done
    for format in csv npy; do
        expect_by_someone "$format into a closed folder" 5 "${life[@]}" "--$format" "$places/closed"
    done
    making_into "$places/closed/x"
    expect_by_someone 'a model into a closed folder' 5 "${making[@]}"
    making_into "$places/closed"
    expect_by_someone 'a model as a closed folder' 5 "${making[@]}"
    [ "$(cat "$places/old")" = old ] && [ -z "$(ls -A "$places/closed")" ] && pass ||
        fail 'what could not be written was'
fi

for format in tidy npz json; do
    expect_end "directory for a file of $format" 5 "${life[@]}" "--$format" "$places/directory"
done
for format in csv npy; do
    expect_end "file for the directory of $format" 5 "${life[@]}" "--$format" "$places/text"
done
for folder in "$places/text" /dev/full "$places/missing/model"; do
    making_into "$folder"
    expect_end "$folder for the folder of a model" 5 "${making[@]}"
done
expect_end 'directory for a text' 4 "${life[@]:0:2}" -f "$places/directory"
for file in config.json vocab.json model.safetensors; do
    mv "$places/model/$file" "$places/kept"
    mkdir "$places/model/$file"
    expect_end "directory for $file" 3 -m "$places/model" -p 'Life is'
    rmdir "$places/model/$file"
    mv "$places/kept" "$places/model/$file"
done
finish
