attn-cli run -m tiny-gpt2 --attention window:3 --compare "The kettle was on" | sed "/^seconds/d"
