# The kind is computed in layers that attend to a source, too: 3 rows of it, for 6 queries.
attn-cli run -q -m "$FIXTURES/attn-plain" --ids 0,1,2 --sites embed --npy rows
attn-cli run -m "$FIXTURES/attn-cross" --source rows/hook_embed.npy --attention window:2 --compare \
    "the cat sat on the mat" | sed "/^seconds/d"
