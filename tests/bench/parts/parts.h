/* parts.h - the parts that bench_parts measures (parts.c). */
#ifndef ATTN_TESTS_BENCH_PARTS_H
#define ATTN_TESTS_BENCH_PARTS_H

#include "base/source.h"
#include "inspect/bench_internal.h"
#include "kernels/linear.h"
#include "kernels/panels.h"

/* Where the model came from, to be opened again. */
extern struct attn_source bench_source;

attn_bench_part_fn bench_product, bench_pack, bench_softmax, bench_attention, bench_gradients,
    bench_batch, bench_load, bench_write;

#endif
