# ln p(" are here" | text) = ln p(" are" | text) + ln p(" here" | text " are"), when the tokens are these.
model=$MODELS/tiny-gpt2
whole=$(attn-cli run -m "$model" --next ' are here' "The keys" | cut -f 1)
first=$(attn-cli run -m "$model" --next ' are' "The keys" | cut -f 1)
second=$(attn-cli run -m "$model" --next ' here' "The keys are" | cut -f 1)
echo "$whole $first $second" | awk '{ d = $1 - $2 - $3; print (d < 2e-6 && d > -2e-6) ? "equal" : $0 }'
