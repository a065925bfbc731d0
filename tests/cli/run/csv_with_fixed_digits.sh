attn-cli run -m life-is-short --csv out --precision 3 --sites pattern "Life is"
cat out/*
