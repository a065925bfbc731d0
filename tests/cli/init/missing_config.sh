attn-cli init toy --config missing --vocab-from a
