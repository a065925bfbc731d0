attn-cli run --attention help
