/*
 * builtin_files.S - the files of the model that is part of the program, byte for byte. Paths are those
 * of the repository, from whose root everything is compiled.
 */
    .section .rodata
    .macro embed name, path
    .balign 64
    .globl  \name
    .hidden \name
    .type   \name, @object
\name:
    .incbin "\path"
\name\()_end:
    .size   \name, \name\()_end - \name
    .balign 8
    .globl  \name\()_size
    .hidden \name\()_size
    .type   \name\()_size, @object
    .size   \name\()_size, 8
\name\()_size:
    .quad   \name\()_end - \name
    .endm

    embed builtin_config, "models/life-is-short/config.json"
    embed builtin_vocabulary, "models/life-is-short/vocab.json"
    embed builtin_weights, "models/life-is-short/model.safetensors"

    .section .note.GNU-stack, "", @progbits
