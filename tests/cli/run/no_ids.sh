attn-cli run -m life-is-short --ids ""
