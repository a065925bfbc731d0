# A newline, a quote, a backslash, an escape sequence and a right-to-left override in a name.
header='{"a\nb\"c\\d\u001b[31m\u202e":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
printf '%b\0\0\0\0\0\0\0%sx' "\\x$(printf %02x ${#header})" "$header" >x.safetensors
attn-cli inspect x.safetensors
attn-cli inspect --json x.safetensors
