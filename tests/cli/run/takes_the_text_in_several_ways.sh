# The same text as an option, under its two names and its letter, as an argument, a file, and standard input.
text="Life is short, eat dessert first"
export ATTN_CLI_MODEL=life-is-short
attn-cli run --sentence "$text" >expected
echo "$text" >text
cmp expected <(attn-cli run --prompt "$text")
cmp expected <(attn-cli run --prompt="$text")
cmp expected <(attn-cli run -p "$text")
cmp expected <(attn-cli run -p"$text")
cmp expected <(attn-cli run "$text")
cmp expected <(attn-cli run -- "$text")
cmp expected <(attn-cli run -f text)
cmp expected <(attn-cli run --file - <text)
cmp expected <(attn-cli run - <text)
cmp expected <(attn-cli run --ids 0,4,5,2,1,3)
cmp expected <(attn-cli run --ids "0 4 5 2 1 3")
