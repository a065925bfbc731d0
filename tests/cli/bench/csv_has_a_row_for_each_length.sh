# Times differ; what was measured does not.
attn-cli bench -m tiny-gpt2 --parts attention,prefill,decode --seconds 0 --format csv | sed -E 's/("[^"]*").*/\1/'
