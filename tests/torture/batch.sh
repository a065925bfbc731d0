#!/usr/bin/env bash
# batch.sh - many texts: kills at random moments, cut journals, shards of everything, bad lines of every
# kind, long lines, readers that go away or sleep, two writers, full devices, other models and inputs.
# Whatever happens, the name appears when all is whole, and the bytes are those of one run.
. "$(dirname "$0")/frame.sh"

RANDOM=1 # the same moments again, as far as the machine is willing
seen=$scratch/seen
mkdir "$seen"

# Writes N texts, a few words each; each 50th is empty, so that some records fail.
write_texts() { # N
    awk -v n="$1" 'BEGIN {
        srand(7); split("the keys to a cabinet are on it once upon time cat", words, " ")
        for (i = 0; i < n; i++) {
            line = ""
            for (j = 0; i % 50 < 49 && j < 4 + i % 17; j++) line = line words[1 + int(rand() * 11)] " "
            print line
        }
    }'
}

# A small model: what is tried is all around it.
batch=("$cli" batch -m tiny-gpt2 --items-format lines -q --measures entropy,previous)
n_text=250
is_full && n_text=2000
write_texts $n_text >"$scratch/texts"
"${batch[@]}" -o "$scratch/all.jsonl" --csv "$scratch/all.csv" --npy "$scratch/all" "$scratch/texts"
[ $? -eq 6 ] && pass || fail "records failed, and the exit code is another"

# Whether what was written as OUT is what one run writes.
same_as_all() { # OUT
    cmp "$scratch/all.jsonl" "$1.jsonl" && cmp "$scratch/all.csv" "$1.csv" && diff -r "$scratch/all" "$1"
}

# --- Threads, pipes, packs ------------------------------------------------------------------------

counts=(8)
! is_more || counts=(1 2 8)
for n in "${counts[@]}"; do
    "${batch[@]}" -t $n -o "$seen/t.jsonl" --csv "$seen/t.csv" --npy "$seen/t" "$scratch/texts"
    expect "-t $n" same_as_all "$seen/t"
done
"${batch[@]}" <"$scratch/texts" | expect "through pipes" cmp - "$scratch/all.jsonl"
# One by one: a pack is one record then.
head -n 100 "$scratch/all.jsonl" >"$scratch/few.jsonl"
head -n 100 "$scratch/texts" | while IFS= read -r line; do
    sleep 0.001
    printf '%s\n' "$line"
done | "${batch[@]}" | expect "one by one" cmp - "$scratch/few.jsonl"

# --- Kills ----------------------------------------------------------------------------------------

# Runs with --resume until it ends by itself, once it was killed N times, after at most MOST
# microseconds each time.
kill_often() { # N MOST TEXTS
    local i status pid wait is_last=0 n_ended=0 signals=(KILL TERM)
    for ((i = 0; is_last == 0; i++)); do
        is_last=$((n_ended == $1 || i == 10 * $1))
        "${batch[@]}" -t 2 -o "$seen/k.jsonl" --csv "$seen/k.csv" \
            --npy "$seen/k" --resume "$3" &
        pid=$!
        if [ $is_last -eq 0 ]; then
            wait=$((RANDOM * $2 / 32768))
            sleep "$(printf '%d.%06d' $((wait / 1000000)) $((wait % 1000000)))"
            [ ! -e "$seen/k.jsonl" ] || [ ! -e "$seen/k.jsonl.part" ] || fail "kills: a name and a part"
            kill -${signals[i % 2]} $pid 2>/dev/null
        fi
        wait $pid
        status=$?
        case $status in
        137 | 143) n_ended=$((n_ended + 1)) ;;
        6) ;;
        *) fail "kills: status $status" && break ;;
        esac
        if [ $status -eq 6 ] || [ -e "$seen/k.jsonl" ]; then # or it was killed when all had its name
            expect "killed $n_ended times" same_bytes "$seen/k"
            rm -rf "$seen"/k*
        fi
    done
    [ $n_ended -eq "$1" ] && pass || fail "only $n_ended of $1 runs were killed"
}
same_bytes() { # OUT
    cmp "$scratch/many.jsonl" "$1.jsonl" && cmp "$scratch/many.csv" "$1.csv" && diff -r "$scratch/many" "$1"
}
n_kill=2 n_many=4000
is_more && n_kill=4
is_full && n_kill=200 n_many=20000
write_texts $n_many >"$scratch/many.txt"
start=${EPOCHREALTIME/[^0-9]/}
"${batch[@]}" -o "$scratch/many.jsonl" --csv "$scratch/many.csv" --npy "$scratch/many" "$scratch/many.txt"
kill_often $n_kill $((${EPOCHREALTIME/[^0-9]/} - start)) "$scratch/many.txt"

# --- The journal ----------------------------------------------------------------------------------

# A run that ended in the middle. Then its journal, or one of its parts, has another size.
head -n 150 "$scratch/texts" >"$scratch/some"
journaled() { # OPTION...
    "${batch[@]}" -o "$seen/j.jsonl" --csv "$seen/j.csv" --npy "$seen/j" "$@" "$scratch/some"
}
journaled
mkdir "$scratch/some-good" "$scratch/some-ended"
mv "$seen"/j* "$scratch/some-good"
journaled --max-errors 1 2>/dev/null
mv "$seen"/j* "$scratch/some-ended"
resume_from() { # COMMAND...
    rm -rf "$seen"/j*
    cp -r "$scratch/some-ended"/j* "$seen"
    "$@" "$seen/j.jsonl.journal"
    journaled --resume
    [ $? -eq 6 ] && rm "$seen/j.jsonl.run.json" && diff -r -x '*.run.json' "$scratch/some-good" "$seen" |
        { ! grep -v "^Only in $seen: [^j]"; }
}
size=$(stat -c %s "$scratch/some-ended/j.jsonl.journal") step=1191
is_more && step=397
is_full && step=1
for ((i = 0; i <= size; i += step)); do
    expect "journal cut at $i" resume_from truncate -s $i
done
expect "a digit of the journal is another" resume_from sed -i '$s/":[0-9]/":7/'
cut_part() { truncate -s "$2" "$seen/$1"; } # FILE SIZE JOURNAL
expect "a part lost its end" resume_from cut_part j.csv.part 1000
expect "a part is empty" resume_from cut_part j.jsonl.part 0
expect "a part is longer" resume_from cut_part j.jsonl.part 9000000
rm -rf "$seen"/j*

# --- One byte ------------------------------------------------------------------------------------

# Whatever byte of whatever file is another when a run goes on: it ends with the bytes of one run over
# the input as it is, and a manifest that tells of them, or it is refused in one line.

flipped=$scratch/flipped
mkdir "$flipped"
flip() { # FILE OFFSET
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059
    printf "\\x$(printf %02x $((byte ^ (1 << RANDOM % 8))))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
go_on() { # [OPTION...]
    (cd "$flipped" && "${batch[@]}" -o f.jsonl --csv f.csv --npy f --edges f.edges --npz f.npz --sites z \
        --layers 0 --resume "$@" f.txt) 2>"$scratch/err"
}
# Whether the files of the folder are those of one run over its input.
same_as_one_run() {
    local good=$scratch/flip-good
    if ! cmp -s "$good/f.txt" "$flipped/f.txt"; then
        good=$scratch/flip-other
        clear_folder "$good"
        cp "$flipped/f.txt" "$good"
        (cd "$good" && "${batch[@]}" -o f.jsonl --csv f.csv --npy f --edges f.edges --npz f.npz --sites z \
            --layers 0 f.txt)
    fi
    diff -r -x '*.run.json' "$good" "$flipped" && cmp "$good/f.txt" "$flipped/f.txt" || return
    sed -nE 's/.*"path": "(.*)", "bytes".*"sha256": "(.*)"}.*/\2  \1/p; s/^"input_sha256": "(.*)",/\1  f.txt/p' \
        "$flipped/f.jsonl.run.json" | (cd "$flipped" && sha256sum -c --quiet && grep -q '^"exit": 6' f.jsonl.run.json)
}
# What a run that goes on after COMMAND comes to.
changed() { # FOLDER COMMAND...
    local from=$1 status
    shift
    rm -rf "$flipped"/*
    cp -r "$from"/* "$flipped"
    (cd "$flipped" && "$@") || return
    go_on
    status=$?
    case $status in
    6) same_as_one_run ;;
    2) [ "$(grep -c '^attn-cli: error: ' "$scratch/err")" -eq 1 ] && [ "$(grep -vc '^hint: ' "$scratch/err")" -eq 1 ] &&
        { [ -e "$flipped/f.jsonl.part" ] || [ -e "$flipped/f.jsonl.run.json" ]; } ;;
    *) echo "status $status" && cat "$scratch/err" && false ;;
    esac
}
# One in 67 of the cases below, in 23, or all. It is a counter, so that all files have their turn.
n_case=0
n_step=67
! is_more || n_step=23
is_tried() { is_full || [ $((n_case++ % n_step)) -eq 0 ]; }
# Tries offsets of each file of FOLDER: the ends, and N between.
flip_each() { # FOLDER N
    local file size at i
    (cd "$1" && find . -type f) | while read -r file; do
        size=$(stat -c %s "$1/$file")
        for ((i = 0; i < $2 + 2 && i < size; i++)); do
            at=$(((RANDOM * 32768 + RANDOM) % size))
            [ $i -gt 0 ] || at=0
            [ $i -ne 1 ] || at=$((size - 1))
            echo "$file $at"
        done
    done >"$scratch/flips"
    while read -r file at; do
        is_tried || continue
        expect "byte $at of $(basename "$1")/$file" changed "$1" flip "$file" "$at"
    done <"$scratch/flips"
}
# Four checkpoints, and a complete run.
head -n 225 "$scratch/texts" >"$flipped/f.txt"
for n in 0 1 2 3; do
    go_on --max-errors $n
done
mkdir "$scratch/flip-ended" "$scratch/flip-good"
mv "$flipped"/* "$scratch/flip-ended"
[ "$(wc -l <"$scratch/flip-ended/f.jsonl.journal")" -eq 4 ] && pass || fail "the journal has not four checkpoints"
# As kill -9 leaves them: more was written than the last checkpoint tells of.
cp -r "$scratch/flip-ended" "$scratch/flip-killed"
find "$scratch/flip-killed" -name '*.part' -o -name '*.journal' | while read -r file; do
    printf '225\t1' >>"$file"
done
cp "$scratch/flip-ended/f.txt" "$flipped"
go_on
mv "$flipped"/* "$scratch/flip-good"
n_flip=1
is_full && n_flip=40
flip_each "$scratch/flip-ended" $n_flip
flip_each "$scratch/flip-killed" $n_flip
flip_each "$scratch/flip-good" $n_flip
remove_or_cut() { # FOLDER
    local file
    (cd "$1" && find . -type f ! -name f.txt) >"$scratch/files"
    while read -r file; do
        ! is_tried || expect "$(basename "$1")/$file is away" changed "$1" rm "$file"
        ! is_tried || expect "$(basename "$1")/$file lost its last byte" changed "$1" truncate -s -1 "$file"
        ! is_tried || expect "$(basename "$1")/$file is longer" changed "$1" truncate -s +1 "$file"
    done <"$scratch/files"
}
remove_or_cut "$scratch/flip-ended"
remove_or_cut "$scratch/flip-good"
expect "a name that an output did not have" changed "$scratch/flip-good" mv f.csv g.csv
rm -rf "$flipped"

# --- Shards ---------------------------------------------------------------------------------------

shard_all() { # FILE N
    local i
    rm -rf "$seen"/s*
    for ((i = 0; i < $2; i++)); do
        "$cli" batch -m tiny-gpt2 --items-format lines -q --fields ids -o "$seen/s.jsonl" --csv "$seen/s.csv" --measures self \
            --npy "$seen/s" --shard $i/$2 "$1"
        [[ $? =~ ^[06]$ ]] || return
    done
    cat "$seen"/s-*.jsonl | cmp - "$scratch/whole.jsonl" &&
        { head -n 1 "$scratch/whole.csv" && tail -qn +2 "$seen"/s-*.csv; } | cmp - "$scratch/whole.csv"
}
counts=(3) ends=(none)
is_more && ends=(newline none long)
is_full && counts=({1..17})
for n_line in 0 1 2 1000; do
    [ $n_line -lt 1000 ] || is_full || n_line=100
    for end in "${ends[@]}"; do
        write_texts $n_line >"$scratch/lines"
        [ $end = newline ] || truncate -s -$((n_line > 0)) "$scratch/lines"
        [ $end != long ] || { head -c 20000 /dev/zero | tr '\0' ' '; cat "$scratch/texts"; } | head -n 3 >"$scratch/lines"
        "$cli" batch -m tiny-gpt2 --items-format lines -q --fields ids --csv "$scratch/whole.csv" --measures self "$scratch/lines" \
            >"$scratch/whole.jsonl"
        for n in "${counts[@]}"; do
            expect "$n shards of $n_line lines, $end" shard_all "$scratch/lines" "$n"
        done
    done
done

# --- Bad lines ------------------------------------------------------------------------------------

bad=('' '{' '[]' '{"text":"\ud800"}' '{"a":1,"a":2,"text":"x"}' '{"id":1}' '{"text":5}'
    '{"ids":[-1]}' '{"ids":[99999]}' '{"ids":"x"}' '{"ids":[]}' '{"text":""}'
    "{\"text\":\"$(printf 'x %.0s' {1..600})\"}" "$(printf '[%.0s' {1..100000})")
awk 'NR % 12 == 6 { print "BAD"; next } { gsub(/"/, ""); print "{\"text\":\"" $0 "x\"}" }' "$scratch/texts" >"$scratch/good"
i=0
while IFS= read -r line; do
    if [ "$line" = BAD ]; then
        line=${bad[i % ${#bad[@]}]}
        i=$((i + 1))
    fi
    printf '%s\n' "$line"
done <"$scratch/good" >"$scratch/mixed"
grep -v BAD "$scratch/good" | "$cli" batch -q --fields ids | cut -d , -f 2- >"$seen/others"
counts=(8)
! is_more || counts=(1 2 8)
for n in "${counts[@]}"; do
    "$cli" batch -q --fields ids -t $n "$scratch/mixed" >"$seen/mixed"
    [ $? -eq 6 ] && pass || fail "bad lines, -t $n"
    [ "$(wc -l <"$seen/mixed")" -eq $n_text ] && pass || fail "bad lines, -t $n: lines are lost"
    grep -v '"error"' "$seen/mixed" | cut -d , -f 2- >"$seen/left"
    expect "bad lines leave others alone, -t $n" cmp "$seen/others" "$seen/left"
done
for code in bad_json no_text bad_text bad_ids empty too_long; do
    grep -q "\"code\":\"$code\"" "$seen/mixed" && pass || fail "no line failed as $code"
done
{ head -c 17825792 /dev/zero | tr '\0' x && echo && echo once; } | "$cli" batch --items-format lines -q --fields ids |
    grep -c 'line_too_long\|"n_token":2' | expect "a line of 17 MiB" grep -qx 2
# However long a line is, it takes the memory of a short one.
(
    ulimit -v 250000
    { head -c 300000000 /dev/zero && echo && echo once; } | timeout "$patience" "$cli" batch --items-format lines -q --fields ids
) >"$seen/long"
grep -q '"its line has 300,000,000 bytes' "$seen/long" && grep -q '"n_token":2' "$seen/long" && pass ||
    fail "a line of 300 MB: $(cat "$seen/long")"
timeout --preserve-status -s TERM 0.2 "$cli" batch -q /dev/zero 2>"$scratch/err"
[ $? -eq 143 ] && pass || fail "/dev/zero: $(cat "$scratch/err")"

# --- Readers and writers --------------------------------------------------------------------------

yes once | timeout "$patience" "$cli" batch --items-format lines -q --fields ids | head -n 1 >"$seen/one"
[ "${PIPESTATUS[*]:1}" = '0 0' ] && [ -s "$seen/one" ] && pass || fail "head -n 1: ${PIPESTATUS[*]}"

# While nobody reads, what is inside does not grow.
mkfifo "$scratch/out"
yes 'once upon a time' | "$cli" batch --items-format lines -q -t 2 >"$scratch/out" &
pid=$!
exec 9<"$scratch/out"
for ((i = 0; i < 75; i++)); do # until it waits: on a busy machine it begins late, and a thread that runs may get no time
    spent=$(cut -d ' ' -f 14,15 "/proc/$pid/stat")
    sleep 0.4
    grep -q '^State:.*[RD]' "/proc/$pid"/task/*/status || [ "$spent" != "$(cut -d ' ' -f 14,15 "/proc/$pid/stat")" ] || break
done
first=$(awk '/VmRSS/ { print $2 }' "/proc/$pid/status")
sleep 0.5
second=$(awk '/VmRSS/ { print $2 }' "/proc/$pid/status")
[ "$second" -le $((first + 1024)) ] && [ "$second" -lt 131072 ] && pass || fail "a reader that sleeps: $first, $second KiB"
exec 9<&-
wait

# Write a line, read a line.
ask() {
    local i answer
    coproc "$cli" batch --items-format lines -q --fields ids
    for ((i = 0; i < 200; i++)); do
        echo "question $i" >&"${COPROC[1]}"
        IFS= read -r -t 60 -u "${COPROC[0]}" answer || return
        [[ $answer = "{\"id\":$i,"* ]] || return
    done
    exec {COPROC[1]}>&-
    wait "$COPROC_PID"
}
expect "200 questions" ask

# Two processes, one name: one of them writes.
{ until [ -e "$scratch/refused" ]; do sleep 0.05; done && echo once; } |
    "$cli" batch --items-format lines -q -o "$seen/two.jsonl" &
until [ -e "$seen/two.jsonl.part" ]; do sleep 0.05; done
echo upon | "$cli" batch --items-format lines -q -o "$seen/two.jsonl" 2>"$scratch/err"
[ $? -eq 5 ] && pass || fail "two processes: $(cat "$scratch/err")"
echo upon | "$cli" batch --items-format lines -q --resume -o "$seen/two.jsonl" 2>"$scratch/err"
[ $? -eq 5 ] && pass || fail "two processes, --resume: $(cat "$scratch/err")"
touch "$scratch/refused"
wait
grep -q '"ids":\[271,467\]' "$seen/two.jsonl" && pass || fail "two processes: the first has not written"

for output in '-o /dev/full' '-o /dev/null --csv /dev/full' "-o $seen/f.jsonl --csv /dev/full" '-o -'; do
    "${batch[@]}" $output "$scratch/texts" >/dev/full 2>"$scratch/err"
    [ $? -eq 5 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && pass || fail "full device, $output: $(cat "$scratch/err")"
    rm -f "$seen"/f*
done
(
    ulimit -f 10 # KiB: EFBIG takes the place of ENOSPC
    "${batch[@]}" -o "$seen/u.jsonl" --csv "$seen/u.csv" "$scratch/texts" 2>"$scratch/err"
)
[ $? -eq 5 ] && [ ! -e "$seen/u.jsonl" ] && pass || fail "ulimit -f: $(cat "$scratch/err")"

# --- Something else -------------------------------------------------------------------------------

cp -r models/tiny-gpt2 "$scratch/model"
chmod -R u+w "$scratch/model"
other=("$cli" batch -q --items-format lines --fields ids -m "$scratch/model" -o "$seen/o.jsonl" --max-errors 9)
"${other[@]}" "$scratch/texts" 2>/dev/null
cp "$seen/o.jsonl.part" "$scratch/part"
change() { # WHAT STATUS COMMAND...
    local what=$1
    shift
    "$@" 2>"$scratch/err"
    [ $? -eq 2 ] && cmp -s "$seen/o.jsonl.part" "$scratch/part" && pass || fail "another $what: $(cat "$scratch/err")"
}
change options "${other[@]}" --layers 0 --resume "$scratch/texts"
change input "${other[@]}" --resume "$scratch/many.txt"
cp "$scratch/texts" "$scratch/grown"
echo more >>"$scratch/grown"
change input "${other[@]}" --resume "$scratch/grown"
printf '\x01' | dd of="$scratch/model/model.safetensors" bs=1 seek=$(($(stat -c %s "$scratch/model/model.safetensors") - 2)) \
    conv=notrunc 2>/dev/null
change model "${other[@]}" --resume "$scratch/texts"

# --- Other readers --------------------------------------------------------------------------------

# U+0085, U+2028 and U+2029 end lines for some.
printf 'a\302\205b\nc\342\200\250d\342\200\251e\n' | "$cli" batch -q --items-format lines --fields tokens >"$seen/ends"
if has python3 python3 "splitlines()"; then
    n_read=$(python3 -c 'import json, sys
print(len(open(sys.argv[1], encoding="utf-8").read().splitlines()), end=" ")
print(len([json.loads(line) for line in open(sys.argv[2])]))' "$seen/ends" "$scratch/all.jsonl")
    [ "${n_read% *}" = 2 ] && pass || fail "splitlines() finds more lines"
    [ "${n_read#* }" = $n_text ] && pass || fail "Python reads another number of lines"
fi
if has jq jq "lines that jq reads"; then
    [ "$(jq -c . "$scratch/all.jsonl" | wc -l)" -eq $n_text ] && pass || fail "jq reads another number of lines"
fi
finish
