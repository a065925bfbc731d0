# A text as the source gives what its rows of the embedding give, and its tokens; a source that equals the
# input gives self-attention.
attn-cli run -m self-attention --sites embed,pattern,z --npy self "Life is short, eat dessert first"
run() { attn-cli run -m cross-attention --npy "$1" --source "$2" "Life is short, eat dessert first"; }
run words "first Life"
attn-cli run -m self-attention --sites embed --npy first "first Life"
run numbers first/hook_embed.npy
diff -r -x source_tokens.npy words numbers
run same "Life is short, eat dessert first"
for name in pattern z; do cmp {self,same}/blocks.0.attn.hook_$name.npy; done
