attn-cli run -m no-such-model "Life"
