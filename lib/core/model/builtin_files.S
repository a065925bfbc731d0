/*
 * builtin_files.S - the files of the models that are part of the library, byte for byte, and the
 * table of them. Paths are those of the repository, from whose root everything is compiled.
 */
#include "base/embed.inc"

/* A struct attn_blob, and what it points at; weights are read where they lie. */
    .macro part model, file
    READ_ONLY
    .balign 64
1:  .incbin "models/\model/\file"
2:
3:  .asciz "\file"
    RELOCATED
    .quad 3b, 1b, 2b - 1b
    .endm

/* A struct attn_builtin_model: its blobs lie from label FIRST, N of them. */
    .macro model name, first, n
    READ_ONLY
3:  .asciz "\name"
    RELOCATED
    .quad 3b, \first, \n
    .endm

    RELOCATED
    .balign 8
fable:
    part "fable", "config.json"
    part "fable", "vocab.json"
    part "fable", "merges.txt"
    part "fable", "heads.json"
    part "fable", "model.safetensors"
fable_sae:
    part "fable/sae", "cfg.json"
    part "fable/sae", "sae_weights.safetensors"
life_is_short:
    part "life-is-short", "config.json"
    part "life-is-short", "vocab.json"
    part "life-is-short", "model.safetensors"
    RELOCATED
    begin attn_builtin_models
    model "fable", fable, 5
    model "life-is-short", life_is_short, 3
    model "fable/sae", fable_sae, 2 /* no model, but found like one: after those that are listed */
    .quad   0, 0, 0
    end attn_builtin_models
