#!/usr/bin/env bash
# fuzz.sh - runs fuzz targets with libFuzzer, or makes their corpora small again.
#
#   fuzz.sh run "TARGET..." OPTION...   runs the targets, all if none is named, with libFuzzer's options
#   fuzz.sh minimize "TARGET..."        makes tests/fuzz/corpus/TARGET.tar the inputs made by hand and the fewest others
#                                       that reach all that was ever reached; inputs with names stay files
#
# libFuzzer writes what it finds into the first folder that it is given: build/fuzz/found/TARGET, never the corpus, which
# is unpacked into build/fuzz/corpus/TARGET. An input that breaks a target is left as build/fuzz/TARGET-*.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/fuzz/corpus.sh

build=build/fuzz
export ASAN_OPTIONS=allocator_may_return_null=1:${ASAN_OPTIONS-}
export UBSAN_OPTIONS=print_stacktrace=1:${UBSAN_OPTIONS-}

# Makes FOLDER hold all inputs of TARGET: of the archive, and those with names.
unpack_all() { # TARGET FOLDER
    unpack_corpus "$1" "$2"
    [ ! -d "tests/fuzz/corpus/$1" ] || cp "tests/fuzz/corpus/$1"/* "$2"
}

# No input may take more than 64 MiB in one piece or ten seconds.
run() {
    local target=$1 corpus=$build/corpus/$1 found=$build/found/$1 log=$build/$1.log dictionary=() started=$SECONDS
    shift
    unpack_all "$target" "$corpus"
    mkdir -p "$found"
    awk -v section="[$target]" '/^\[/ { is_ours = $0 == section; next } is_ours' tests/fuzz/dictionaries >"$build/$target.dict"
    [ -s "$build/$target.dict" ] && dictionary=("-dict=$build/$target.dict")
    most=$(find "$corpus" -type f -printf '%s\n' | sort -n | tail -n 1) # a whole seed, or 1 KiB
    if nice -n 19 "$build/tests/fuzz/fuzz_$target" "$found" "$corpus" "${dictionary[@]}" \
        -artifact_prefix="$build/$target-" -max_len=$((most > 1024 ? most : 1024)) -malloc_limit_mb=64 -timeout=10 \
        -print_final_stats=1 -verbosity=0 "$@" >"$log" 2>&1; then
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: //p' "$log") executions," \
            "$((SECONDS - started)) s, nothing found"
    else
        tail -n 60 "$log"
        echo "$target: failed, see $log"
        return 1
    fi
}

# Inputs made by hand, whose names are not libFuzzer's 40 digits, stay.
minimize() {
    local target=$1 corpus=$build/corpus/$1 found=$build/found/$1 named
    mkdir -p "$found"
    unpack_all "$target" "$corpus"
    find "$corpus" -type f -regextype egrep -regex '.*/[0-9a-f]{40}' -exec mv -t "$found" {} +
    if ! "$build/tests/fuzz/fuzz_$target" -merge=1 "$corpus" "$found" >"$build/$target.log" 2>&1; then
        echo "$target: failed, see $build/$target.log"
        return 1
    fi
    echo "$target: $(find "$corpus" -type f | wc -l) inputs"
    for named in "tests/fuzz/corpus/$target"/*; do
        rm -f "$corpus/$(basename "$named")"
    done
    pack_corpus "$target" "$corpus"
}

command=$1 status=0
read -ra targets <<<"$2"
shift 2
if [ ${#targets[@]} -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        name=$(basename "$source" .c)
        targets+=("${name#fuzz_}")
    done
fi
for target in "${targets[@]}"; do
    case $command in
    run) run "$target" "$@" || status=1 ;;
    minimize) minimize "$target" || status=1 ;;
    *) status=2 ;;
    esac
done
exit "$status"
