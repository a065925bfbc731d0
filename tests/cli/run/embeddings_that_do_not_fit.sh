run() { attn-cli run -m tiny-gpt2 --embeds "$@"; echo $?; }
# npy FILE TYPE SHAPE < DATA
npy() { { printf "\x93NUMPY\1\0\166\0%-117s\n" "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" && cat; } >"$1"; }
zeros() { head -c "$1" /dev/zero; }
attn-cli run -m life-is-short --sites embed,pattern --npy x "Life is short"
run x/hook_embed.npy
run x/blocks.0.attn.hook_pattern.npy
run x/ids.npy
run x/tokens.npy
run no.npy
run x/hook_embed.npy "and a text"
zeros $((18 * 15 * 4)) | npy long.npy '<f4' '(18, 15)'
run long.npy
zeros $((17 * 15 * 4 - 1)) | npy short.npy '<f4' '(17, 15)'
run short.npy
zeros 0 | npy none.npy '<f4' '(0, 15)'
run none.npy
{ zeros 116 && printf '\0\0\xc0\x7f'; } | npy nan.npy '<f4' '(2, 15)'
run nan.npy
