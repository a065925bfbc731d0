# places.sh - checks of where the rows of results of a translator are: sourced by tests/cli/run/places.test.
#
#     places_of MODEL ENCODER DECODER HEADS ENCODER_HEADS     # layers of both stacks, heads of a layer
#     ask "lens" 2,3 lens --sentence ...    # asks with every output; checks them
#     places_end                          # prints how many were checked
#
# The rules: a layer stands beside its stack and is below the layers of that stack; a question has the expected rows of
# each stack; all outputs of a question have the rows of its CSV; a sort by layer or by stack is encoder, decoder, cross,
# each by layer. Each fault is a line "fault: ...".

places_of() {
    model=$1 n_encoder=$2 n_decoder=$3 n_head=$4 n_encoder_head=$5
    n_command=0 n_output=0 n_row=0
    given="--source ids:5,6,7,8 --ids 2,5,6"
    target="--target ids:5 --foil ids:6"
}

fault() {
    echo "fault: $*"
}

# run COMMAND...: runs attn-cli, whose failure is a fault.
run() {
    n_command=$((n_command + 1))
    attn-cli "$@" >out 2>err || fault "attn-cli $*: exit $?: $(head -1 err)"
}

# Prints stack, layer and head of each row of the CSV FILE, "-" if missing; "! REASON" where a rule is broken.
csv_places() {
    awk -F, -v encoder="$n_encoder" -v decoder="$n_decoder" -v heads="$n_head" -v own="$n_encoder_head" '
        NR == 1 {
            for (i = 1; i <= NF; i++)
                column[$i] = i
            for (name in column)
                if (name ~ /layer$/) {
                    stack = name
                    sub(/layer/, "stack", stack)
                    if (column[stack] + 1 != column[name])
                        print "! " name " has no " stack " before it"
                }
            next
        }
        column["layer"] && $column["layer"] == "" { print "-", "-", "-"; next }
        column["layer"] {
            s = $column["stack"]; l = $column["layer"]; h = column["head"] ? $column["head"] : "-"
            n = s == "encoder" ? encoder : s == "decoder" || s == "cross" ? decoder : 0
            if (l !~ /^[0-9]+$/ || l >= n)
                print "! line " NR " is in layer " l " of stack " s
            if (h != "-" && h != "" && h >= (s == "encoder" ? own : heads))
                print "! line " NR " is of head " h " of stack " s
            print s, l, h == "" ? "-" : h
        }' "$1"
}

# same NAME FILE: whether the places of FILE are those of the CSV.
same() {
    n_output=$((n_output + 1))
    cmp -s places "$2" || fault "$question: $1 has other rows than CSV: $(diff places "$2" | head -3 | tr '\n' ' ')"
}

# Places of rows whose cells are split by the separator $1, in the columns of the CSV.
split_places() {
    awk -v separator="$1" -v header="$(head -1 a.csv)" '
        BEGIN {
            n = split(header, names, ",")
            for (i = 1; i <= n; i++)
                column[names[i]] = i
            FS = separator
        }
        {
            for (i = 1; i <= NF; i++)
                gsub(/^[ "]+|[ "]+$/, "", $i)
            s = $column["stack"]; l = $column["layer"]; h = column["head"] ? $column["head"] : "-"
            sub(/^(null|-|\{--\})$/, "", l); sub(/^(null|-|\{--\})$/, "", h)
            print l == "" ? "- - -" : s " " l " " (h == "" ? "-" : h)
        }'
}

# Places of rows of JSON, an object on each line.
json_places() {
    awk 'function field(name,   text) {
            if (!match($0, "\"" name "\": *(\"[a-z]*\"|[0-9]+)"))
                return ""
            text = substr($0, RSTART, RLENGTH)
            sub(/^[^:]*: */, "", text)
            gsub(/"/, "", text)
            return text
        }
        { s = field("stack"); l = field("layer"); h = field("head")
          print l == "" ? "- - -" : s " " l " " (h == "" ? "-" : h) }' "$1"
}

# Labels of a picture: no layer without a stack, none beyond the last one.
picture() {
    n_output=$((n_output + 1))
    sed 's/<text/\n<text/g' a.svg | sed -n 's/^<text[^>]*>\([^<]*\)<.*/\1/p' |
        awk -v encoder="$n_encoder" -v decoder="$n_decoder" '
        /(^| )layer [0-9]/ && !/(encoder|decoder|cross) layer/ { print "label \"" $0 "\" has no stack" }
        match($0, /(encoder|decoder|cross) [0-9]+/) {
            split(substr($0, RSTART, RLENGTH), at, " ")
            if (at[2] >= (at[1] == "encoder" ? encoder : decoder))
                print "label \"" $0 "\""
        }' >wrong
    [ ! -s wrong ] || fault "$question: SVG: $(head -1 wrong)"
}

# sorted FILE WHAT: whether rows go encoder, decoder, cross, each by layer.
sorted() {
    grep -v -- '- -' "$1" | awk '{ print ($1 == "encoder" ? 1 : $1 == "decoder" ? 2 : 3), $2 }' >order
    sort -c -k1,1n -k2,2n order 2>wrong || fault "$question: $2: $(cat wrong)"
}

# counts "ENCODER DECODER CROSS": the rows of each stack.
counts() {
    local seen
    seen=$(awk '{ n[$1]++ } END { print n["encoder"] + 0, n["decoder"] + 0, n["cross"] + 0 }' places)
    [ "$seen" = "$1" ] || fault "$question: rows of encoder, decoder, cross are $seen, expected $1"
}

# ask "COUNTS" COMMAND...: with each output; COUNTS is "-" where the table has no layers.
ask() {
    local expected=$1
    shift
    question="$*"
    run "$@" --csv a.csv --json a.json --latex a.tex --markdown a.md --svg a.svg --html a.html
    csv_places a.csv >places
    n_row=$((n_row + $(wc -l <places)))
    ! grep '^!' places >wrong || fault "$question: $(head -1 wrong)"
    [ "$expected" = - ] && return
    counts "$expected"
    run "$@" # as text: rows with a stack are some of them
    awk '{ for (i = 1; i < NF; i++) if ($i ~ /^(encoder|decoder|cross)$/) print $i, $(i + 1) }' out | sort -u >seen
    cut -d' ' -f1,2 places | sort -u | comm -13 - seen >wrong
    [ -s seen ] && [ ! -s wrong ] || fault "$question: text: $(head -1 wrong)"
    n_output=$((n_output + 1))
    sed -n '/^"rows": \[/,/^\]/p' a.json | grep '^{' >rows
    json_places rows >seen && same JSON seen
    sed -n '/\\midrule/,/\\bottomrule/p' a.tex | grep ' & ' | sed 's/ \\\\.*//' | split_places '&' >seen && same LaTeX seen
    sed -n '/^| *:*-/,$p' a.md | sed '1d' | grep '^|' | sed 's/^|//; s/|$//' | split_places '\\|' >seen && same Markdown seen
    sed -n '/^"rows": \[$/,/^"colormap"/p' a.html | sed -n 's/^\[\(.*\)\],*$/\1/p' | split_places , >seen && same HTML seen
    picture
}

# The same of items: a line for each row of each item, as CSV and JSON Lines.
ask_items() {
    local expected=$1
    shift
    question="$* --items"
    run "$@" --items items.jsonl --each a.csv
    run "$@" --items items.jsonl --each a.jsonl --csv t.csv
    csv_places a.csv >places
    n_row=$((n_row + $(wc -l <places)))
    ! grep '^!' places >wrong || fault "$question: $(head -1 wrong)"
    counts "$expected"
    json_places a.jsonl >seen && same "JSON Lines" seen
    csv_places t.csv >seen
    sort -u seen >seen.all && sort -u places >places.all
    cmp -s seen.all places.all || fault "$question: the means have other rows"
}

# Files and members of a run are named by stack and layer: "cross.L1.H0" or "decoder.1.cross_attn".
names() { # WHAT EXPECTED: the names in the file `names`
    n_output=$((n_output + 1))
    awk -v encoder="$n_encoder" -v decoder="$n_decoder" '
        match($0, /^(encoder|decoder|cross)\.L?[0-9]+/) {
            split(substr($0, RSTART, RLENGTH), at, /\.L?/)
            if (at[2] + 0 >= (at[1] == "encoder" ? encoder : decoder))
                print
            next
        }
        /^(blocks\.|L)[0-9]/ { print $0 " has no stack" }' names >wrong
    [ ! -s wrong ] || fault "$question: $1: $(head -1 wrong)"
    [ "$(grep -Ec '^(encoder|decoder|cross)\.L?[0-9]' names)" -eq "$2" ] ||
        fault "$question: $1 has $(grep -Ec '^(encoder|decoder|cross)\.L?[0-9]' names) arrays, expected $2"
}

# The output of a run in each format. HEADS: of the decoder, of its attention to the source, and of the encoder.
every_output_of_a_run() {
    local all="--sites encoder:pattern,decoder:pattern,cross:pattern" heads=$((2 * n_decoder * n_head + n_encoder * n_encoder_head))
    local layers=$((2 * n_decoder + n_encoder)) format

    question="run"
    run run "$@" $all --csv c --npy n --npz a.npz --json a.json --safetensors a.st --tidy a.csv --html a.html --svg s
    ls c | grep csv >names && names CSV "$heads"
    ls n | grep pattern >names && names NPY "$layers"
    grep -aoE '(encoder|decoder|blocks)\.[0-9]+\.[a-z_]*attn\.hook_pattern\.npy' a.npz | sort -u >names && names NPZ "$layers"
    grep -aoE '"(encoder|decoder|blocks)\.[0-9]+\.[a-z_]*attn\.hook_pattern"' a.st | tr -d '"' >names && names safetensors "$layers"
    ls s | grep svg >names && names SVG "$heads"
    csv_places a.csv | sort -u >places
    counts "$((n_encoder * n_encoder_head)) $((n_decoder * n_head)) $((n_decoder * n_head))"
    grep '^!' places >wrong && fault "$question: tidy: $(head -1 wrong)"
    sed -n '/^"heads"/,/\]\]/s/^\[\([^,]*,\)\{5\}\([0-9]*\),\([0-9]*\),\([^,]*,\)\{4\}"\([a-z]*\)".*/{"stack":"\5","layer":\2,"head":\3}/p' a.html >rows
    json_places rows | sort >seen
    same HTML seen
    grep -oE '^"(encoder|decoder|blocks)\.[0-9]+\.[a-z_]*attn\.hook_pattern"' a.json | tr -d '"' >names && names JSON "$layers"
    question="run --items"
    run run -m "$model" --items items.jsonl --sites z --queries -1 --npz a.npz
    grep -aoE '(stack|layer)\.npy' a.npz | sort -u | tr '\n' ' ' >seen
    [ "$(cat seen)" = "layer.npy stack.npy " ] || fault "$question: members $(cat seen)"
    question="run --items --csv"
    run run -m "$model" --items items.jsonl --sites pattern --csv a.csv
    csv_places a.csv | sort -u >places
    counts "0 $((n_decoder * n_head)) $((n_decoder * n_head))"
}

# Asks everything of the model.
every_question() {
    local site part method half=$((n_decoder * n_head)) n_token=3
    local rows=$((n_decoder * n_token)) encoder=$((n_encoder * n_encoder_head)) n=$n_decoder
    local one="-m $model $given"
    local pair="-m $model --source ids:5,6,7,8 --clean ids:2,5,6 --corrupted ids:2,7,6 $target"

    printf '{"ids": [2, 5, %d], "source": [5, 6, 7], "target": %d, "foil": 3}\n' 6 4 7 5 >items.jsonl
    ask "$encoder $half $half" heads $one
    for site in layer:up stack; do
        run heads $one --sort $site --csv a.csv
        csv_places a.csv >places
        counts "$encoder $half $half"
        sorted places "--sort $site"
    done
    ask "0 $((half * (half - 1) / 2)) 0" heads $one --by pair
    ask "0 $((n + 1)) $n" lens $one $target
    ask "$encoder $half $half" ablate $one $target
    ask "$n_encoder $n $n" ablate $one $target --by attn
    for part in mlp layer; do
        ask "$n_encoder $n 0" ablate $one $target --by $part
    done
    for site in resid_pre resid_mid attn_out; do
        ask "0 $rows $rows" patch $pair --site $site
    done
    for site in resid_post mlp_out; do
        ask "0 $rows 0" patch $pair --site $site
    done
    for site in q k v z pattern; do
        ask "0 $half $half" patch $pair --site $site
        ask "$encoder $half $half" patch $pair --corrupted-source ids:5,9,7,8 --site $site
    done
    for method in saliency grad_x_input ig:2 attnlrp relp; do
        ask - attribute $one $target --method $method
    done
    ask - score $one
    ask "0 $half $half" diff $one --with-attention window:1
    ask - align $one
    ask_items "$((2 * encoder)) $((2 * half)) $((2 * half))" heads -m "$model"
    ask_items "0 $((2 * n + 2)) $((2 * n))" lens -m "$model"
    ask_items "$((2 * encoder)) $((2 * half)) $((2 * half))" ablate -m "$model"
    ask_items "$((2 * n_encoder)) $((2 * n)) 0" ablate -m "$model" --by layer
    ask_items "0 $((2 * half)) $((2 * half))" diff -m "$model" --with-attention window:1
    run generate $one -n 2 --npz a.npz
    every_output_of_a_run $one
}

places_end() {
    echo "$n_command commands, $n_output outputs, $n_row rows of CSV"
}
