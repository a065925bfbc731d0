/*
 * processor.h - describes the processor on which a benchmark was run.
 *
 *     struct attn_processor processor;
 *     attn_processor_find(&processor);
 *     puts(processor.name); // "AMD EPYC, family 26, model 2"
 *
 * On virtual machines different processors can have the same name, so family and model are part of
 * it.
 */
#ifndef ATTN_INSPECT_PROCESSOR_H
#define ATTN_INSPECT_PROCESSOR_H

#include <stddef.h>

enum { ATTN_PROCESSOR_TEXT_SIZE = 128 };

struct attn_processor {
    char name[ATTN_PROCESSOR_TEXT_SIZE];     /* with family and model; else "unknown processor" */
    char features[ATTN_PROCESSOR_TEXT_SIZE]; /* features for matrix products, with Linux's names:
                                                "avx2 avx512f avx512_bf16"; "": unknown */
    size_t n_thread; /* number of hardware threads of the machine; 0: unknown */
    size_t n_core;   /* 0: unknown */
};

/* Reads /proc/cpuinfo of this machine. */
void attn_processor_find(struct attn_processor *processor);

/* Reads TEXT [size], which has the form of Linux's /proc/cpuinfo on x86 or ARM: lines "key :
 * value". Missing values stay unknown. */
void attn_processor_read(const char *text, size_t size, struct attn_processor *processor);

#endif
