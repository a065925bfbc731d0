# Of the shells that are here.
for shell in bash zsh fish; do
    attn-cli completion $shell >script
    ! command -v $shell >/dev/null || $shell -n script
done
! command -v shellcheck >/dev/null || attn-cli completion bash | shellcheck -s bash -
