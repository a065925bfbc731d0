#!/usr/bin/env bash
# run_cli.sh - tests what a user of the command line sees: standard output, standard error, exit status.
#
#   run_cli.sh [--refresh] [FOLDER|FILE|FILE:CASE]...
#
# tests/cli/COMMAND/SUBJECT.test holds cases one below the other, with an empty line between them:
#
#     === unknown_option
#     attn-cli run --promt "Life"
#     --- stderr
#     attn-cli: error: unknown option '--promt'
#     hint: did you mean '--prompt'?
#     --- exit 2
#
# After the name come lines of bash, then what is expected byte for byte: `--- stdout`, `--- stderr`
# and `--- exit`, in this order. What is left out is nothing, or 0. `--- stdout, no final newline` is
# output that ends within a line. Text above the first case is for readers. `--- needs THING` below
# the lines of bash: without THING, one of `missing` below, the case is skipped, and its name printed.
#
# Each case runs in an empty folder, with attn-cli in PATH, $MODELS and $FIXTURES, and an environment
# without anything else of the user's. Paths below these two are compared as `$MODELS/...`, so
# expectations name no machine. --refresh writes what was seen as what is expected. Cases that are
# words of ATTN_SKIP_TESTS, FILE:CASE, are left out.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh

root=$PWD
tool=$(realpath "$build")
is_refreshing=no
file_of=() name_of=() # of each case; its parts are files of $scratch/cases/NUMBER

# --- Reading ------------------------------------------------------------------------------------

malformed() { # WHAT
    echo "$file:$line_number: $1"
    fail "# $file:$line_number"
    finish cli
}

begin_case() { # NAME
    [[ $1 =~ ^[A-Za-z0-9_]+$ ]] || malformed "'$1', expected a name of letters, digits and _"
    [[ " ${name_of[*]:first} " != *" $1 "* ]] || malformed "a second '$1'"
    mkdir "$scratch/cases/${#name_of[@]}"
    file_of+=("$file") name_of+=("$1")
}

# The last case of $file gets the part that was read.
end_part() {
    local folder=$scratch/cases/$((${#name_of[@]} - 1))
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
        [ $part = exit ] || [ "${missing[${text%$'\n'}]+is}" ] ||
            malformed "'--- needs ${text%$'\n'}', expected one of: ${!missing[*]}"
        ;;
    script) [ -n "$text" ] || malformed "'${name_of[-1]}' has no command" ;;
    stdout | stderr) ;;
    *) malformed "'--- $part', expected needs, stdout, stderr or exit" ;;
    esac
    [ ! -e "$folder/$part" ] || malformed "a second '--- $part'"
    printf '%s' "$text" >"$folder/$part"
}

# Adds the cases of FILE.
read_cases() { # FILE
    local file=$1 line line_number=0 part=header text='' first=${#name_of[@]}
    while IFS= read -r line || [ -n "$line" ]; do
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
    done <"$file"
    end_part
    [ ${#name_of[@]} -gt "$first" ] || malformed 'no case'
}

# --- What may be absent -------------------------------------------------------------------------

# Why cases that need a THING are skipped here; empty: they run.
declare -A missing=([drawing]='' [pictures]='' [terminal]='')

look_around() {
    local packages
    packages=$(tests/tools/dependencies.sh missing draw)
    [ -z "$packages" ] || missing[drawing]="there is no $packages ('make deps-draw' installs it)"
    packages=$(tests/tools/dependencies.sh missing pictures)
    [ -z "$packages" ] || missing[pictures]="there is no $packages ('make deps-pictures' installs it)"
    script -qec true /dev/null </dev/null >/dev/null 2>&1 ||
        missing[terminal]="script (bsdutils) can make no terminal, as without /dev/pts"
}

# --- Running ------------------------------------------------------------------------------------

# Leaves what case FOLDER gives in its files seen.*.
run_script() { # FOLDER
    local stream
    mkdir "$1/empty"
    (
        cd "$1/empty" || exit 1
        exec env -i PATH="$tool:/usr/local/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 TERM=dumb \
            MODELS="$root/models" FIXTURES="$root/tests/fixtures" \
            ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
            timeout "${CASE_SECONDS:-120}" bash "$1/script" </dev/null >"$1/raw.stdout" 2>"$1/raw.stderr"
    )
    echo $? >"$1/seen.exit"
    for stream in stdout stderr; do
        : >"$1/seen.$stream"
        [ ! -s "$1/raw.$stream" ] || LC_ALL=C sed -e "s|$root/models|\$MODELS|g" -e "s|$root/tests/fixtures|\$FIXTURES|g" \
            "$1/raw.$stream" >"$1/seen.$stream"
    done
}

run_case() { # NUMBER
    local folder=$scratch/cases/$1 name="${file_of[$1]}:${name_of[$1]}" part is_same=yes need=
    [ ! -e "$folder/needs" ] || need=$(<"$folder/needs")
    if [ "$need" ] && [ "${missing[$need]}" ]; then
        echo "skipped $name: ${missing[$need]}"
        return
    fi
    run_script "$folder"
    [ $is_refreshing = no ] || take_seen "$folder" "$name"
    for part in stdout stderr exit; do
        [ ! -s "$folder/$part" ] && [ ! -s "$folder/seen.$part" ] && continue
        cmp -s "$folder/$part" "$folder/seen.$part" && continue
        diff -a -u --label "$name: expected $part" --label "$name: seen $part" \
            "$folder/$part" "$folder/seen.$part" | head -n 40
        is_same=no
    done
    if [ $is_same = yes ]; then pass; else fail "tests/run_cli.sh $name"; fi
}

# --- Writing ------------------------------------------------------------------------------------

# What was seen is expected from now on, unless it cannot be told from the lines of this format.
take_seen() { # FOLDER NAME
    if LC_ALL=C grep -qaP '^(===|---) |\x00' "$1/seen.stdout" "$1/seen.stderr"; then
        echo "$2: prints NUL, or a line that begins with '=== ' or '--- ': let od or sed change it"
        return
    fi
    cp "$1/seen.stdout" "$1/stdout"
    cp "$1/seen.stderr" "$1/stderr"
    cp "$1/seen.exit" "$1/exit"
}

print_stream() { # FOLDER STREAM
    [ -s "$1/$2" ] || return
    if [ -n "$(tail -c 1 "$1/$2")" ]; then
        echo "--- $2, no final newline"
        cat "$1/$2"
        echo
    else
        echo "--- $2"
        cat "$1/$2"
    fi
}

print_case() { # NUMBER
    local folder=$scratch/cases/$1
    echo "=== ${name_of[$1]}"
    cat "$folder/script"
    [ ! -e "$folder/needs" ] || echo "--- needs $(<"$folder/needs")"
    print_stream "$folder" stdout
    print_stream "$folder" stderr
    [ "$(<"$folder/exit")" = 0 ] || echo "--- exit $(<"$folder/exit")"
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
look_around

mapfile -t strays < <(find tests/cli -type f ! -name '*.test' ! -name README.md)
for stray in "${strays[@]}"; do
    echo "$stray: cases are written in tests/cli/COMMAND/SUBJECT.test, as run_cli.sh says"
    fail "# $stray"
done

chosen=() files=()
declare -A first_of=() end_of=() # the cases of each file
for what; do
    if [ ! -e "${what%:*}" ]; then
        echo "there is no ${what%:*}"
        fail "# $what"
        continue
    fi
    mapfile -t found < <(find "${what%:*}" -name '*.test' | LC_ALL=C sort)
    for file in "${found[@]}"; do
        n_chosen=${#chosen[@]}
        if [ -z "${first_of[$file]-}" ]; then
            first_of[$file]=${#name_of[@]}
            read_cases "$file"
            end_of[$file]=${#name_of[@]}
            files+=("$file")
        fi
        for ((i = first_of[$file]; i < end_of[$file]; i++)); do
            [[ $what != *:* || ${what##*:} = "${name_of[i]}" ]] && chosen+=("$i")
        done
        if [ ${#chosen[@]} -eq "$n_chosen" ]; then
            echo "$file has no case '${what##*:}'"
            fail "# $what"
        fi
    done
done
# What is left out is expected to be nothing, or 0.
for i in "${!name_of[@]}"; do
    folder=$scratch/cases/$i
    [ -e "$folder/exit" ] || echo 0 >"$folder/exit"
    : >>"$folder/stdout" 2>>"$folder/stderr"
done

kept=()
for i in "${chosen[@]}"; do
    [[ " ${ATTN_SKIP_TESTS-} " = *" ${file_of[i]}:${name_of[i]} "* ]] || kept+=("$i")
done
side_by_side run_case "${kept[@]}"
if [ $is_refreshing = yes ]; then
    for file in "${files[@]}"; do
        write_file "$file" >"$scratch/written"
        cmp -s "$scratch/written" "$file" || cp "$scratch/written" "$file"
    done
fi
finish cli
