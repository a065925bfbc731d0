#!/usr/bin/env bash
# published_sums.sh BINARY MODELS [--refresh] - compares what BINARY computes on published models with the sums of
# tests/golden/published.sha256. MODELS is what check_published.sh unpacked.
#
# As in same_bits.sh, the sums hold for every compiler, processor (ATTN_CLI_ISA) and number of threads. --refresh writes them, after a
# change of what is computed.
set -u
cd "$(dirname "$0")/../.." || exit 1
binary=$(realpath "$1") models=$(realpath "$2") sums=$PWD/tests/golden/published.sha256 texts=$PWD/data/tiny-corpus.txt
folder=$(mktemp -d)
trap 'rm -rf "$folder" "$folder".*' EXIT
cd "$folder" || exit 1
ids=$(seq -s , 1000 3 1900)

keep() { # ARGUMENT...
    "$binary" "$@" -q && return
    echo "published-sums: 'attn-cli $*' fails" >&2
    exit 1
}
for name in smollm2 gemma3; do
    keep batch -m "$models/$name.gguf" --items-format lines <(grep . "$texts") >"$name.ids.jsonl"
    keep run -m "$models/$name.gguf" "The old man walked to the house near the river." --sites pattern,z,logits --npz "$name.npz"
    keep score -m "$models/$name.gguf" --ids "$ids" --csv "$name.surprisal.csv"
done
keep run -m "$models/minilm" "A cat sits on the mat." --sites pattern,normalized_resid_post --npz minilm.npz
for name in rxnfp/bert_ft rxnfp/bert_ft_10k_25s rxnfp/bert_pretrained; do
    keep run -m "$models/$name" --ids "$(seq -s , 12 60)" --sites pattern,normalized_resid_post --npz "${name#*/}.npz"
done
keep run -m "$models/rxnfp/bert_ft_10k_25s" --ids "$(seq -s , 12 60)" --sites logits --npz classes.npz
keep run -m "$models/antiberty" --ids "2,$(seq -s , 5 24),3" --sites pattern,logits --npz antiberty.npz

sha256sum ./* >"$folder.found"
[ "${3-}" != --refresh ] || cp "$folder.found" "$sums"
diff "$sums" "$folder.found" >"$folder.differences" ||
    { awk '/^[<>]/ { print "published-sums: other bytes in " $3 }' "$folder.differences" | sort -u && exit 1; }
echo "published-sums: all $(wc -l <"$sums") files are the same; they are with every build, processor and number of threads"
