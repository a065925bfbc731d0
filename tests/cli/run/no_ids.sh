attn-cli run --ids ""
