/*
 * builtin_files.S - the files of the models that are part of the program, byte for byte, and the
 * table of them. Paths are those of the repository, from whose root everything is compiled.
 */

/* A row of struct builtin_file, and what it points at; weights are read where they lie. */
    .macro embed model, file
    .section .rodata
    .balign 64
1:  .incbin "models/\model/\file"
2:
3:  .asciz "\model"
4:  .asciz "\file"
    .section .data.rel.ro, "aw"
    .quad 3b, 4b, 1b, 2b - 1b
    .endm

    .section .data.rel.ro, "aw"
    .balign 8
    .globl  builtin_files
    .hidden builtin_files
    .type   builtin_files, @object
builtin_files:
    embed "fable", "config.json"
    embed "fable", "vocab.json"
    embed "fable", "merges.txt"
    embed "fable", "model.safetensors"
    embed "life-is-short", "config.json"
    embed "life-is-short", "vocab.json"
    embed "life-is-short", "model.safetensors"
    .size   builtin_files, . - builtin_files
    .globl  builtin_files_end
    .hidden builtin_files_end
    .type   builtin_files_end, @object
builtin_files_end:

    .section .note.GNU-stack, "", @progbits
