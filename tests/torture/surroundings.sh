#!/usr/bin/env bash
# surroundings.sh - what is around a run plays no part: locale, time zone, terminal, home, a small
# stack, other variables, how often it is repeated. Builds with other optimization and a run under
# valgrind give the same bits, too.
. "$(dirname "$0")/frame.sh"

unset LC_ALL
everything_into "$scratch/seen"
model=(-m models/tiny-gpt2 --top 3 -p 'The keys are')

run() { # COMMAND...
    clear_folder "$scratch/seen"
    "$@" run "${model[@]}" --sites '*' "${everything[@]}" >"$scratch/out" 2>"$scratch/err" &&
        "$@" run "${model[@]}" >"$scratch/seen/text" 2>>"$scratch/err"
}

expect_same() { # WHAT COMMAND...
    local what=$1 problem status
    shift
    run "$@"
    status=$?
    problem=$(strange_end $status "$scratch/err")
    problem+=$(strange_files "$scratch/good" "$scratch/seen" /nonexistent whole)
    [ $status -eq 0 ] && [ -z "$problem" ] && cmp -s "$scratch/good.out" "$scratch/out" && pass ||
        fail "$what: status $status $problem"
}

run env -i "$cli" || fail "does not run: $(cat "$scratch/err")"
mv "$scratch/seen" "$scratch/good"
mv "$scratch/out" "$scratch/good.out"

# --- locales ------------------------------------------------------------------------------------

# One of 256 characters is made in a fifth of the time, and writes its decimal comma, too.
locales=(de_DE) charset=ISO-8859-1
is_full && locales+=(tr_TR) charset=UTF-8
mkdir "$scratch/locales"
if has localedef libc-bin locales; then
    for name in "${locales[@]}"; do
        localedef -c -i "$name" -f $charset "$scratch/locales/$name.$charset" 2>/dev/null
        if [ -e "$scratch/locales/$name.$charset/LC_NUMERIC" ]; then
            expect_same "LC_ALL=$name" env LOCPATH="$scratch/locales" LC_ALL="$name.$charset" "$cli"
        else
            skip "locale $name (Debian package locales)"
        fi
    done
fi

# --- variables, limits --------------------------------------------------------------------------

for setting in TZ=Pacific/Kiritimati TZ=:/nonexistent COLUMNS=1 LINES=1 TERM=dumb TERM= NO_COLOR=1 \
    LC_ALL=nonsense LANG=C POSIXLY_CORRECT=1 LIBXSMM_VERBOSE=3 LIBXSMM_TARGET=snb \
    OMP_NUM_THREADS=1 MALLOC_PERTURB_=165 MALLOC_ARENA_MAX=1; do
    expect_same "$setting" env "$setting" "$cli"
done
expect_same 'HOME unset' env -u HOME "$cli"
expect_same 'no environment' env -i "$cli"
for limit in '-s 256' '-n 16' '-u 4096' '-c 0' '-v 400000'; do
    expect_same "ulimit $limit" bash -c "ulimit $limit && exec \"\$@\"" limited "$cli"
done
expect_same 'one core' taskset -c 0 "$cli"
expect_same 'low priority' nice -n 19 "$cli"

n=10
is_full && n=100
for ((i = 0; i < n; i++)); do
    expect_same "repetition $i" "$cli"
done

# --- other builds, valgrind ---------------------------------------------------------------------

if is_full; then
    for level in -O0 -O1 -O2 -O3; do
        if make BUILD="$scratch/build$level" CFLAGS="$level" "$scratch/build$level/attn-cli" \
            >"$scratch/make.log" 2>&1; then
            expect_same "CFLAGS=$level" "$scratch/build$level/attn-cli"
        else
            fail "CFLAGS=$level does not build: $(tail -n 1 "$scratch/make.log")"
        fi
    done
    if has valgrind valgrind 'valgrind'; then
        expect_same valgrind valgrind -q --error-exitcode=99 --leak-check=full "$cli"
    fi
fi
finish
