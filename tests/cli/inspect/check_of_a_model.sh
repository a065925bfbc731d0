# The last tensor of the file ends with a NaN.
cp -r "$MODELS/life-is-short" model
chmod u+w model/model.safetensors
truncate -s -4 model/model.safetensors
printf '\0\0\300\177' >>model/model.safetensors
attn-cli inspect model >/dev/null && attn-cli inspect --check model
