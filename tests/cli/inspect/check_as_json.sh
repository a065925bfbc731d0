header='{"d":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},"f":{"dtype":"F32","shape":[2,2],"data_offsets":[16,32]},"h":{"dtype":"F16","shape":[2],"data_offsets":[32,36]},"ok":{"dtype":"I32","shape":[1],"data_offsets":[36,40]}}'
printf '%b\0\0\0\0\0\0\0%s' "\\x$(printf %02x ${#header})" "$header" >bad.safetensors
printf '\0\0\0\0\0\0\360\77\0\0\0\0\0\0\370\177' >>bad.safetensors # 1, NaN
printf '\0\0\200\77\0\0\200\177\0\0\200\377\1\0\300\377' >>bad.safetensors # 1, inf, -inf, NaN
printf '\0\74\0\174\377\377\377\377' >>bad.safetensors # 1, inf; an integer that looks like NaN
attn-cli inspect bad.safetensors && attn-cli inspect --check --json bad.safetensors
