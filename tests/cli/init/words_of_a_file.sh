printf 'b a\nc "\\"\n' >text
attn-cli init one --set d_model=4 --vocab-from-file text
attn-cli init two --set d_model=4 --vocab-from-file - <text
cat one/vocab.json
diff -r one two
