# Any type, any shape, an empty tensor, a scalar; values do not matter.
header='{"b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"a":{"dtype":"I8","shape":[2,2],"data_offsets":[8,12]},"scalar":{"dtype":"F8_E4M3","shape":[],"data_offsets":[12,13]},"empty":{"dtype":"F16","shape":[0,7],"data_offsets":[13,13]},"nan":{"dtype":"BF16","shape":[1],"data_offsets":[13,15]}}'
printf '%b\0\0\0\0\0\0%s12345678abcdx\300\177' "\\x$(printf %02x $((${#header} % 256)))\\x$(printf %02x $((${#header} / 256)))" "$header" >one.safetensors
attn-cli inspect one.safetensors
attn-cli inspect --json one.safetensors
