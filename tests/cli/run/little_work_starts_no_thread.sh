# Unless they are asked for. On one core there is one for much work, too.
threads() { "$@" 2>&1 >/dev/null | grep -o '[0-9]* threads'; }
threads attn-cli run -v -m life-is-short "Life is short"
threads attn-cli run -v -t 2 -m life-is-short "Life is short"
attn-cli run -m life-is-short --sites embed --npy . "Life is short"
threads attn-cli attend -v --x hook_embed.npy
attn-cli init wide --vocab-from a --set d_model=1024 --draw embed=randn --draw heads=linear
much=$(threads attn-cli run -v -m wide "a a a a a a a a")
[ "$much" = "$(nproc) threads" ] || echo "$much on $(nproc) cores"
