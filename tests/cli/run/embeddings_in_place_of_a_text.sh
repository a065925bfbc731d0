# The embeddings of a text give what the text gives, bit for bit; there are no tokens to show.
sites=(--sites 'resid_*,pattern,z' --npy)
attn-cli run -m "$MODELS/tiny-gpt2" --sites embed --npy text "The keys are" || exit
attn-cli run -m "$MODELS/tiny-gpt2" "${sites[@]}" text "The keys are"
attn-cli run -m "$MODELS/tiny-gpt2" "${sites[@]}" array --embeds text/hook_embed.npy
diff -r text array
attn-cli run -m life-is-short --sites embed --npy life "Life is short"
attn-cli run -m life-is-short --embeds life/hook_embed.npy
attn-cli run -m life-is-short --embeds life/hook_embed.npy --sites pattern --csv -
