attn-cli run --csv out --precision 3 --sites pattern "Life is"
cat out/*
