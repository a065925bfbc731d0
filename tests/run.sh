#!/usr/bin/env bash
# run.sh - runs the named parts of the tests (unit, cli, readme ...) and adds up what they counted.
#
# What all parts have to do is one queue: programs, files of cases, parts of the torture. One more than
# there are cores run beside each other, since one or another waits for a clock or a process; and the
# longest first, so that no core is idle at the end. Each is `run_PART.sh ITEM`, which prints
# `FAILED LINE` for each test that failed, where LINE runs just that test again, `skipped WHAT: WHY`
# for what cannot be tried here, and `PART: N passed, N failed` as its last line. What was skipped and
# what failed is listed again at the end; the line over all comes last. BUILD names the build folder,
# where test_times keeps what each took; `make test` gives it. With ATTN_TEST_AGAIN=yes, as in CI, a test
# that failed beside others runs once more, alone. If it passes then, a line `unsteady: ...` names it, and it
# has failed all the same, unless tests/README.md lists it (tests/support/unsteady.sh).
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/support/part.sh
. tests/support/unsteady.sh

# bash opens <(...) as a file of /dev/fd, which leads there.
[ -d /dev/fd/ ] || { echo 'the tests need /proc, which is not mounted here' >&2 && exit 1; }

# What takes longest, before anything was measured here.
longest='torture/system_calls torture/memory torture/unwritten_memory install/all
    unit/test_model_damaged cli/tests/cli/experiments unit/test_cli_figures unit/test_gemm_linear'

list_items() { # PART
    local file
    case $1 in
    unit) for file in tests/unit/test_*.c; do echo "$build/tests/unit/$(basename "$file" .c)"; done ;;
    cli) find tests/cli -name '*.test' | LC_ALL=C sort ;;
    corpora) for file in tests/fuzz/fuzz_*.c; do file=$(basename "$file" .c) && echo "${file#fuzz_}"; done ;;
    readme) list_readmes | xargs grep -lE '^```(console|sh)$' ;;
    torture) tests/run_torture.sh --list ;;
    *) echo all ;;
    esac
}

# One line per item, `SECONDS PART ITEM`, the longest first.
list_queue() { # PART...
    local part
    for part; do
        list_items "$part" | sed "s|^|$part |"
    done | awk -v longest="$longest" '
        BEGIN { n = split(longest, names, /[ \n]+/) }
        FILENAME != "-" { seconds[$2 " " $3] = $1; next }
        !($0 in seconds) {
            name = $1 "/" $2
            sub(/\/.*\/unit\//, "/", name)
            for (i = n; i > 0; i--)
                if (index(name, names[i]) == 1) seconds[$0] = 100 - i
        }
        { print seconds[$0] + 0, $0 }' "$times" - | LC_ALL=C sort -k 1,1nr -s
}

# Leaves what ITEM printed, and adds how long it took to the times.
run_item() { # "SECONDS PART ITEM"
    local part item text took start=${EPOCHREALTIME/[^0-9]/} output=$scratch/output.$BASHPID
    read -r _ part item <<<"$1"
    [ "$item" != all ] || item=
    ATTN_TEST_JOBS=1 "tests/run_$part.sh" ${item:+"$item"} >"$output" 2>&1
    text=$(<"$output")
    [[ $text != *$'\n'* ]] || printf '%s\n' "${text%$'\n'*}"
    [[ ${text##*$'\n'} =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]] || {
        echo "run_$part.sh $item ended without counting"
        fail "tests/run_$part.sh $item"
        return
    }
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]}
    took=$(((${EPOCHREALTIME/[^0-9]/} - start) / 1000)) # in ms
    printf '%d.%03d %s\n' $((took / 1000)) $((took % 1000)) "$part ${item:-all}" >>"$times.new"
    echo "$part $passed $failed" >>"$scratch/totals"
}

# Runs the few lines that failed once more, one at a time, and keeps those that fail again.
run_again() {
    local line most=5
    [ "$(wc -l <"$scratch/failed")" -le $most ] || return
    while IFS= read -r line; do
        if [[ $line != '#'* ]] && bash -c "$line" >"$scratch/again" 2>&1 </dev/null; then
            echo "unsteady: passed when it ran alone: $line"
            is_listed "$line" && echo 'unsteady 1 0' >>"$scratch/totals" && continue
        fi
        echo "$line" >>"$scratch/failed.again"
    done <"$scratch/failed"
    : >>"$scratch/failed.again"
    mv "$scratch/failed.again" "$scratch/failed"
}

times=$build/test_times
touch "$times"
: >"$times.new"
mapfile -t queue < <(list_queue "$@")
ATTN_TEST_JOBS=${ATTN_TEST_JOBS:-$(($(nproc) + 1))}
side_by_side run_item "${queue[@]}" | tee "$scratch/all"
# What did not run keeps its time.
awk '!seen[$2 " " $3]++' "$times.new" "$times" >"$scratch/times" && mv "$scratch/times" "$times" && rm "$times.new"

if grep -q '^skipped ' "$scratch/all"; then
    printf '\nWhat was skipped, and why:\n'
    sed -n 's/^skipped /  /p' "$scratch/all" | awk '!seen[$0]++'
fi
sed -n 's/^FAILED //p' "$scratch/all" >"$scratch/failed"
[ "${ATTN_TEST_AGAIN-}" != yes ] || run_again
if [ -s "$scratch/failed" ]; then
    printf '\nWhat failed, each with the line that runs it again:\n'
    sed 's/^/  /' "$scratch/failed"
fi
for part; do
    awk -v part="$part" '$1 == part { passed += $2; failed += $3 }
        END { printf "%s: %d passed, %d failed\n", part, passed, failed }' "$scratch/totals"
done
n_failed=$(wc -l <"$scratch/failed")
n_passed=$(awk '{ n += $2 } END { print n + 0 }' "$scratch/totals")
echo "$n_passed passed, $n_failed failed"
[ "$n_failed" -eq 0 ] && [ "$n_passed" -gt 0 ]
