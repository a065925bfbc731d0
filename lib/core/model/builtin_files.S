/*
 * builtin_files.S - the files of the models that are part of the library, byte for byte, and the
 * table of them. Paths are those of the repository, from whose root everything is compiled.
 */

/* A struct attn_blob, and what it points at; weights are read where they lie. */
    .macro embed model, file
    .section .rodata
    .balign 64
1:  .incbin "models/\model/\file"
2:
3:  .asciz "\file"
    .section .data.rel.ro, "aw"
    .quad 3b, 1b, 2b - 1b
    .endm

/* A struct attn_builtin_model: its blobs lie from label FIRST to label END. */
    .macro model name, first, end
    .section .rodata
3:  .asciz "\name"
    .section .data.rel.ro, "aw"
    .quad 3b, \first, (\end - \first) / 24
    .endm

    .section .data.rel.ro, "aw"
    .balign 8
.Lfable:
    embed "fable", "config.json"
    embed "fable", "vocab.json"
    embed "fable", "merges.txt"
    embed "fable", "model.safetensors"
.Llife_is_short:
    embed "life-is-short", "config.json"
    embed "life-is-short", "vocab.json"
    embed "life-is-short", "model.safetensors"
.Lend:
    .globl  attn_builtin_models
    .hidden attn_builtin_models
    .type   attn_builtin_models, @object
attn_builtin_models:
    model "fable", .Lfable, .Llife_is_short
    model "life-is-short", .Llife_is_short, .Lend
    .quad   0, 0, 0
    .size   attn_builtin_models, . - attn_builtin_models

    .section .note.GNU-stack, "", @progbits
