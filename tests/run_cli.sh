#!/usr/bin/env bash
# run_cli.sh - tests what a user of the command line sees: stdout, stderr and exit status.
#
#   run_cli.sh [--refresh] [FILE.sh...]
#
# tests/cli/COMMAND/BEHAVIOUR.sh is a few lines of bash; beside it lie .out, .err and .exit with what
# is expected, absent when that is nothing, nothing, and 0. Each runs in an empty folder, with
# attn-cli in PATH, $MODELS and $FIXTURES, and an environment without anything else of the user's.
# Paths below these two are compared as `$MODELS/...`, so expectations name no machine.
# --refresh writes what was seen as what is expected.
set -u
cd "$(dirname "$0")/.." || exit 1

root=$PWD
build=$(realpath "${BUILD:-build/release}")
refresh=no
passed=0 failed=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [ "${1-}" = --refresh ]; then
    refresh=yes
    shift
fi
tests=("$@")
[ $# -gt 0 ] || mapfile -t tests < <(find tests/cli -name '*.sh' | LC_ALL=C sort)

# Runs test $1; leaves seen.out, seen.err and seen.exit in the scratch folder.
run_test() {
    rm -rf "$scratch/empty"
    mkdir "$scratch/empty"
    (
        cd "$scratch/empty" || exit 1
        exec env -i PATH="$build:/usr/local/bin:/usr/bin:/bin" LC_ALL=C.UTF-8 TERM=dumb \
            MODELS="$root/models" FIXTURES="$root/tests/fixtures" \
            ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
            timeout 120 bash "$root/$1" </dev/null >"$scratch/raw.out" 2>"$scratch/raw.err"
    )
    echo $? >"$scratch/seen.exit"
    for stream in out err; do
        LC_ALL=C sed -e "s|$root/models|\$MODELS|g" -e "s|$root/tests/fixtures|\$FIXTURES|g" \
            "$scratch/raw.$stream" >"$scratch/seen.$stream"
    done
}

# What test $1 expects of out, err or exit ($2), on stdout.
expected() {
    if [ -e "${1%.sh}.$2" ]; then
        cat "${1%.sh}.$2"
    elif [ "$2" = exit ]; then
        echo 0
    fi
}

write_expectation() {
    for part in out err exit; do
        rm -f "${1%.sh}.$part"
        expected "$1" "$part" | cmp -s - "$scratch/seen.$part" ||
            cp "$scratch/seen.$part" "${1%.sh}.$part"
    done
}

compare() {
    local status=0
    for part in out err exit; do
        expected "$1" "$part" >"$scratch/expected"
        cmp -s "$scratch/expected" "$scratch/seen.$part" && continue
        diff -a -u --label "$1: expected $part" --label "$1: seen $part" \
            "$scratch/expected" "$scratch/seen.$part" | head -n 40
        status=1
    done
    return $status
}

for test in "${tests[@]}"; do
    run_test "$test"
    [ $refresh = no ] || write_expectation "$test"
    if compare "$test"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED tests/run_cli.sh $test"
    fi
done

echo "cli: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
