run() { attn-cli run -m "$FIXTURES/attn-cross" --ids 1,2 --source "$@"; echo $?; }
attn-cli run -m life-is-short --sites embed --npy x "Life is short"
run x/hook_embed.npy
run x/ids.npy
run no.npy
run Life
attn-cli run -m cross-attention --source "" Life; echo $?
attn-cli run -m cross-attention --source "Life goes" Life; echo $?
