echo mine >file
attn-cli run -m life-is-short --csv file "Life is"
