/* wordpiece.c - the model of BERT. */
#include "tokenizer/models/models_internal.h"

#include "base/memory.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

void attn_wordpiece_model_finish(struct attn_wordpiece_model *model)
{
    const struct attn_vocabulary *vocabulary = model->vocabulary;

    for (size_t i = 0; i < vocabulary->n; i++)
        if (vocabulary->entries[i].size > model->n_longest)
            model->n_longest = vocabulary->entries[i].size;
    model->unk_id =
        attn_vocabulary_find_own(vocabulary, model->is_foreign, model->unk, model->n_unk);
}

void attn_wordpiece_model_release(struct attn_wordpiece_model *model)
{
    attn_free(model->prefix);
    attn_free(model->unk);
    *model = (struct attn_wordpiece_model){0};
}

/* Returns the longest token at AT of the word [n], or -1. The word is in `memory`, after the memory
 * for a prefix. *END is where the token ends in the word. */
static int32_t find_longest(struct attn_lookup *lookup, size_t n, size_t at, size_t *end)
{
    const struct attn_wordpiece_model *model = lookup->model;
    const size_t n_prefix = at > 0 ? model->n_prefix : 0;
    /* The bytes before AT are not needed any more, so the prefix is written there. */
    char *key = (char *)lookup->memory + model->n_prefix + at - n_prefix;
    const size_t left = n - at + n_prefix;
    size_t size = left < model->n_longest ? left : model->n_longest;

    if (n_prefix > 0)
        memcpy(key, model->prefix, n_prefix);
    while (size > 0 && size < left && ((unsigned char)key[size] & 0xc0) == 0x80)
        size--;
    while (size > n_prefix && lookup->budget > 0) {
        const int32_t id =
            attn_vocabulary_find_own(model->vocabulary, model->is_foreign, key, size);

        lookup->budget -= size < lookup->budget ? size : lookup->budget;
        if (id >= 0) {
            *end = at + size - n_prefix;
            return id;
        }
        do
            size--;
        while (size > n_prefix && ((unsigned char)key[size] & 0xc0) == 0x80);
    }
    return -1;
}

static bool is_too_long(const struct attn_wordpiece_model *model, const char *word, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size && n <= model->max_character; i++)
        n += ((unsigned char)word[i] & 0xc0) != 0x80;
    return n > model->max_character;
}

/* Replaces the tokens of the word, from token FIRST on, by one unknown token. */
static enum attn_status append_unknown(struct attn_walk *walk,
                                       const struct attn_wordpiece_model *model,
                                       struct attn_slice slice, size_t first,
                                       struct attn_error *err)
{
    walk->encoding->n = first;
    if (model->unk_id < 0)
        return attn_error_set(err, ATTN_INVALID,
                              "the vocabulary has neither tokens for '%s', found at byte %zu, nor "
                              "its unknown token '%s'",
                              attn_quote(attn_slice_text(slice), attn_slice_size(slice)).text,
                              attn_layer_origin(slice.layer, slice.begin),
                              attn_quote(model->unk, model->n_unk).text);
    return attn_encoding_push(walk->encoding, model->unk_id, slice.begin, slice.end, err);
}

static enum attn_status run_wordpiece(struct attn_walk *walk, size_t at, struct attn_slice slice,
                                      struct attn_error *err)
{
    struct attn_lookup *lookup = walk->scratch[at];
    const struct attn_wordpiece_model *model = lookup->model;
    const char *word = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice), first = walk->encoding->n;

    if (is_too_long(model, word, size))
        return append_unknown(walk, model, slice, first, err);
    ATTN_TRY(attn_grow(&lookup->memory, &lookup->n_memory, model->n_prefix + size, 1, err));
    memcpy((char *)lookup->memory + model->n_prefix, word, size);
    for (size_t from = 0, end = 0; from < size; from = end) {
        const int32_t id = find_longest(lookup, size, from, &end);

        if (lookup->budget == 0)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "the tokenizer takes too long to find the tokens of the text");
        if (id < 0)
            return append_unknown(walk, model, slice, first, err);
        if (walk->options->cancel && *walk->options->cancel)
            return attn_error_set(err, ATTN_CANCELED, "canceled");
        ATTN_TRY(
            attn_encoding_push(walk->encoding, id, slice.begin + from, slice.begin + end, err));
    }
    return ATTN_OK;
}

const struct attn_text_stage_kind attn_wordpiece_stage = {
    .run = run_wordpiece, .begin = attn_lookup_begin, .end = attn_lookup_end};
