#!/usr/bin/env bash
# sync.sh - --sync of every command that writes: each file waits for the device before it gets its
# name, and the name waits after that; without --sync nothing waits. Each wait fails in turn: exit
# status 5, one line, and every file is the new one or absent.
. "$(dirname "$0")/frame.sh"

has strace strace 'the order of fsync and rename' || finish
strace -o /dev/null true 2>/dev/null || { skip 'tracing is not permitted here' && finish; }

seen=$scratch/seen
calls=fsync,fdatasync,rename,mkdir,open,openat

run() { # STRACE_OPTIONS... -- ARGUMENTS...
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    clear_folder "$seen"
    timeout "$patience" strace -f -qq "${options[@]}" "$cli" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
}

# Tells what is wrong with the calls in $scratch/trace: a file that is renamed was synced under its
# old name, and its folder is synced afterwards; so is the parent of a folder that is made.
wrong_order() {
    awk '
        function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
        function whole(path) { gsub(/\/\/+/, "/", path); sub(/\/$/, "", path); return path }
        match($0, /f(data)?sync\([0-9]+<[^>]*>/) {
            path = substr($0, RSTART, RLENGTH)
            gsub(/^[^<]*<|>$/, "", path)
            synced[path] = 1
            delete waits[path]
        }
        match($0, /rename\("[^"]*", "[^"]*"/) {
            split(substr($0, RSTART, RLENGTH), names, "\"")
            if (!(whole(names[2]) in synced))
                print names[2] " is renamed and was not synced"
            waits[folder(whole(names[4]))] = 1
            n_rename++
        }
        match($0, /mkdir\("[^"]*"/) && / = 0$/ {
            split(substr($0, RSTART, RLENGTH), names, "\"")
            waits[folder(whole(names[2]))] = 1
        }
        END {
            for (path in waits)
                print "names in " path " are not synced in the end"
            if (n_rename == 0)
                print "nothing is renamed"
        }' "$scratch/trace"
}

# Runs with --sync, then with every wait failing; and without.
try() { # COMMAND ARGUMENTS...
    local command=$1 problem status n n_sync
    shift
    run -y -o "$scratch/trace" -e "trace=$calls" -- "$command" --sync "$@" ||
        fail "$command --sync $* does not run: $(cat "$scratch/err")"
    problem=$(wrong_order)
    [ -z "$problem" ] && pass || fail "$command --sync $*: $problem"
    rm -rf "$scratch/good" && cp -r "$seen" "$scratch/good"

    for call in fsync fdatasync; do
        n_sync=$(grep -c "$call(" "$scratch/trace")
        is_full || [ "$n_sync" -le 2 ] || n_sync=2
        for ((n = 1; n <= n_sync; n++)); do
            run -o "$scratch/failed" -e "trace=$call" -e "inject=$call:error=EIO:when=$n" -- \
                "$command" --sync "$@"
            status=$?
            problem=$(strange_end $status "$scratch/err")
            # What batch goes on with stays; some files have times.
            problem+=$(strange_files "$scratch/good" "$seen" /nonexistent |
                grep -v '\.part$\|\.journal$\|run\.json \|compare_cost')
            [ $status -eq 5 ] && [ -z "$problem" ] && pass ||
                fail "$command --sync $*, $call $n fails: status $status $problem"
        done
    done

    run -o "$scratch/trace" -e "trace=$calls" -- "$command" "$@"
    grep -q 'sync(' "$scratch/trace" && fail "$command $*: syncs without --sync" || pass
}

everything_into "$seen"
making_into "$seen/model"
printf 'The keys\nLife is short\n' >"$scratch/texts"
tables=(--csv "$seen/table.csv" --json "$seen/table.json" --svg "$seen/table.svg")
answer=(--target ' are' --foil ' is')

try run -m models/tiny-gpt2 --heads 0.1 "${everything[@]}" -p 'The keys'
try run --heads 2.6 --svg "$seen/figures/" 'The keys'
try run --compare --attention window:2 --csv "$seen/compared" 'The keys'
try run --explain --heads 2.6 --queries keys --svg "$seen/row.svg" --html "$seen/row.html" 'The keys'
try "${attending[@]}" --npz "$seen/all.npz"
try generate -n 2 --json "$seen/made.json" --npz "$seen/all.npz" The
try heads "${tables[@]}" 'The keys'
try ablate "${answer[@]}" --by layer "${tables[@]}" 'The keys'
try attribute "${answer[@]}" "${tables[@]}" 'The keys'
try patch "${answer[@]}" --clean 'The keys' --corrupted 'The key' --csv "$seen/table.csv"
try lens "${tables[@]}" 'The keys'
try diff "${tables[@]}" 'The key was' 'The keys was'
try score --csv "$seen/table.csv" --jsonl "$seen/table.jsonl" 'The keys'
try batch -q --items-format lines -o "$seen/all.jsonl" --csv "$seen/all.csv" --npz "$seen/all.npz" "$scratch/texts"
try "${making[@]}"
finish
