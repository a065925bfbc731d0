# What is offered for the last word of a line, whose words are as bash splits them.
# shellcheck source=/dev/null
source <(attn-cli completion bash)
mkdir folder && touch 'a file'

tab() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _attn_cli
    printf '%s ->' "$*"
    printf ' [%s]' "${COMPREPLY[@]}"
    echo
}

tab attn-cli --
tab attn-cli to
tab attn-cli help to
tab attn-cli completion ''
tab attn-cli run --ablate
tab attn-cli run --load ''
tab attn-cli run --load r
tab attn-cli run --load =
tab attn-cli run --load = m
tab attn-cli run -m ''
tab attn-cli run --model f
tab attn-cli run --sites p
tab attn-cli run --sites pattern,resid_p
tab attn-cli run --csv ''
tab attn-cli tokenize -f a
tab attn-cli tokenize --format ''
tab attn-cli tokenize --fo
tab attn-cli run --top ''
tab attn-cli run 'Life is '
tab attn-cli run --attention l
tab attn-cli run --mask ''
tab attn-cli run --source a
