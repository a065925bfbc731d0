attn-cli run -m tiny-gpt2 --attention hybrid:1:2 --mask none --heads 1.2 --queries 1,2 --compare --json - "Rain came" |
    sed -E 's/"seconds": [0-9.e-]+/"seconds": TIME/'
