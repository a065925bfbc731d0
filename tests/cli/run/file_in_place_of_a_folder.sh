echo mine >file
attn-cli run --csv file "Life is"
