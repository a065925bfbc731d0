#include "predict/answer_internal.h"

#include "base/status_internal.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

/* Whether ID is the mask token. That is the token that the tokenizer's files name, or else a
 * special token [MASK] or <mask>. False if TOKENIZER is NULL. */
static bool is_mask(const struct attn_tokenizer *tokenizer, int32_t id)
{
    static const char *const names[] = {"[MASK]", "<mask>"};
    size_t size = 0;
    const char *bytes;

    if (tokenizer && tokenizer->mask_text)
        return id == tokenizer->mask_id;
    bytes = tokenizer ? attn_tokenizer_token(tokenizer, id, &size) : NULL;
    for (size_t i = 0; bytes && i < sizeof names / sizeof *names; i++)
        if (size == strlen(names[i]) && memcmp(bytes, names[i], size) == 0)
            return attn_tokenizer_is_special(tokenizer, id);
    return false;
}

bool attn_mask_id(const struct attn_tokenizer *tokenizer, int32_t *id)
{
    const size_t n = tokenizer ? attn_tokenizer_n_vocab(tokenizer) : 0;
    size_t i = tokenizer && tokenizer->mask_text ? (size_t)tokenizer->mask_id : 0;

    while (i < n && !is_mask(tokenizer, (int32_t)i))
        i++;
    *id = (int32_t)i;
    return i < n;
}

/* Counts the mask tokens in TEXT. *last is the position of the last one. */
static size_t count_masks(const struct attn_tokenizer *tokenizer, const struct attn_sequence *text,
                          size_t *last)
{
    size_t n = 0;

    for (size_t i = 0; text->ids && i < text->n; i++)
        if (is_mask(tokenizer, text->ids[i])) {
            n++;
            *last = i;
        }
    return n;
}

bool attn_mask_is_only(const struct attn_tokenizer *tokenizer, const struct attn_sequence *text,
                       size_t *position)
{
    return count_masks(tokenizer, text, position) == 1;
}

static enum attn_status report_none(const struct attn_answer_scope *scope, const char *field,
                                    const char *what, struct attn_error *err)
{
    const char *mask = scope->tokenizer ? scope->tokenizer->mask_text : NULL;

    attn_refuse(err, ATTN_STAGE_OPTIONS,
                "'%s' predicts tokens at a mask, and the text has %s, expected %s%s%s",
                attn_quote_string(attn_model_name(scope->model)).text,
                scope->tokenizer ? "none" : "numbers without a vocabulary", mask ? "'" : "",
                mask ? attn_quote_string(mask).text : "[MASK] or <mask>", mask ? "'" : "");
    return attn_error_hint(err, "`%s 1` %s the token at position 1", field, what);
}

enum attn_status attn_masks_select(const struct attn_answer_scope *scope,
                                   struct attn_selection **masks, struct attn_error *err)
{
    struct attn_selection *made;
    enum attn_status status = ATTN_OK;
    size_t last;

    const bool has_labels = attn_model_config(scope->model)->task == ATTN_TASK_TOKENS;
    /* NULL if the input is ids: then no token was added. */
    const uint8_t *added = scope->text->encoding.texts;

    if (!has_labels && count_masks(scope->tokenizer, scope->text, &last) == 0)
        return report_none(scope, "queries", "predicts", err);
    ATTN_TRY(attn_selection_create(scope->dims, &made, err));
    for (size_t i = 0; status == ATTN_OK && i < scope->text->n; i++)
        if (has_labels ? !added || added[i] != ATTN_TEXT_NONE
                       : is_mask(scope->tokenizer, scope->text->ids[i]))
            status = attn_selection_add_queries(made, ATTN_STACK_ONLY, i, 1, err);
    ATTN_RETURN_MADE(status, masks, made, attn_selection_free);
}

enum attn_status attn_mask_find(const struct attn_answer_scope *scope, const char *field,
                                size_t *position, struct attn_error *err)
{
    const size_t n = count_masks(scope->tokenizer, scope->text, position);

    if (n == 0)
        return report_none(scope, field, "asks about", err);
    if (n == 1)
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "the text has %zu mask tokens, expected one, or `%s`", n,
                field);
    return attn_error_hint(err, "`%s %zu` asks about the last", field, *position);
}
