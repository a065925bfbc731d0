/* tokenizer_scores.c - the merges of SentencePiece's BPE, whose files have no list of merges but a
 * score for each token: of all adjacent pairs that make a token, the one with the highest score is
 * merged first, and the leftmost of equal ones. So every split of a token in two is a merge, ranked
 * by the token's score. */
#include "vocabularies/vocabularies_internal.h"

#include "base/memory.h"
#include "base/text/utf8.h"

#include <stdlib.h>

enum { MOST_PREFETCHED = 64 }; /* bytes of a token whose parts are prefetched */

static int compare_scored(const void *a, const void *b)
{
    const struct attn_scored_token *x = a, *y = b;

    if (x->score < y->score || x->score > y->score)
        return x->score < y->score ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

struct scoring {
    struct attn_bpe_model *model;
    const struct attn_unread *unread;
    uint64_t budget;                  /* number of bytes that may still be looked up */
    struct attn_scored_token *tokens; /* borrows; [n], by descending score */
    struct attn_merge *merges;        /* owns; [n_merge] merges, in that order */
    uint32_t *orders; /* owns; [n_merge] the rank of the token's score among all scores */
    size_t n, n_merge, merge_capacity, order_capacity, character_capacity;
};

static int compare_code_points(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Collects those characters of tokens that are not tokens. IS_SEEN has a bit for each code point.
 */
static enum attn_status find_characters(struct scoring *scoring, uint8_t *is_seen,
                                        struct attn_error *err)
{
    struct attn_bpe_model *model = scoring->model;
    size_t size, n_character = 0;

    for (size_t i = 0; i < scoring->n; i++) {
        const char *key = attn_vocabulary_key(model->vocabulary, scoring->tokens[i].id, &size);

        for (size_t at = 0, length; at < size; at += length) {
            uint32_t code_point;

            length = attn_utf8_decode(key + at, size - at, &code_point);
            if (length == 0)
                break; /* not UTF-8: no text contains this token */
            if (is_seen[code_point / 8] >> code_point % 8 & 1)
                continue;
            is_seen[code_point / 8] |= (uint8_t)(1 << code_point % 8);
            if (attn_bpe_model_symbol(model, key + at, length) >= 0)
                continue;
            ATTN_TRY(
                ATTN_GROW(model->characters, scoring->character_capacity, n_character + 1, err));
            model->characters[n_character++] = code_point;
        }
    }
    ATTN_SORT(model->characters, n_character, compare_code_points);
    model->n_character = n_character;
    return ATTN_OK;
}

/* Prefetches the slot of KEY, if the keys are indexed. */
static void prefetch_key(const struct attn_vocabulary *vocabulary, const char *key, size_t size)
{
    if (vocabulary->slots)
        __builtin_prefetch(&vocabulary->slots[(size_t)attn_hash_bytes(vocabulary->seed, key, size) &
                                              (vocabulary->n_slot - 1)]);
}

/* Adds a merge for each way in which TOKEN consists of two symbols. */
static enum attn_status add_splits(struct scoring *scoring, int32_t token, uint32_t order,
                                   struct attn_error *err)
{
    const struct attn_bpe_model *model = scoring->model;
    size_t size;
    const char *key = attn_vocabulary_key(model->vocabulary, token, &size);
    uint32_t code_point;

    for (size_t at = 1; at < size && size <= MOST_PREFETCHED; at++)
        if ((key[at] & 0xC0) != 0x80) {
            prefetch_key(model->vocabulary, key, at);
            prefetch_key(model->vocabulary, key + at, size - at);
        }
    for (size_t at = attn_utf8_decode(key, size, &code_point), length; at > 0 && at < size;
         at += length) {
        struct attn_merge merge = {.merged = token};

        if (size > scoring->budget)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "the tokens of '%s' are so long that it takes too long to find "
                                  "their parts: token %d has %zu bytes",
                                  attn_quote_string(scoring->unread->path).text, (int)token, size);
        if (attn_is_canceled(scoring->unread->cancel))
            return attn_error_set(err, ATTN_CANCELED, "canceled");
        scoring->budget -= size;
        length = attn_utf8_decode(key + at, size - at, &code_point);
        if (length == 0)
            return ATTN_OK;
        merge.left = attn_bpe_model_symbol(model, key, at);
        if (merge.left < 0)
            continue;
        merge.right = attn_bpe_model_symbol(model, key + at, size - at);
        if (merge.right < 0)
            continue;
        ATTN_TRY(ATTN_GROW(scoring->merges, scoring->merge_capacity, scoring->n_merge + 1, err));
        ATTN_TRY(ATTN_GROW(scoring->orders, scoring->order_capacity, scoring->n_merge + 1, err));
        scoring->merges[scoring->n_merge] = merge;
        scoring->orders[scoring->n_merge++] = order;
    }
    return ATTN_OK;
}

static enum attn_status make_merges(struct scoring *scoring, struct attn_error *err)
{
    struct attn_merges *merges = &scoring->model->merges;
    uint8_t *is_seen;
    uint32_t order = 0;
    enum attn_status status;

    ATTN_TRY(ATTN_NEW(is_seen, attn_alloc(0x110000 / 8, 1, err)));
    status = find_characters(scoring, is_seen, err);
    attn_free(is_seen);
    ATTN_TRY(status);
    qsort(scoring->tokens, scoring->n, sizeof *scoring->tokens, compare_scored);
    for (size_t i = 0; i < scoring->n; i++) {
        order += i > 0 && scoring->tokens[i].score < scoring->tokens[i - 1].score;
        ATTN_TRY(add_splits(scoring, scoring->tokens[i].id, order, err));
    }
    ATTN_TRY(attn_merges_allocate(merges, scoring->n_merge, scoring->unread->path, err));
    for (size_t i = 0; i < scoring->n_merge; i++)
        attn_merges_add(merges, &scoring->merges[i], true);
    merges->orders = scoring->orders;
    scoring->orders = NULL;
    return ATTN_OK;
}

enum attn_status attn_scored_merge(struct attn_tokenizer *tokenizer,
                                   struct attn_scored_token *tokens, size_t n,
                                   struct attn_error *err)
{
    struct scoring scoring = {.model = &tokenizer->bpe,
                              .unread = tokenizer->unread,
                              .budget = attn_lookup_budget(tokenizer->vocabulary.keys.size),
                              .tokens = tokens,
                              .n = n};
    const enum attn_status status = make_merges(&scoring, err);

    attn_free(scoring.merges);
    attn_free(scoring.orders);
    return status;
}
