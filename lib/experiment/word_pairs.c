/* word_pairs.c - see word_pairs.h. */
#include "experiment/word_pairs.h"

#include "base/memory.h"
#include "run/position.h"
#include "text/word.h"
#include "trace/row.h"

#include <string.h>

/* What is known of one head. */
struct head {
    double weight;  /* the sum over the rows of `from` */
    size_t n_below; /* pairs */
    double *sums;   /* [n_word] of the rows of one word */
    size_t n_row;   /* of that word so far */
};

/* Token i is of word of[i]; the words come one after another. */
struct attn_word_pairs {
    size_t *of; /* [n] owns */
    size_t n, n_word, n_head;
    unsigned char *from, *to; /* [n] own; the tokens that are asked about */
    size_t n_from;
    double *sums;       /* [n_layer * n_head, n_word] owns; those of the heads */
    struct head *heads; /* [n_layer * n_head] owns */
};

static enum attn_status find_words(const struct attn_run *run, struct attn_word_pairs *pairs,
                                   struct attn_error *err)
{
    const size_t n = run->text.n;
    bool *begins = attn_alloc(n, sizeof *begins, err);

    pairs->n = n;
    pairs->of = attn_alloc(n, sizeof *pairs->of, err);
    if (begins == NULL || pairs->of == NULL) {
        attn_free(begins);
        return ATTN_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        begins[i] = true; /* without texts of tokens each is a word */
    if (run->tokenizer != NULL && run->text.ids != NULL)
        attn_words_mark(run->tokenizer, run->text.ids, n, begins);
    for (size_t i = 0; i < n; i++) {
        pairs->n_word += begins[i];
        pairs->of[i] = pairs->n_word - 1;
    }
    attn_free(begins);
    return ATTN_OK;
}

static enum attn_status find_tokens(const struct attn_run *run, const char *from, const char *to,
                                    struct attn_word_pairs *pairs, struct attn_error *err)
{
    enum attn_status status;

    pairs->from = attn_alloc(pairs->n, 1, err);
    pairs->to = attn_alloc(pairs->n, 1, err);
    if (pairs->from == NULL || pairs->to == NULL)
        return ATTN_NO_MEMORY;
    status = attn_run_find_positions(run, from, pairs->from, err);
    if (status == ATTN_OK)
        status = attn_run_find_positions(run, to, pairs->to, err);
    for (size_t i = 0; i < pairs->n; i++)
        pairs->n_from += pairs->from[i];
    return status;
}

static enum attn_status reserve(const struct attn_run *run, struct attn_word_pairs *pairs,
                                struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(run->model);
    const size_t n = config->n_layer * config->n_head;

    pairs->n_head = config->n_head;
    pairs->heads = attn_alloc(n, sizeof *pairs->heads, err);
    pairs->sums = attn_alloc(n, pairs->n_word * sizeof *pairs->sums, err);
    if (pairs->heads == NULL || pairs->sums == NULL)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        pairs->heads[i].sums = pairs->sums + i * pairs->n_word;
    return ATTN_OK;
}

enum attn_status attn_word_pairs_create(const struct attn_run *run, const char *from,
                                        const char *to, struct attn_word_pairs **pairs,
                                        struct attn_error *err)
{
    struct attn_word_pairs *made = attn_alloc(1, sizeof *made, err);
    enum attn_status status;

    if (made == NULL)
        return ATTN_NO_MEMORY;
    status = find_words(run, made, err);
    if (status == ATTN_OK)
        status = find_tokens(run, from, to, made, err);
    if (status == ATTN_OK)
        status = reserve(run, made, err);
    if (status == ATTN_OK)
        *pairs = made;
    else
        attn_word_pairs_free(made);
    return status;
}

void attn_word_pairs_free(struct attn_word_pairs *pairs)
{
    if (pairs == NULL)
        return;
    attn_free(pairs->of);
    attn_free(pairs->from);
    attn_free(pairs->to);
    attn_free(pairs->sums);
    attn_free(pairs->heads);
    attn_free(pairs);
}

static struct head *head_of(const struct attn_word_pairs *pairs,
                            const struct attn_trace_event *event)
{
    return &pairs->heads[(size_t)event->layer * pairs->n_head + (size_t)event->head];
}

void attn_word_pairs_add(struct attn_word_pairs *pairs, const struct attn_trace_event *event)
{
    struct head *head = head_of(pairs, event);

    for (size_t r = 0; r < event->n_row; r++) {
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        if (!pairs->from[event->row0 + r])
            continue;
        while (attn_row_next(&row, &cells))
            for (size_t i = 0; i < cells.n; i++)
                if (pairs->to[cells.first + i])
                    head->weight += (double)cells.values[i];
    }
}

/* All rows of WORD have come. */
static void count_word(const struct attn_word_pairs *pairs, struct head *head, size_t word)
{
    const double weight = head->weight / (double)pairs->n_from;

    for (size_t earlier = 0; earlier < word; earlier++)
        head->n_below += head->sums[earlier] / (double)head->n_row < weight;
    memset(head->sums, 0, pairs->n_word * sizeof *head->sums);
    head->n_row = 0;
}

void attn_word_pairs_count(struct attn_word_pairs *pairs, const struct attn_trace_event *event)
{
    struct head *head = head_of(pairs, event);

    for (size_t r = 0; r < event->n_row; r++) {
        const size_t position = event->row0 + r, word = pairs->of[position];
        struct attn_row row = attn_event_row(event, r);
        struct attn_cells cells;

        while (attn_row_next(&row, &cells))
            for (size_t i = 0; i < cells.n; i++)
                head->sums[pairs->of[cells.first + i]] += (double)cells.values[i];
        head->n_row++;
        if (position + 1 == pairs->n || pairs->of[position + 1] != word)
            count_word(pairs, head, word);
    }
}

void attn_word_pairs_find(const struct attn_word_pairs *pairs, int layer, int head, double *weight,
                          double *percentile)
{
    const struct head *found = &pairs->heads[(size_t)layer * pairs->n_head + (size_t)head];
    const double n_pair = (double)pairs->n_word * (double)(pairs->n_word - 1) / 2;

    *weight = found->weight / (double)pairs->n_from;
    *percentile = (double)found->n_below / n_pair;
}
