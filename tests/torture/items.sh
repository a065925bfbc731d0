#!/usr/bin/env bash
# items.sh - studies: threads, packs, kills at random moments, shards of everything, items of every bad
# kind, a file that grows, readers that go away. Whatever happens, the lines of items and the table are
# those of one run.
. "$(dirname "$0")/frame.sh"

RANDOM=1 # the same moments again, as far as the machine is willing
seen=$scratch/seen
mkdir "$seen"

# Writes N items; each 25th fails, in one of four ways, and every 32nd is long.
write_items() { # N
    awk -v n="$1" -v n_long=$n_long 'BEGIN {
        srand(7); split("key keys dog dogs boy boys", nouns, " ")
        split("{\"text\":|{\"id\":\"e\"}|{\"text\":\"a\",\"u\":[1]}|{\"text\":\"a\",\"target\":\" a b\"}", bad, "|")
        for (i = 0; i < n; i++) {
            if (i % 25 == 24) { print bad[1 + int(i / 25) % 4]; continue }
            line = "The " nouns[1 + i % 6] " near the door"
            for (j = 0; i % 32 == 31 && j < n_long; j++) line = line " of the " nouns[1 + int(rand() * 6)]
            printf "{\"id\":%d,\"text\":\"%s\",\"number\":\"%s\",\"kind\":%d}\n", i, line, \
                i % 2 ? "pl" : "sg", i % 3
        }
    }'
}

of_pairs=(--target ' are' --foil ' is' --bootstrap 10)
ablate=("$cli" ablate -q --by attn "${of_pairs[@]}")
score=("$cli" score -q "${of_pairs[@]}")
heads=("$cli" heads -q --measures entropy,previous)
for command in ablate score heads; do
    declare -n words=$command
    words+=(--items "$scratch/items.jsonl" --group-by kind --csv -)
done

n_item=100 n_kill=1 most=300000 n_long=12
is_more && n_kill=2
is_full && n_item=20000 n_kill=60 most=4000000 n_long=40
write_items $n_item >"$scratch/items.jsonl"
for command in ablate score heads; do
    declare -n words=$command
    "${words[@]}" --each "$scratch/$command.csv" >"$scratch/$command.txt"
    [ $? -eq 6 ] && pass || fail "$command: items failed, and the exit code is another"
    "${words[@]}" --each "$scratch/$command.jsonl" >/dev/null
done
same() { # COMMAND OUT: the lines are OUT.csv, the table is OUT.txt
    cmp "$scratch/$1.csv" "$2.csv" && cmp "$scratch/$1.txt" "$2.txt"
}
# The columns of the table OUT.txt, from which a resumed run leaves some out, are those of one run.
resumed_same() { # COMMAND OUT
    cmp "$scratch/$1.csv" "$2.csv" && awk -F, '
        NR == FNR { for (i = 1; i <= NF; i++) { if (FNR == 1) at[$i] = i; whole[FNR, i] = $i } n = FNR; next }
        FNR == 1 { for (i = 1; i <= NF; i++) if (!((of[i] = at[$i]) > 0)) exit 1 }
        { for (i = 1; i <= NF; i++) if ($i != whole[FNR, of[i]]) { print "row " FNR ": " $i; exit 1 } }
        END { exit FNR != n || n < 2 }' "$scratch/$1.txt" "$2.txt"
}

# --- Threads and shards ---------------------------------------------------------------------------

n_shards=(3) n_threads=(8)
is_more && n_threads=(1 2 8)
is_full && n_shards=(2 7)
for command in ablate score heads; do
    declare -n words=$command
    for n in "${n_threads[@]}"; do
        "${words[@]}" -t $n --each "$seen/t.csv" >"$seen/t.txt"
        expect "$command -t $n" same $command "$seen/t"
    done
    for n in "${n_shards[@]}"; do
        rm -f "$seen"/s*
        for ((i = 0; i < n; i++)); do
            "${words[@]}" --each "$seen/s.csv" --shard $i/$n >/dev/null
            "${words[@]}" --each "$seen/s.jsonl" --shard $i/$n >/dev/null
        done
        for part_of in "$seen"/s-*.csv; do
            [ "$part_of" = "$seen/s-00000-of-0000$n.csv" ] && cat "$part_of" || tail -n +2 "$part_of"
        done | expect "$command in $n shards" cmp - "$scratch/$command.csv"
        cat "$seen"/s-*.jsonl | expect "$command in $n shards of JSON Lines" cmp - "$scratch/$command.jsonl"
    done
done

# --- Kills ----------------------------------------------------------------------------------------

# Runs with --resume until it ends by itself, and ends it N times before.
kill_often() { # COMMAND N MOST
    local i status pid wait n_ended=0 signals=(KILL TERM)
    local -n of=$1
    for ((i = 0; ; i++)); do
        "${of[@]}" --each "$seen/k.csv" --resume >"$seen/k.txt" 2>"$seen/k.err" &
        pid=$!
        if [ $i -lt "$2" ]; then
            wait=$((RANDOM * $3 / 32768))
            sleep "$(printf '%d.%06d' $((wait / 1000000)) $((wait % 1000000)))"
            kill -${signals[i % 2]} $pid 2>/dev/null
        fi
        wait $pid
        status=$?
        case $status in
        137 | 143) n_ended=$((n_ended + 1)) ;;
        6)
            expect "$1, killed $n_ended times" resumed_same "$1" "$seen/k"
            [ $i -lt "$2" ] || break
            rm -f "$seen"/k*
            ;;
        *) fail "$1: kills: status $status, $(head -c 300 "$seen/k.err")" && break ;;
        esac
    done 2>/dev/null
}
for command in ablate score heads; do
    rm -f "$seen"/k*
    kill_often $command $n_kill $most
done

# --- Inputs and readers ---------------------------------------------------------------------------

cp "$scratch/items.jsonl" "$scratch/grows.jsonl"
(
    for ((i = 0; i < 6000; i++)); do # until it has begun
        [ ! -s "$seen/g.csv.part" ] || break
        sleep 0.01
    done
    cat "$scratch/items.jsonl" >>"$scratch/grows.jsonl"
) &
"$cli" ablate -q --items "$scratch/grows.jsonl" --target ' are' --control 20 --each "$seen/g.csv" >/dev/null 2>"$seen/g.err"
status=$?
wait
[ $status -eq 4 ] && grep -q 'does not change while it is read' "$seen/g.err" && pass ||
    fail "a file that grows: status $status, $(head -c 300 "$seen/g.err")"
[ ! -e "$seen/g.csv" ] && pass || fail 'a file that grows: the name is there'
score_to=("${score[@]::${#score[@]}-1}" "$seen/score.csv")
head -n 3 "$scratch/score.csv" >"$scratch/three.csv"
"${score_to[@]}" --each - | head -n 3 | expect 'a reader that goes away' cmp - "$scratch/three.csv"
"${score_to[@]}" --each - | (sleep 0.5 && cat) | expect 'a reader that sleeps' cmp - "$scratch/score.csv"
(
    ulimit -f 2 # KiB
    trap '' XFSZ
    "${score[@]}" --each "$seen/u.csv" >/dev/null 2>"$scratch/err"
)
[ $? -eq 5 ] && [ ! -e "$seen/u.csv" ] && pass || fail "ulimit -f: $(cat "$scratch/err")"

finish
