attn-cli run -m tiny-gpt2 --attention log --compare "The kettle" > /dev/full
echo $?
attn-cli run -m tiny-gpt2 --attention log --compare --json /dev/full "The kettle"
echo $?
touch file
attn-cli run -m tiny-gpt2 --attention log --compare --csv file "The kettle"
echo $?
attn-cli run -m tiny-gpt2 --attention log --compare "The kettle" | head -n 1
echo ${PIPESTATUS[0]}
