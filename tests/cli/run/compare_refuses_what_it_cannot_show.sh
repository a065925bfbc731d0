for other in --top=1 --next=a --npz=x --npy=x --tidy=x --sites=q --ablate=0.0 --ablate-pattern=0.0 --explain; do
    attn-cli run -m tiny-gpt2 --attention log --compare $other "The kettle"
    echo "exit $?" >&2
done
