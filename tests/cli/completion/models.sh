# Names that a shell would take for more than a word are left out.
mkdir -p 'mine/plain' 'mine/$(echo)' 'mine/two words' mine/no-model
for model in 'plain' '$(echo)' 'two words'; do echo '{}' >"mine/$model/config.json"; done
ATTN_CLI_MODEL_PATH=:$PWD/absent:$PWD/mine attn-cli completion --models
