# frame.sh - what the scripts of this folder share; each begins with `. tests/torture/frame.sh` and
# ends with `finish`.
#
# A script counts what it tries. What fails is told in one line; nothing is told of what passes.
# TORTURE=full asks for all of it, TORTURE=more for what CI tries of it; else it takes seconds.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

is_full() { [ "${TORTURE-}" = full ]; }
is_more() { [ -n "${TORTURE-}" ]; }

root=$PWD
build=$(realpath "${BUILD:-build/release}")
cli=$build/attn-cli
part=$(basename "$0" .sh)
again=
[ "${BUILD:-build/release}" = build/release ] || again="BUILD=$BUILD "
! is_more || again+="TORTURE=$TORTURE "
passed=0 failed=0 skipped=0
patience=$((60 * ${CK_TIMEOUT_MULTIPLIER:-1})) # seconds for what must not hang
[ -n "${TMPDIR-}" ] || { [ -w /dev/shm ] && export TMPDIR=/dev/shm; } # as part.sh has it
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
shopt -s dotglob # temporary files begin with a dot
export LC_ALL=C ASAN_OPTIONS=allocator_may_return_null=1:${ASAN_OPTIONS-}

# Every way of writing, one option a word; FOLDER/ is where.
outputs=(csv tidy npy npz safetensors json)

pass() { passed=$((passed + 1)); }

# The line runs the part again and says after the # what failed.
fail() { # WHAT
    failed=$((failed + 1))
    printf 'FAILED %stests/run_torture.sh %s # %s\n' "$again" "$part" "$*"
}

# Whether COMMAND succeeds; what it printed is told when it does not.
expect() { # WHAT COMMAND...
    local what=$1 output
    shift
    output=$("$@" 2>&1) && pass || fail "$what: $(head -c 300 <<<"$output")"
}

skip() {
    skipped=$((skipped + 1))
    printf 'skipped %s: %s\n' "$part" "$*"
}

# Whether PROGRAM is there; says of which Debian package it is if not.
has() { # PROGRAM PACKAGE WHAT
    command -v "$1" >/dev/null && return
    skip "$3: no $1 (Debian package $2)"
    return 1
}

finish() {
    [ $((passed + failed + skipped)) -gt 0 ] || fail 'nothing was tried'
    echo "$part: $passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

# Sets the array `options` to those that write FORMAT into FOLDER; text has none.
#
# No script here reads from `< <(COMMAND)`: where process ids come again after 32,768, bash 5.2 takes
# the status of such a command for that of a later one, 12 times in 30,000.
into() { # FORMAT FOLDER
    case $1 in
    csv | npy) options=("--$1" "$2/$1") ;;
    tidy | npz | safetensors | json) options=("--$1" "$2/all.$1") ;;
    *) options=() ;;
    esac
}

# The same for all formats at once, in the array `everything`.
everything_into() { # FOLDER
    local format options
    everything=()
    for format in "${outputs[@]}"; do
        into "$format" "$1"
        everything+=("${options[@]}")
    done
}

# What computes attention on arrays, but for where it is written. z is float64 and converted.
golden=tests/golden/attend/004_simple_attention_padding
attending=(attend --q $golden/q.npy --k $golden/k.npy --v $golden/v.npy --mask $golden/mask.npy -t 2)

# Sets the array `making` to the arguments that make the model FOLDER, of WIDTH and from SEED.
making_into() { # FOLDER [WIDTH [SEED]]
    making=(init "$1" --vocab-from 'to be or not' --set "d_model=${2-8}" --set n_head=2
        --set bias=true --draw "embed=randn@${3-7}" --draw heads=linear)
}

is_empty() { # FOLDER
    local files=("$1"/*)
    [ -d "$1" ] && [ ! -e "${files[0]}" ] && [ ! -L "${files[0]}" ]
}

# Makes FOLDER, or removes what is in it. Often that is nothing, and no program is called.
clear_folder() { # FOLDER
    if [ ! -e "$1" ]; then
        mkdir "$1"
    elif ! is_empty "$1"; then
        rm -rf "$1"/*
    fi
}

# Tells what is wrong with folder SEEN when each of its files must be as in GOOD, as in OLD, or
# absent; says nothing when all is well. Exactly as in GOOD when WHOLE is "whole".
strange_files() { # GOOD SEEN OLD [WHOLE]
    local line name lines not_old=
    is_empty "$2" && { [ "${4-}" != whole ] || is_empty "$1"; } && return
    lines=$(diff -rq "$1" "$2" 2>&1) && return
    while IFS= read -r line; do
        case $line in
        "Only in $1"*) [ "${4-}" != whole ] || echo "$line" ;;
        "Files $1/"*)
            name=${line#"Files $1/"}
            name=${name%% and *}
            [ "$not_old" ] || not_old=$'\n'$(diff -rq "$3" "$2" 2>&1)
            [ "${4-}" != whole ] && [ -f "$3/$name" ] && [[ $not_old != *$'\n'"Files $3/$name and "* ]] ||
                echo "$name is neither the old nor the new file"
            ;;
        *) echo "$line" ;;
        esac
    done <<<"$lines"
}

# Tells what is wrong with an ending: the status must be documented, and standard error be empty
# or, after a failure, one line of error, beside notes and a hint.
strange_end() { # STATUS STDERR_FILE
    local line n_line=0 n_error=0
    case $1 in
    0)
        [ ! -s "$2" ] || echo "status 0 with messages: $(head -c 200 "$2")"
        return
        ;;
    3 | 4 | 5 | 8) ;;
    *)
        echo "status $1: $(head -c 300 "$2")"
        return
        ;;
    esac
    while IFS= read -r line || [ -n "$line" ]; do
        [[ $line = 'hint: '* || $line = 'attn-cli: note: '* ]] || n_line=$((n_line + 1))
        [[ $line != 'attn-cli: error: '* ]] || n_error=$((n_error + 1))
    done <"$2"
    if [ $n_line -ne 1 ] || [ $n_error -ne 1 ]; then
        echo "status $1, expected one line of error: $(head -c 300 "$2")"
    fi
}
