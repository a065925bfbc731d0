echo mine >file
attn-cli run --csv file/out "Life is"
