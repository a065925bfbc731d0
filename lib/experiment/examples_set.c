/* examples_set.c - what all files about examples need (examples_internal.h). */
#include "experiment/examples_internal.h"

#include <stdlib.h>

enum { DEFAULT_BINS = 10 };

size_t attn_examples_n_bin(const struct attn_examples_args *args)
{
    return args->n_bin > 0 ? args->n_bin : DEFAULT_BINS;
}

const char *attn_example_token(const struct attn_example_text *text, size_t i, size_t *size)
{
    const size_t begin = i > 0 ? text->ends[i - 1] : 0;

    *size = text->ends[i] - begin;
    return text->tokens.data + begin;
}

static int by_weight(const void *a, const void *b)
{
    const struct attn_example_cell *x = a, *y = b;

    return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
                                  : (x->key > y->key) - (x->key < y->key);
}

static int by_key(const void *a, const void *b)
{
    const struct attn_example_cell *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

size_t attn_example_keep_largest(struct attn_example_cell *cells, size_t n, size_t n_most)
{
    if (n <= n_most)
        return n;
    qsort(cells, n, sizeof *cells, by_weight);
    qsort(cells, n_most, sizeof *cells, by_key);
    return n_most;
}
