# The reader of json waits: the run is in the middle of writing when the signal comes.
mkfifo pipe
ids=$(for i in {0..69}; do echo $((i * 7 % 31)); done)
attn-cli run -m "$FIXTURES/gpt2-long" --ids "$ids" --sites '*' --tidy t.csv --npz a.npz --json pipe &
exec 3<pipe
head -c 1 <&3
kill -TERM $!
cat <&3 >/dev/null
wait $!
echo $?
ls -A
