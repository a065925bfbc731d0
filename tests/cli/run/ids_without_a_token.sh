# Rows of the embedding that no text leads to, as models have that are padded: their ids stand for them.
cp -r "$MODELS/life-is-short" model && chmod -R u+w model
sed -i '/"short"/d; s/4,/4/' model/vocab.json
attn-cli run -m model --ids 0,5,4 --sites pattern
attn-cli run -m model --ids 0,5,4 --sites pattern --queries 1 --csv -
