#!/usr/bin/env bash
# check_question.sh - adds a question to a copy of the library, as a change of one file and one row, and asks it: help,
# completion, text, CSV, JSON, items, a figure, a page, and Python's method with signature and docstring.
#
#   check_question.sh [BUILD]    BUILD is build/release; its objects are copied, so that little is built
#
# PYTHON names a python with numpy; without it that part is skipped by name.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/release}
python=${PYTHON:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
n_failed=0

fail() { # WORDS
    echo "check-question: $*"
    n_failed=$((n_failed + 1))
}

# Whether the lines of FILE have the extended regular expressions.
has() { # FILE EXPRESSION...
    local file=$1
    shift
    for expression; do
        grep -qE -- "$expression" "$file" || fail "$file lacks '$expression':"$'\n'"$(head -30 "$file")"
    done
}

git ls-files -z --cached --others --exclude-standard | xargs -0 cp -p --parents -t "$scratch" 2>/dev/null || true
mkdir -p "$scratch/$(dirname "$build")"
cp -rp "$build" "$scratch/$build"
cd "$scratch"

# The change. An array and a site count as later ones, too, as the column `reach` does (`since`).
sed -i 's/{.name = "layer"}/{.name = "layer", .since = 1}/; s/N_SITE_OF_1_0 = 101/N_SITE_OF_1_0 = 19/' \
    lib/ask/stream/record_joined.c
mkdir lib/questions/reach
cp tests/questions/reach.c lib/questions/reach/reach.c
sed -i 's/^    X(score) .*\\$/&\n    X(reach) \\/' lib/parts.h
make -j"$(nproc)" --no-print-directory BUILD="$build" "$build/attn-cli" "$build/libattn.so" >make.log 2>&1 ||
    { tail -30 make.log && exit 1; }
PATH=$scratch/$build:$PATH

attn-cli --help >help && has help '^  reach +how far back each head looks$'
attn-cli reach --help-all >help
has help '^Reach:$' '^      --skip K ' '^      --items FILE' '^      --svg FILE' \
    '^  attn-cli reach -m fable --skip 1 --sort reach "The keys'
attn-cli help --man >manual && has manual 'attn.-cli.-reach'
(
    source <(attn-cli completion bash)
    COMP_WORDS=(attn-cli reach --sk) COMP_CWORD=2
    _attn_cli
    echo "${COMPREPLY[*]}"
    COMP_WORDS=(attn-cli rea) COMP_CWORD=1
    _attn_cli
    echo "${COMPREPLY[*]}"
) >completed
has completed '^--skip' '^reach'

attn-cli reach -m fable "The cat sat" >text && has text '^layer  head +reach' '^ +0 +0 +[0-9.]+$'
attn-cli reach -m fable --csv a.csv --json a.json --svg a.svg --html a.html "The cat sat" >/dev/null
has a.csv '^layer,head,reach,row_type$' '^3,7,[0-9.]+,data$'
has a.json '"reach": [0-9.]+'
has a.svg '<svg' 'mean distance of keys' 'of each head' 'The cat sat'
has a.html '<title>' 'reach'
attn-cli reach -m fable --skip 1 --sort reach --limit 1 "The cat sat" >sorted && [ "$(wc -l <sorted)" = 2 ] ||
    fail 'sort and limit do nothing'
! cmp -s text sorted || fail 'skip does nothing'
attn-cli reach -m fable --omit 1 --sort reach --limit 1 "The cat sat" >former && cmp -s sorted former || fail 'a former name is lost'
attn-cli help --json >help.json && has help.json '"aliases": \["--omit", ?"--skip-first"\]'
! attn-cli reach --skip x "The cat" 2>refused && has refused "expected a whole number|--skip"
! attn-cli reach 2>refused && has refused 'hint: attn-cli reach -m fable "The keys to the cabinet"'
printf '{"id": "a", "text": "The cat", "number": 1}\n{"id": "b", "text": "The cats", "number": 2}\n' >items.jsonl
attn-cli reach -m fable --items items.jsonl --group-by number --each each.csv >means
has means 'reach_sd' 'n$'
has each.csv '^id,.*layer,head,reach' '^a,' '^b,'
printf 'The cat\nThe dog\n' >texts.txt
attn-cli reach -m fable --items texts.txt --items-format lines >means && has means 'reach_sd' 'n$'

# A later column beside a label of its name: the label keeps the name, in each form. Options take both names.
printf '{"id": "%s", "text": "%s", "reach": %s, "layer": %s, "resid_post": 7}\n' a 'The cat' 0.5 1 b 'The dog' '"near"' 2 \
    c 'The cats' true 1 >labels.jsonl
printf '{"id": "d", "text": "The dogs"}\n{}\n' >>labels.jsonl
printf 'id,text,reach\na,The cat,near\nb,The dog,far\n' >labels.csv
printf '{"id": "a", "text": "The cat"}\n{"id": "b", "text": "The dog", "reach": 0.25}\n{}\n' >mixed.jsonl
attn-cli reach -m fable --items labels.csv --each e.csv --csv means.csv && has e.csv '^id,reach,layer,head,attn\.reach,row_type,error$'
has means.csv '^layer,head,attn\.reach,attn\.reach_sd,attn\.reach_se,n,row_type$'
attn-cli reach -m fable --items labels.csv --each e.json >/dev/null && has e.json '"reach": ?"near", ?"layer".*"attn\.reach": ?[0-9]'
attn-cli reach -m fable --items labels.csv --group-by reach --bootstrap 9 --sort attn.reach --where reach=far --csv groups.csv
has groups.csv '^reach,layer,head,attn\.reach,attn\.reach_sd,attn\.reach_se,attn\.reach_low,attn\.reach_high,n,row_type$' '^far,'
attn-cli reach -m fable --items labels.csv --sort reach_se:up --columns head,reach >means && has means '^head +attn\.reach$'
attn-cli reach -m fable --items labels.csv --column reach_sd --svg a.svg && has a.svg 'reach_sd'
attn-cli reach -m fable --items items.jsonl --sort attn.reach --columns attn.reach >means && has means '^ *reach$'
attn-cli reach -m fable --where attn.reach= "The cat sat" >text && has text '^layer +head +reach$'
attn-cli reach -m fable --column attn.reach --svg a.svg "The cat sat" && has a.svg 'mean distance'
! attn-cli reach -m fable --sort attn.head "The cat" 2>refused && has refused "no column 'attn.head' to sort by"
for items in labels.jsonl "labels.jsonl --skip 2" "mixed.jsonl --skip 2" mixed.jsonl; do # of a killed run, each third
    attn-cli reach -m fable -q --items $items --each whole.jsonl --csv whole.csv || true
    attn-cli reach -m fable -q --items $items --each rows.jsonl --max-errors 0 2>/dev/null && fail 'an empty item passes'
    cp rows.jsonl.part.key key
    for share in 1 2 3; do
        head -c $(($(wc -c <whole.jsonl) * share / 3)) whole.jsonl >rows.jsonl.part && cp key rows.jsonl.part.key
        attn-cli reach -m fable -q --items $items --each rows.jsonl --csv again.csv --resume || true
        cmp whole.jsonl rows.jsonl && cmp whole.csv again.csv || fail "a resumed run of $items differs"
        rm rows.jsonl
    done
done
has whole.jsonl '^\{"id":"a","layer":0,"head":0,"reach":' '^\{"id":"b","reach":0.25,"layer":0,"head":0,"attn\.reach":'
attn-cli run -m fable --items labels.jsonl --sites 'resid_*' --layers 0,1 --npz joined.npz -q || true
unzip -l joined.npz >members && has members ' attn\.layer\.npy' ' layer\.npy' ' attn\.resid_post\.npy' ' resid_post\.npy' ' reach\.npy'
attn-cli run -m fable --items items.jsonl --sites resid_post --layers 0,1 --npz joined.npz -q
unzip -l joined.npz >members && has members ' layer\.npy' ' resid_post\.npy' && ! grep 'attn\.' members || fail 'a name without a label'

if "$python" -c 'import numpy' 2>/dev/null; then
    export LIBATTN=$scratch/$build/libattn.so PYTHONPATH=$scratch/lib/python
    "$python" lib/python/make_questions.py
    "$python" - <<'PYTHON' >answer || fail 'Python fails'
import inspect
import attn
model = attn.open("fable")
print(inspect.signature(model.reach))
print(model.reach.__doc__)
table = model.reach("The cat sat", skip=1, sort="reach", limit=2)
print(table.columns, len(table))
print(len(model.reach(items=["The cat", "The dog"])))
print(model.reach(items=[{"text": "The cat"}, {"text": "The dog"}]).info["n_item"])
print(table.plot().svg[:100])
try:
    model.reach("The cat", skip=-1)
except ValueError as problem:
    print(problem)
PYTHON
    has answer "^\(text=None, \*, skip: 'int' = 0, sort: 'str \| None' = None" \
        '^ *How far back each head looks\.$' '^ +skip +leave out the first K tokens' \
        "^\['layer', 'head', 'reach', 'row_type'\] 2$" '^32$' '^2$' '<svg' '^skip is -1, expected'
else
    echo 'check-question: skipped Python, numpy is missing'
fi
[ $n_failed -eq 0 ] || exit 1
echo 'check-question: passed'
