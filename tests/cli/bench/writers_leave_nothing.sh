mkdir here && cd here && attn-cli bench -m tiny-gpt2 --parts write --seconds 0 --format csv | sed -E 's/("[^"]*").*/\1/'; ls -A
