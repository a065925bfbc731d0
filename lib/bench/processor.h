/*
 * processor.h - the processor that figures were measured on.
 *
 *     struct attn_processor processor;
 *     attn_processor_find(&processor);
 *     puts(processor.name);                    // "AMD EPYC, family 26, model 2"
 *
 * Names alone do not tell kinds apart where machines are virtual, so family and model belong to
 * them.
 */
#ifndef ATTN_BENCH_PROCESSOR_H
#define ATTN_BENCH_PROCESSOR_H

#include <stddef.h>

enum { ATTN_PROCESSOR_TEXT_SIZE = 128 };

struct attn_processor {
    char name[ATTN_PROCESSOR_TEXT_SIZE];     /* with its numbers; "unknown processor" */
    char features[ATTN_PROCESSOR_TEXT_SIZE]; /* features for matrix products, named as in Linux:
                                                "avx2 avx512f avx512_bf16"; "": unknown */
    size_t n_thread;                         /* hardware threads of the machine; 0: unknown */
    size_t n_core;                           /* 0: unknown */
};

/* Asks the system, by /proc/cpuinfo. */
void attn_processor_find(struct attn_processor *processor);

/* Reads TEXT, which has the form of Linux's /proc/cpuinfo on x86 or ARM: a line "key : value" each.
 * Missing values stay unknown. */
void attn_processor_read(const char *text, size_t size, struct attn_processor *processor);

#endif
