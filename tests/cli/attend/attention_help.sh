attn-cli attend --attention help | head -n 4
attn-cli attend --sites help
