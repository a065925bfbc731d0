attn-cli run -m "$MODELS/tiny-gpt2" --next ' on' "The kettle was"
attn-cli run -m "$MODELS/tiny-gpt2" --next ' the door' --next ' on' "The kettle was"
