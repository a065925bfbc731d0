for kind in linear lowrank:2; do
    attn-cli run -m "$MODELS/self-attention" --attention $kind --queries 1 --explain "Life is short"
    echo $?
done
