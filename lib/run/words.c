/* words.c - see words.h. */
#include "run/words.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "trace/selection_internal.h"

/* What is known of a token. */
struct token {
    bool begins_blank, ends_blank; /* with white space */
    bool is_alone;                 /* white space, or special */
};

/* A token without bytes is none of these. */
static struct token look_at(const char *bytes, size_t size)
{
    struct token token = {.is_alone = size > 0};
    uint32_t code_point;

    for (size_t at = 0, length; at < size; at += length) {
        length = attn_utf8_decode(bytes + at, size - at, &code_point);
        token.ends_blank = length > 0 && attn_utf8_is_white_space(code_point);
        token.is_alone = token.is_alone && token.ends_blank;
        if (at == 0)
            token.begins_blank = token.ends_blank;
        length += length == 0; /* a byte of a character that several tokens make */
    }
    return token;
}

/* Whether TOKEN begins a word after the token BEFORE. */
static bool begins_word(const struct token *before, const struct token *token)
{
    return token->is_alone || before->is_alone || token->begins_blank || before->ends_blank;
}

static bool is_special(const struct attn_sequence *sequence, const struct attn_tokenizer *tokenizer,
                       size_t i)
{
    const struct attn_encoding *encoding = &sequence->encoding;

    if (encoding->n > 0 && (i < encoding->n_front || i >= encoding->n - encoding->n_back))
        return true;
    return tokenizer && sequence->ids && attn_tokenizer_is_special(tokenizer, sequence->ids[i]);
}

enum attn_status attn_words_find(const struct attn_sequence *sequence,
                                 const struct attn_tokenizer *tokenizer, size_t **words,
                                 struct attn_error *err)
{
    size_t *made = attn_alloc(sequence->n, sizeof *made, err);
    struct token before = {0};

    if (!made)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < sequence->n; i++) {
        struct token token = look_at(sequence->tokens.bytes[i], sequence->tokens.sizes[i]);

        token.is_alone = token.is_alone || is_special(sequence, tokenizer, i);
        if (i > 0)
            made[i] = made[i - 1] + (sequence->is_word_level || begins_word(&before, &token));
        before = token;
    }
    *words = made;
    return ATTN_OK;
}

enum attn_status attn_words_of_labels(const struct attn_label_list *labels, size_t **words,
                                      struct attn_error *err)
{
    size_t *made = attn_alloc(labels->n, sizeof *made, err);
    struct token before = {0};

    if (!made)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < labels->n; i++) {
        const struct token token = look_at(labels->items[i], labels->sizes[i]);

        if (i > 0)
            made[i] = made[i - 1] + begins_word(&before, &token);
        before = token;
    }
    *words = made;
    return ATTN_OK;
}

enum attn_status attn_words_widen(const size_t *words, struct attn_selection *selection,
                                  struct attn_error *err)
{
    const size_t n = attn_selection_dims(selection)->n_position;

    if (attn_selection_is_all_queries(selection))
        return ATTN_OK;
    for (size_t first = 0, end; first < n; first = end) {
        bool is_chosen = false;

        for (end = first; end < n && words[end] == words[first]; end++)
            is_chosen = is_chosen || attn_selection_has_query(selection, end);
        if (is_chosen)
            ATTN_TRY(attn_selection_keep_queries(selection, first, end - first, err));
    }
    return ATTN_OK;
}
