# {'Life': 0, 'dessert': 1, 'eat': 2, 'first': 3, 'is': 4, 'short': 5}
attn-cli init model --vocab-from "Life is short, eat dessert first" --drop , --set d_model=3 --draw embed=randn@123
cat model/vocab.json
