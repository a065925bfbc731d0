attn-cli init toy --vocab-from "a b"
