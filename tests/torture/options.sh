#!/usr/bin/env bash
# options.sh - no option is ignored: each option of each command, given beside a command line of BASES, changes what is
# printed or written, or is refused. Options come from the help, which is made from the tables of options; `value_of` gives
# each a value that is not its default. Settings of an option are tried as options are. Names are unique within a command.
. "$(dirname "$0")/frame.sh"

text='The keys to the cabinet'

# Options that need not change anything, of all commands or of one, and why.
declare -A exempt=(
    [threads]='the bits are the same with any number'
    [algorithm]='the same numbers by another way'
    [load]='the same weights by another way'
    [color]='a user may always set it'
    [quiet]='leaves out notes, and there may be none'
    [verbose]='adds notes about work, and there may be none'
    [progress]='reports after some seconds'
    [max-errors]='counts failures, and there may be none'
    [marks]='for texts that contain marks'
    [special]='for texts that contain special tokens'
    [special-tokens]='for tokenizers that add special tokens'
    [tower]='for models with two towers'
    [invalid]='for bytes that are not UTF-8'
    [add]='keeps files of an earlier run'
    [resume]='continues an earlier run'
    [stride]='for texts longer than the model takes'
    [tokenize.config]='for models whose config says how a tokenizer works'
    [models.precision]='its table has no fractions'
    [full]='for tables that are shortened'
    [sort]='pictures of a table have an order of their own; --limit shows which rows are left'
)

# Lines that show that most of them do change something: "OPTION|VALUE|LINE"; the line alone may fail.
shown=(
    "color|always|run|$text" "full||run|--sites|z|-f|IN/middle.txt" "invalid|replace|tokenize|-f|IN/bad.txt" "marks||score|--items|IN/marked.jsonl"
    "max-errors|0|score|--items|IN/marked.jsonl" "quiet||score|$text" "sort|entropy|heads|$text"
    "special|text|tokenize|-f|IN/special.txt" "special-tokens|off|tokenize|--vocab|$root/tests/fixtures/tokenizers/llama2/tokenizer.json|$text"
    "stride|30|score|-f|IN/long.txt" "tokenize.config|IN/drop.json|tokenize|-m|life-is-short|Life is short" "verbose||score|--items|IN/marked.jsonl"
)

# What changes nothing beside one line, and why it may: "COMMAND OPTION BASE" with * as in a path.
known=(
    'run values *--heatmap*' # there is room for all digits
    'attribute figure *--method|saliency*' # it is the default
    'heads shares *--svg*'                 # a map shows them without it, other figures one column
    '* theme *--heatmap*'                  # a screen is dark unless it says something else
    'run theme *--color*'                  # as there
)

# Sets `value` to one for an option of a command. Names decide, then what the help calls the value.
value_of() { # COMMAND NAME ARGUMENT
    case $1.$2 in
    *.ablate | ablate.set) value=2.5 ;;
    *.at | *.from) value=1 ;;
    *.tiles) value=-1 ;;
    *.to) value=0 ;;
    *.attention | *.with-attention) value=window:2 ;;
    *.colormap) value=magma ;;
    models.columns) value=name ;;
    models.where) value=name=fable ;;
    attend.where) value=head=0 ;;
    *.columns) value=row_type ;;
    score.where) value=position=1 ;;
    *.where) value=layer=1 ;;
    *.column | *.sort) value=layer ;;
    *.compute) value=bf16 ;;
    *.config) value=$in/config.json ;;
    *.cluster) value=number ;;
    *.decode) value='5 6' ;;
    *.chat-set) value=polite=true ;;
    *.tools) value=$in/config.json ;;
    *.messages) value='[{"role":"user","content":"The keys"}]' ;;
    *.draw) value=embed=randn@7 ;;
    *.drop) value=e ;;
    *.embeds) value=$in/embeds.npy ;;
    *.estimate) value=atp ;;
    patch.direction) value=noise ;;
    ablate.fdr) value=change ;;
    attribute.fdr) value=value ;;
    diff.fdr) value=tv ;;
    heads.fdr) value=entropy ;;
    lens.fdr) value=value ;;
    patch.path) value=2.5:logits ;;
    circuit.random) value=3 ;;
    circuit.evaluate) value=$in/edges.csv ;;
    circuit.fdr) value=score ;;
    patch.fdr) value=effect ;;
    score.fdr) value=value ;;
    sinks.fdr) value=first_weight ;;
    spans.fdr) value=share ;;
    spans.spans) value=doc ;;
    *.fields) value=tokens ;;
    score.figure) value=curve ;;
    *.figure) value=tokens ;;
    *.figure-width) value=85mm ;;
    *.group-by) value=number ;;
    *.paired) value=number=sg:pl ;;
    *.heads) value=2.5 ;;
    *.ids) value=5,6,7 ;;
    *.image | *.*-image) value=$in/picture.ppm ;;
    *.items) value=$in/items.jsonl ;;
    *.items-format) value=csv ;;
    *.key-mask) value=1,1,0,1,1 ;;
    score.knockout) value='3>0' ;; # the last token predicts none that is scored
    *.keep | *.pattern) value=$in/pattern.npy ;;
    *.knockout) value='4>0' ;;
    *.labels) value=all ;;
    *.layers) value=1 ;;
    attend.mask) value=causal ;;
    *.mask) value=none ;;
    *.mean-by) value=number ;;
    *.measures) value=max ;;
    *.method) value=saliency ;;
    *.metric) value=prob ;;
    *.minus) value=sg ;;
    *.model) value=tiny-gpt2 ;;
    *.output) value=made ;;
    *.parts) value=mlp ;;
    *.patch) value=z:2=$in/z.npz ;;
    *.positions) value=end=-1 ;;
    *.probe) value=induction:5 ;;
    *.sinks) value=2:3 ;;
    heads.composition) value=k ;;
    heads.svd) value=0.0:qk ;;
    *.regions) value=verb ;;
    *.rescale) value=z:2.5=0.5 ;;
    *.reference) value=$in/texts.txt ;;
    *.set) value=d_model=16 ;;
    *.shard) value=1/2 ;;
    lens.sites | patch.site) value=resid_mid ;;
    *.sites) value=q ;;
    attend.x | attend.q | attend.k | attend.v) value=$in/other.npy ;;
    attribute.score) value='4>0@2.5' ;;
    *.scores) value=$in/scores.npy ;;
    *.special) value=text ;;
    *.special-tokens) value=off ;;
    *.source | *.corrupted-source) value='The cat' ;;
    *.max-input) value=1 ;;
    *.baseline-keep) value=0 ;;
    *.steer | *.project) value=resid_pre:2@-1=$in/vector.npy ;;
    *.story) value=$in/texts.txt ;;
    *.texts) value=$in/texts.jsonl ;;
    *.types) value=0,0,1,1,1 ;;
    *.file) value=$in/text.txt ;;
    *.vocab | *.weights) value=$in/model.gguf ;;
    *.key-labels | *.query-labels) value=$in/labels.txt ;;
    *.bootstrap | *.control | *.runs) value=20 ;;
    *.id-key) value=name ;;
    *.limit) value=1 ;;
    *.queries) value=1 ;;
    *.stop) value=e ;;
    *.top) value=5 ;;
    run.values | attend.values) value=always ;;
    *.values) value=never ;;
    *.verify) value=0 ;;
    *.dropout | *.min-p | *.top-p) value=0.5 ;;
    *.eps | *.temperature) value=2 ;;
    *.interval) value=50 ;;
    *.max-line) value=10 ;;
    *.precision) value=2 ;;
    diff.with) value=tiny-gpt2 ;;
    *.replacement) value=mean ;;
    *) value_by_kind "$1.$2" "$3" ;;
    esac
}

value_by_kind() { # OPTION ARGUMENT
    case $2 in
    *DIR) value=folder ;;
    *FILE | PATH) value='file' ;;
    *'|'*) value=${2##*|} value=${value%%[:[]*} ;;
    TEXT | *NAME | CHARS) value=' are' ;;
    [A-Z] | [A-Z]'['* | ID | POS | SEED | PT | MIB | SECONDS | PERCENT | BYTES) value=3 ;;
    *) fail "$1: no value for $2 in value_of" && value=1 ;;
    esac
}

# Command lines, each complete, in a folder with the files that `prepare` makes.
bases=(
    "run|--color|always|$text" "run|--svg|a.svg|$text" "run|--target| are|$text" "run|--heatmap|--color|always|$text" "run|--npz|a.npz|$text"
    "diff|--with-attention|window:3|$text" "run|--explain|--heads|2.3|$text" "run|--csv|folder|$text"
    "run|--items|IN/items.jsonl|--sites|z|--npz|a.npz" "generate|-n|3|--items|IN/items.jsonl"
    "attend|--q|IN/q.npy|--k|IN/k.npy|--v|IN/v.npy|--mask|IN/mask.npy" "attend|--svg|a.svg|--q|IN/q.npy|--k|IN/k.npy|--v|IN/v.npy"
    "tokenize|$text" "tokenize|--format|ids|$text" "init|made|--vocab-from|to be or not|--set|d_model=8|--set|n_head=2" "inspect|fable" "models"
    "models|--json|a.json" "run|--items|IN/texts.jsonl|--jsonl|-" "run|--items|IN/texts.jsonl|--top|2|--jsonl|-"
    "sinks|The keys to the cabinet near the old doors of the hall are rusty" "spans|--positions|doc=1-3|--positions|rule=4|$text" "examples|--heads|2.5|--measures|entropy|--top|1|--items|IN/items.jsonl|--bins|2"
    "heads|$text" "heads|--svg|a.svg|$text" "heads|--items|IN/items.jsonl"
    "ablate|--target| are|$text" "ablate|--target| are|--svg|a.svg|$text" "ablate|--items|IN/items.jsonl"
    "attribute|--target| are|$text" "attribute|--target| are|--svg|a.svg|$text" "attribute|--items|IN/items.jsonl"
    "attribute|--target| are|--method|ig:4|$text" "attribute|--target| are|--method|attn_x_grad|$text"
    "attribute|--target| are|--method|saliency|--svg|a.svg|$text"
    "diff|$text|The key to the cabinet" "diff|--svg|a.svg|$text|The key to the cabinet"
    "generate|-n|20|--temperature|2|$text" "generate|-n|3|--npz|a.npz|$text"
    "lens|$text" "lens|--target| are|--svg|a.svg|$text" "lens|--items|IN/items.jsonl"
    "lens|--map|IN/maps|--items|IN/texts.jsonl"
    "patch|--clean|The keys to|--corrupted|The key to|--target| are" "patch|--clean|The keys to|--corrupted|The key to|--target| are|--svg|a.svg"
    "patch|--items|IN/pairs.jsonl" "patch|--estimate|atp|--site|z|--clean|The keys to|--corrupted|The key to|--target| are"
    "circuit|--clean|The keys to|--corrupted|The key to|--target| are"
    "score|$text" "score|--svg|a.svg|$text" "score|--figure|bars|--svg|a.svg|$text" "score|--items|IN/items.jsonl|--group-by|number"
    "completion|bash" "help|run"
)

in=$scratch/in # what they read
prepare() {
    local run=$in/run
    mkdir "$in"
    "$cli" run --sites attn_scores,pattern,embed,resid_pre --heads 2.5 --npy "$run" "$text" &&
        "$cli" run --sites z --npz "$in/z.npz" 'The dogs near a door' || return
    cp $golden/{q,k,v,mask}.npy "$in"
    cp "$in/k.npy" "$in/other.npy"
    mv "$run/blocks.2.attn.hook_attn_scores.npy" "$in/scores.npy"
    mv "$run/blocks.2.attn.hook_pattern.npy" "$in/pattern.npy"
    mv "$run/hook_embed.npy" "$in/embeds.npy"
    mv "$run/blocks.3.hook_resid_pre.npy" "$in/vector.npy"
    cp models/tiny-gpt2/config.json "$in"
    cp models/tiny-gpt2/model.safetensors "$in/model.gguf"
    printf 'P6 2 2 255 012345678901' >"$in/picture.ppm"
    printf '%s\n' 'The dog' 'A cat sat on it' >"$in/texts.txt"
    printf 'A dog' >"$in/text.txt"
    printf '%s\n' one two three four five >"$in/labels.txt"
    printf '{"name": "%s", "text": "%s"}\n' x 'The dogs near' y 'The cat sat on it' z 'The keys to the cabinet' >"$in/texts.jsonl"
    printf '{"id": "%s", "text": "%s", "target": " %s", "number": "%s", "pair_id": %s}\n' a 'The keys to' are pl 1 b 'The key to' is sg 1 \
        c 'The dogs near' are pl 2 d 'The dog near' is sg 2 e 'The boys on' are pl 3 >"$in/items.jsonl"
    printf '{"text": "The [noun keys] are", "label": 1}\n{"text": ""}\n' >"$in/marked.jsonl"
    printf 'The \xff keys' >"$in/bad.txt"
    printf '<|endoftext|>keys' >"$in/special.txt"
    printf 'keys %.0s' {1..40} >"$in/middle.txt"
    printf 'keys %.0s' {1..300} >"$in/long.txt"
    printf '{"tokenizer": {"drop": "s"}}' >"$in/drop.json"
    printf '{"clean": "The %s to", "corrupted": "The %s to", "target": " are", "number": "%s"}\n' keys key pl dogs dog pl boy boys sg >"$in/pairs.jsonl"
    mkdir "$in/maps"
    { printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (128, 128), }"; head -c 65536 /dev/zero; } >"$in/maps/1.npy"
    printf 'from,to\ninput,0.mlp\n0.mlp,logits\n' >"$in/edges.csv"
}

# Runs attn-cli with ARGUMENTs in the folder SEEN, of which nothing is left, and leaves there what it wrote and printed.
run_in() { # SEEN ARGUMENT...
    [ ! -d "$1" ] || rm -r "$1"
    mkdir "$1"
    (cd "$1" && ATTN_CLI_MODEL_PATH=$root/models exec timeout "$patience" "$cli" "${@:2}" >.out 2>.err </dev/null)
}

# Takes the times out of what run_in left in SEEN.
remove_times() { # SEEN
    sed -i -E '/^seconds /d; s/ in [0-9.]+ m?s\b//' "$1/.out" "$1/.err"
}

declare -A is_needed # rows of `known`
is_known() { # LINE
    local pattern
    for pattern in "${known[@]}"; do
        # shellcheck disable=SC2053 # a pattern
        [[ $1 != $pattern ]] || { is_needed[$pattern]=1 && return 0; }
    done
    return 1
}

# Tries options of a command beside one of its lines: all, or one in N_PART of them, those after OFFSET.
try_base() { # NUMBER N_PART OFFSET
    local folder=$scratch/$1 base command name argument value n=0 option status
    IFS='|' read -ra base <<<"${bases[$1]}"
    base=("${base[@]//IN\//$in/}") command=${base[0]}
    run_in "$folder" "${base[@]}" && run_in "$folder.again" "${base[@]}" && remove_times "$folder" &&
        remove_times "$folder.again" && diff -r "$folder" "$folder.again" >"$scratch/out" ||
        { fail "${base[*]}: $(head -c 200 "$folder/.err" "$scratch/out")" && return; }
    while read -r name of argument; do
        n=$((n + 1))
        [ -z "${exempt[$name]-}${exempt[$command.$name]-}" ] && [[ "|${bases[$1]}|" != *"|--$name|"* ]] &&
            [ $((n % $2)) -eq "$3" ] || continue
        option=("--$name")
        [ -z "$argument" ] || { value_of "$command" "$name" "$argument" && option+=("$value"); }
        [ "$of" = - ] || option=("--$of" "$name${argument:+=$value}")
        run_in "$folder.seen" "$command" "${option[@]}" "${base[@]:1}"
        status=$?
        [ $status -ne 0 ] || remove_times "$folder.seen"
        if [ $status -gt 7 ] || { [ $status -gt 0 ] && [ ! -s "$folder.seen/.err" ]; }; then
            fail "${option[*]} ends with status $status: attn-cli ${base[*]}"
        elif [ $status -eq 0 ] && diff -r "$folder" "$folder.seen" >/dev/null; then
            is_known "$command $name ${bases[$1]}" || fail "${option[*]} changes nothing: attn-cli ${base[*]}"
        else
            pass
        fi
    done <"$scratch/$command.options"
}

# Tries an option that is exempt elsewhere beside a line that shows it.
try_shown() { # "OPTION|VALUE|LINE"
    local folder=$scratch/shown option value base
    IFS='|' read -ra base <<<"${1//IN\//$in/}"
    option=("--${base[0]#*.}") value=${base[1]} base=("${base[@]:2}")
    [ -z "$value" ] || option+=("$value")
    run_in "$folder" "${base[@]}"
    run_in "$folder.seen" "${base[0]}" "${option[@]}" "${base[@]:1}"
    remove_times "$folder"
    remove_times "$folder.seen"
    diff -r "$folder" "$folder.seen" >/dev/null && fail "${option[*]} changes nothing: attn-cli ${base[*]}" || pass
}

# Prints "NAME OF ARGUMENT" for each option and setting of COMMAND; OF is - for an option.
list_options() { # COMMAND
    local of name argument
    "$cli" "$1" --help-all | sed -nE "/ 'NAME=VALUE/d; s/^( {6}|  -., )--([a-z-]+)( [^ ]+)?(  .*|$)/\\2 -\\3/p"
    for of in style:figures attention:attention stats:items; do
        "$cli" completion words -- "$1" "--${of%:*}" '' | sed -n 's/=\?\t.*//p' >"$scratch/names"
        "$cli" help "${of#*:}" | sed -nE 's/^ {8}([a-z-]+)=?([^ ]*)(  .*|$)/\1 \2/p' | while read -r name argument; do
            grep -qxe "$name" "$scratch/names" && echo "$name ${of%:*} $argument"
        done
    done
}

prepare >"$scratch/out" 2>&1 || fail "prepare: $(head -c 200 "$scratch/out")"
for command in run attend tokenize init inspect models heads ablate attribute diff generate lens patch circuit score sinks spans examples completion help; do
    list_options $command >"$scratch/$command.options"
    twice=$(cut -d' ' -f1 "$scratch/$command.options" | sort | uniq -d)
    [ -s "$scratch/$command.options" ] && [ -z "$twice" ] && pass || fail "$command has twice: $twice"
done
for line in "${shown[@]}"; do
    try_shown "$line"
done
declare -A n_base # lines of a command
for base in "${!bases[@]}"; do
    command=${bases[base]%%|*}
    n_base[$command]=$((${n_base[$command]-0} + 1))
done
declare -A seen
for base in "${!bases[@]}"; do
    command=${bases[base]%%|*}
    if is_full; then
        try_base "$base" 1 0
    elif is_more || [ $((base % 8)) -eq 0 ]; then # each option of a command beside one of its lines; one line in eight
        try_base "$base" "${n_base[$command]}" "${seen[$command]-0}"
    fi
    seen[$command]=$((${seen[$command]-0} + 1))
done
for line in "${known[@]}"; do
    is_full && [ -z "${is_needed[$line]-}" ] && fail "'$line' stands in \`known\`, and nothing needs it"
done
finish
