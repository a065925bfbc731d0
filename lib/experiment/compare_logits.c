/*
 * compare_logits.c - what two runs expect next, a few positions at a time: a row of logits is as
 * wide as the vocabulary.
 */
#include "experiment/comparing.h"

#include "base/memory.h"

enum { BLOCK_BYTES = 16 << 20 };

/* Consecutive positions, and the logits of both runs after them. */
struct block {
    size_t first, n;
    float *exact, *chosen; /* [n, n_vocab] */
    size_t n_vocab;
    struct attn_compared_logits *logits; /* [n] */
};

static int32_t first_choice(const float *logits, size_t n_vocab)
{
    size_t first = 0;

    for (size_t i = 1; i < n_vocab; i++)
        if (logits[i] > logits[first])
            first = i;
    return (int32_t)first;
}

static void compare_row(void *context, size_t task, int worker)
{
    const struct block *block = context;
    const float *exact = block->exact + task * block->n_vocab;
    const float *chosen = block->chosen + task * block->n_vocab;

    (void)worker;
    block->logits[task] = (struct attn_compared_logits){
        .position = block->first + task,
        .kl = attn_logits_kl(exact, chosen, block->n_vocab),
        .exact_first = first_choice(exact, block->n_vocab),
        .chosen_first = first_choice(chosen, block->n_vocab),
    };
}

static enum attn_status compare_block(struct attn_comparing *comparing, struct block *block,
                                      struct attn_error *err)
{
    const struct attn_compare_args *args = comparing->args;
    enum attn_status status;

    if (args->cancel != NULL && *args->cancel != 0)
        return attn_error_set(err, ATTN_CANCELED, "canceled");
    status =
        attn_session_logits_at(comparing->exact_run, block->first, block->n, block->exact, err);
    if (status == ATTN_OK)
        status = attn_session_logits_at(comparing->run, block->first, block->n, block->chosen, err);
    if (status == ATTN_OK)
        attn_pool_run(args->pool, block->n, compare_row, block);
    return status;
}

enum attn_status attn_compare_logits(struct attn_comparing *comparing,
                                     struct attn_compared_logits *logits, struct attn_error *err)
{
    const struct attn_selection *selection = comparing->selection;
    const size_t n = comparing->args->n, n_vocab = comparing->config->n_vocab;
    const size_t n_fit = BLOCK_BYTES / sizeof(float) / n_vocab + 1, n_most = n_fit < n ? n_fit : n;
    struct block block = {.n_vocab = n_vocab, .logits = logits};
    enum attn_status status = ATTN_OK;

    block.exact = attn_alloc_uninitialized(n_most * n_vocab, sizeof(float), err);
    block.chosen = attn_alloc_uninitialized(n_most * n_vocab, sizeof(float), err);
    if (block.exact == NULL || block.chosen == NULL)
        status = ATTN_NO_MEMORY;
    while (status == ATTN_OK && block.first < n) {
        block.n = 0;
        while (block.n < n_most && block.first + block.n < n &&
               attn_selection_has_query(selection, block.first + block.n))
            block.n++;
        if (block.n > 0)
            status = compare_block(comparing, &block, err);
        block.logits += block.n;
        block.first += block.n > 0 ? block.n : 1;
    }
    attn_free(block.exact);
    attn_free(block.chosen);
    return status;
}
