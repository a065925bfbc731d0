attn-cli help run
attn-cli run --help | cmp - <(attn-cli help run)
attn-cli run -qh | cmp - <(attn-cli help run)
