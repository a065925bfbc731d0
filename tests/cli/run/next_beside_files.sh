# Predictions are printed, and the files are the same as without them.
model=$MODELS/tiny-gpt2
attn-cli run -m "$model" --npz with.npz --csv with --top 1 --next ' are here' "The keys"
attn-cli run -m "$model" --npz without.npz --csv without "The keys"
cmp with.npz without.npz && diff -r with without
