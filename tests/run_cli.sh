#!/usr/bin/env bash
# run_cli.sh - tests what a user of the command line sees: standard output, standard error, exit status.
#
#   run_cli.sh [--refresh] [FOLDER|FILE|FILE:CASE]...
#
# tests/cli/COMMAND/SUBJECT.test holds cases one below the other, with an empty line between them:
#
#     === unknown_option
#     attn-cli run --sentense "Life"
#     --- stderr
#     attn-cli: error: unknown option '--sentense'
#     hint: did you mean '--sentence'?
#     --- exit 2
#
# After the name come lines of bash, then what is expected byte for byte: `--- stdout`, `--- stderr`
# and `--- exit`, in this order. What is left out is nothing, or 0. `--- stdout, no final newline` is
# output that ends within a line. Text above the first case is for readers. `--- needs THING...` below
# the lines of bash: without a THING, each one of `missing` below, the case is skipped, and its name printed.
#
# Each case runs in an empty folder, with attn-cli in PATH, $MODELS and $FIXTURES, and an environment
# without anything else of the user's. Paths below these two are compared as `$MODELS/...`, and the version of
# the tool as VERSION, so expectations name no machine and no release. --refresh writes what was seen as what is expected. Cases that are
# words of ATTN_SKIP_TESTS, FILE:CASE, are left out, and those that need a THING of ATTN_LACKS are skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh

root=$PWD
tool=$(cd "$build" && pwd -P)
version=$(sed -nE 's/^#define ATTN_VERSION "(.*)"$/\1/p' lib/ground/base/version.h)
is_refreshing=no
file_of=() name_of=() # of each case; its parts are files $scratch/cases/NUMBER.PART

# --- Reading ------------------------------------------------------------------------------------

malformed() { # WHAT
    echo "$file:$line_number: $1"
    fail "# $file:$line_number"
    finish cli
}

begin_case() { # NAME
    [[ $1 =~ ^[A-Za-z0-9_]+$ ]] || malformed "'$1', expected a name of letters, digits and _"
    [[ " ${name_of[*]:first} " != *" $1 "* ]] || malformed "a second '$1'"
    file_of+=("$file") name_of+=("$1")
}

# The last case of $file gets the part that was read.
end_part() {
    local stem=$scratch/cases/$((${#name_of[@]} - 1)) thing
    case $part in
    header)
        printf '%s' "$text" >"$scratch/headers/${file//\//,}"
        return
        ;;
    'stdout, no final newline' | 'stderr, no final newline')
        part=${part%%,*} text=${text%$'\n'}
        ;;
    'exit '* | 'needs '*)
        [ -z "$text" ] || malformed "lines below '--- $part'"
        text=${part#* }$'\n' part=${part%% *}
        [ $part = exit ] || for thing in $text; do
            [ "${missing[$thing]+is}" ] || malformed "'--- needs $thing', expected some of: ${!missing[*]}"
        done
        ;;
    script)
        [ -n "$text" ] || malformed "'${name_of[-1]}' has no command"
        [[ ! $text =~ [[:space:]]\$(FIXTURES|MODELS) ]] ||
            malformed "'${name_of[-1]}' has \$${BASH_REMATCH[1]} without quotes, where a path may have a space"
        ;;
    stdout | stderr) ;;
    *) malformed "'--- $part', expected needs, stdout, stderr or exit" ;;
    esac
    [ ! -e "$stem.$part" ] || malformed "a second '--- $part'"
    printf '%s' "$text" >"$stem.$part"
}

# Adds the cases of FILE.
read_cases() { # FILE
    local file=$1 lines line line_number=0 part=header text='' first=${#name_of[@]}
    mapfile -t lines <"$file" # `read` goes back to the end of its line each time
    for line in "${lines[@]}"; do
        line_number=$((line_number + 1))
        case $line in
        '=== '*)
            # The empty line between two cases belongs to none.
            [[ $part = header || ( $text != *$'\n\n' && $text != $'\n' ) ]] || text=${text%$'\n'}
            end_part
            begin_case "${line#=== }"
            part=script text=''
            ;;
        '--- '*)
            end_part
            part=${line#--- } text=''
            ;;
        *) text+=$line$'\n' ;;
        esac
    done
    end_part
    [ ${#name_of[@]} -gt "$first" ] || malformed 'no case'
}

# --- What may be absent -------------------------------------------------------------------------

# Why cases that need a THING are skipped here; empty: they run.
declare -A missing=([drawing]='' [full]='' [pictures]='' [python]='' [terminal]='')

look_for() { # THING
    local group=${1/drawing/draw} packages
    if [ "$1" = full ]; then
        [ "${TORTURE-}" = full ] || missing[full]='it takes seconds, and TORTURE=full runs it'
    elif [ "$1" = python ]; then
        command -v python3 >/dev/null || missing[python]='there is no python3'
    elif [ "$1" != terminal ]; then
        packages=$(tests/tools/dependencies.sh missing "$group")
        [ -z "$packages" ] || missing[$1]="there is no $packages ('make deps-$group' installs it)"
    elif ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
        missing[terminal]="script (bsdutils) can make no terminal, as without /dev/pts"
    fi
}

# --- Running ------------------------------------------------------------------------------------

# What runs here runs a thousand times: but for the case itself no program is called.

# From here on the environment is that of the cases.
clear_environment() {
    local name
    for name in $(compgen -e); do
        export -n "$name"
    done
    for name in $(compgen -A function); do
        export -nf "$name"
    done
    export PATH=$tool:/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 TERM=dumb \
        MODELS=$root/models FIXTURES=$root/tests/fixtures \
        ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
}

# Sets `text` to the bytes of FILE; fails when there is a NUL among them.
read_text() { # FILE
    local LC_ALL=C
    ! IFS= read -r -d '' text <"$1"
}

# Replaces in `text` what depends on this checkout.
name_machine_and_version() {
    text=${text//Z:"$root"/"$root"} # the drive of wine
    [[ $text != *"$root/"* ]] || text=${text//"$MODELS"/'$MODELS'} text=${text//"$FIXTURES"/'$FIXTURES'}
    [[ $text != *"$version"* ]] || text=${text//"$version"/VERSION}
}

# Leaves what CASE gives in its files .seen_*.
run_script() { # CASE
    local stream text
    (
        cd "$1/empty" || exit 1
        exec timeout "${CASE_SECONDS:-120}" "$BASH" "$1.script" </dev/null >"$1.raw_stdout" 2>"$1.raw_stderr"
    )
    echo $? >"$1.seen_exit"
    for stream in stdout stderr; do
        if ! read_text "$1.raw_$stream"; then
            LC_ALL=C sed -e "s|$MODELS|\$MODELS|g" -e "s|$FIXTURES|\$FIXTURES|g" \
                -e "s|${version//./\\.}|VERSION|g" "$1.raw_$stream"
        else
            name_machine_and_version
            printf '%s' "$text"
        fi >"$1.seen_$stream"
    done
}

# Whether CASE has given what its PART expects.
is_as_expected() { # CASE PART
    local text expected
    read_text "$1.$2" && expected=$text && read_text "$1.seen_$2" && [ "$text" = "$expected" ]
}

run_case() { # NUMBER
    local stem=$scratch/cases/$1 name="${file_of[$1]}:${name_of[$1]}" part is_same=yes need
    [ ! -e "$stem.needs" ] || for need in $(<"$stem.needs"); do
        [ -z "${missing[$need]}" ] || { echo "skipped $name: ${missing[$need]}" && return; }
    done
    run_script "$stem"
    [ $is_refreshing = no ] || take_seen "$stem" "$name"
    for part in stdout stderr exit; do
        is_as_expected "$stem" $part && continue
        diff -a -u --label "$name: expected $part" --label "$name: seen $part" \
            "$stem.$part" "$stem.seen_$part" | head -n 40
        is_same=no
    done
    if [ $is_same = yes ]; then pass; else fail "tests/run_cli.sh $name"; fi
}

# --- Writing ------------------------------------------------------------------------------------

# What was seen is expected from now on, unless it cannot be told from the lines of this format.
take_seen() { # CASE NAME
    if LC_ALL=C grep -qaP '^(===|---) |\x00' "$1.seen_stdout" "$1.seen_stderr"; then
        echo "$2: prints NUL, or a line that begins with '=== ' or '--- ': let od or sed change it"
        return
    fi
    cp "$1.seen_stdout" "$1.stdout"
    cp "$1.seen_stderr" "$1.stderr"
    cp "$1.seen_exit" "$1.exit"
}

print_stream() { # CASE STREAM
    [ -s "$1.$2" ] || return
    if [ -n "$(tail -c 1 "$1.$2")" ]; then
        echo "--- $2, no final newline"
        cat "$1.$2"
        echo
    else
        echo "--- $2"
        cat "$1.$2"
    fi
}

print_case() { # NUMBER
    local stem=$scratch/cases/$1
    echo "=== ${name_of[$1]}"
    cat "$stem.script"
    [ ! -e "$stem.needs" ] || echo "--- needs $(<"$stem.needs")"
    print_stream "$stem" stdout
    print_stream "$stem" stderr
    [ "$(<"$stem.exit")" = 0 ] || echo "--- exit $(<"$stem.exit")"
}

write_file() { # FILE
    local i between=''
    cat "$scratch/headers/${1//\//,}"
    for i in "${!name_of[@]}"; do
        [ "${file_of[i]}" = "$1" ] || continue
        printf '%s' "$between"
        print_case "$i"
        between=$'\n'
    done
}

# --- All of it ----------------------------------------------------------------------------------

if [ "${1-}" = --refresh ]; then
    is_refreshing=yes
    shift
fi
[ $# -gt 0 ] || set -- tests/cli
mkdir "$scratch/cases" "$scratch/headers"

for stray in tests/cli/* tests/cli/*/*; do
    case $stray in
    */README.md | tests/cli/*/*.test) continue ;;
    tests/cli/*/*) ;;
    *) [ ! -d "$stray" ] || continue ;;
    esac
    echo "$stray: cases are written in tests/cli/COMMAND/SUBJECT.test, as run_cli.sh says"
    fail "# $stray"
done

files=()
declare -A first_of=() end_of=() # the cases of each file
declare -A chosen=()             # the numbers of the cases; one that is named twice runs once
for what; do
    if [ ! -e "${what%:*}" ]; then
        echo "there is no ${what%:*}"
        fail "# $what"
        continue
    fi
    found=("${what%:*}")
    [ -f "${found[0]}" ] || mapfile -t found < <(find "${what%:*}" -name '*.test' | LC_ALL=C sort)
    for file in "${found[@]}"; do
        is_found=no
        if [ -z "${first_of[$file]-}" ]; then
            first_of[$file]=${#name_of[@]}
            read_cases "$file"
            end_of[$file]=${#name_of[@]}
            files+=("$file")
        fi
        for ((i = first_of[$file]; i < end_of[$file]; i++)); do
            [[ $what != *:* || ${what##*:} = "${name_of[i]}" ]] && chosen[$i]='' is_found=yes
        done
        if [ $is_found = no ]; then
            echo "$file has no case '${what##*:}'"
            fail "# $what"
        fi
    done
done
# What is left out is expected to be nothing, or 0.
for i in "${!name_of[@]}"; do
    [ -e "$scratch/cases/$i.exit" ] || echo 0 >"$scratch/cases/$i.exit"
    : >>"$scratch/cases/$i.stdout" 2>>"$scratch/cases/$i.stderr"
done

kept=() needed=''
for i in "${!name_of[@]}"; do
    [ "${chosen[$i]+is}" ] || continue
    [[ " ${ATTN_SKIP_TESTS-} " != *" ${file_of[i]}:${name_of[i]} "* ]] || continue
    kept+=("$i")
    [ ! -e "$scratch/cases/$i.needs" ] || { read -r need <"$scratch/cases/$i.needs" && needed+=" $need"; }
done
for need in "${!missing[@]}"; do
    [[ "$needed " != *" $need "* ]] || look_for "$need"
    [[ " ${ATTN_LACKS-} " != *" $need "* ]] || missing[$need]='this build, or what runs it, has none'
done
[ ${#kept[@]} -eq 0 ] || (cd "$scratch/cases" && mkdir -p "${kept[@]/%//empty}")
clear_environment
side_by_side run_case "${kept[@]}"
if [ $is_refreshing = yes ]; then
    for file in "${files[@]}"; do
        write_file "$file" >"$scratch/written"
        cmp -s "$scratch/written" "$file" || cp "$scratch/written" "$file"
    done
fi
finish cli
