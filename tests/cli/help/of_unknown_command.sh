attn-cli help rum
