attn-cli run --sites help
