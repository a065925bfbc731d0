#include "heads/answer_foil.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/utf8.h"
#include "forward/session.h"
#include "input/input_extra.h"
#include "predict/answer_extra.h"
#include "tables/text_table.h"
#include "tokenizer/tokenizer_extra.h"

#include <math.h>
#include <string.h>

enum { N_NEXT = 10, N_BEFORE = 32, N_AT_ONCE = 16 };

/* --- Letters ---------------------------------------------------------------------------------- */

/* Ranges without letters above ASCII, but for punctuation: signs of Latin-1, symbols, emoji. */
static const struct attn_character_range signs[] = {
    {0x80, 0xa9, 0},     {0xab, 0xb4, 0},     {0xb6, 0xb9, 0},       {0xbb, 0xbf, 0},
    {0xd7, 0xd7, 0},     {0xf7, 0xf7, 0},     {0x2000, 0x2bff, 0},   {0x3000, 0x3004, 0},
    {0xfe00, 0xfe6f, 0}, {0xfff0, 0xffff, 0}, {0x1f000, 0x1faff, 0},
};

/* Scripts that write no spaces: Thai and Lao, Burmese, Khmer, Han and Kana. */
static const struct attn_character_range unspaced[] = {
    {0xe00, 0xeff, 0},   {0x1000, 0x109f, 0}, {0x1780, 0x17ff, 0},   {0x2e80, 0xa4cf, 0},
    {0xf900, 0xfaff, 0}, {0xff66, 0xff9f, 0}, {0x20000, 0x3ffff, 0},
};

#define IS_IN(table, code_point)                                                                   \
    (attn_character_range_find((table), (table) + sizeof(table) / sizeof *(table),                 \
                               (code_point)) != NULL)

static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return !attn_utf8_is_punctuation(c) && !attn_utf8_is_white_space(c) && !IS_IN(signs, c);
}

/* The form of a token: a word, if all of its characters but spaces around it are letters. */
struct form {
    const char *text; /* without spaces */
    size_t size, n_letter;
    bool is_word, has_space, has_capital, is_unspaced;
};

static struct form form_of(const char *text, size_t size)
{
    struct form form = {.size = size, .has_space = size > 0 && *text == ' '};

    form.text = attn_text_trim(text, &form.size);
    form.is_word = form.size > 0;
    for (size_t at = 0, length; at < form.size; at += length) {
        uint32_t c, lower[2];

        length = attn_utf8_decode(form.text + at, form.size - at, &c);
        if (length == 0 || !is_letter(c)) {
            length = length > 0 ? length : c;
            form.is_word = false;
            continue;
        }
        form.n_letter++;
        form.is_unspaced = form.is_unspaced || IS_IN(unspaced, c);
        attn_lowercase(c, lower);
        form.has_capital = form.has_capital || lower[0] != c;
    }
    return form;
}

static struct form form_of_token(const struct attn_next_words *next, int32_t id)
{
    const struct attn_tokenizer *tokenizer = attn_asked_tokenizer(next->run);
    size_t size = 0;
    const char *text = tokenizer ? attn_tokenizer_token(tokenizer, id, &size) : NULL;

    return text ? form_of(text, size) : (struct form){0};
}

/* --- The text --------------------------------------------------------------------------------- */

/* Returns true if a letter ends at TEXT + AT, or begins there. */
static bool has_letter_at(const struct attn_buffer *text, size_t at, bool is_before)
{
    uint32_t c;

    while (is_before && at > 0 && (text->data[--at] & 0xc0) == 0x80)
        ;
    return at < text->size && attn_utf8_decode(text->data + at, text->size - at, &c) > 0 &&
           is_letter(c);
}

/* Returns true if TEXT has WORD, as a whole word if its script writes spaces. */
static bool has_word(const struct attn_buffer *text, const struct form *word)
{
    const char *end = text->data + text->size;

    for (const char *at = text->data;
         (at = memmem(at, (size_t)(end - at), word->text, word->size)) != NULL; at++) {
        const size_t first = (size_t)(at - text->data);

        if (word->is_unspaced || ((first == 0 || !has_letter_at(text, first, true)) &&
                                  !has_letter_at(text, first + word->size, false)))
            return true;
    }
    return false;
}

/* Sets *IS_SKIPPED to whether ID is among the first ten next words at more than a quarter of the
 * positions before. LOGITS is [N_AT_ONCE, n_vocab] of scratch. */
static enum attn_status is_function_word(const struct attn_next_words *next, int32_t id,
                                         float *logits, bool *is_skipped, struct attn_error *err)
{
    const size_t n = next->position < N_BEFORE ? next->position : N_BEFORE;
    size_t n_found = 0;

    for (size_t i = 0, n_row; i < n; i += n_row) {
        n_row = n - i < N_AT_ONCE ? n - i : N_AT_ONCE;
        ATTN_TRY(attn_session_logits_at(next->session, next->position - n + i, n_row, logits, err));
        for (size_t row = 0; row < n_row; row++) {
            const float *x = logits + row * next->n_vocab;
            size_t n_above = 0;

            for (size_t k = 0; k < next->n_vocab && n_above < N_NEXT; k++)
                n_above += x[k] > x[id];
            n_found += n_above < N_NEXT;
        }
    }
    *is_skipped = 4 * n_found > n;
    return ATTN_OK;
}

/* --- The question ----------------------------------------------------------------------------- */

int32_t attn_next_target(const struct attn_next_words *next)
{
    const struct attn_tokenizer *tokenizer = attn_asked_tokenizer(next->run);
    size_t i = 0;

    while (tokenizer && i < next->n_vocab &&
           attn_tokenizer_is_special(tokenizer, next->ranked[i].id))
        i++;
    return next->ranked[i < next->n_vocab ? i : 0].id;
}

static enum attn_status choose(const struct attn_next_words *next, int32_t target, float *logits,
                               int32_t *foil, struct attn_error *err)
{
    const struct form of_target = form_of_token(next, target);
    const double least = (double)next->logits[target] + log(1e-4);

    for (size_t i = 0; of_target.n_letter > 0 && i < N_NEXT && i < next->n_vocab; i++) {
        const int32_t id = next->ranked[i].id;
        const struct form form = form_of_token(next, id);
        bool is_skipped;

        if (id == target || !form.is_word || form.n_letter < (form.is_unspaced ? 2 : 3) ||
            form.has_capital != of_target.has_capital || form.has_space != of_target.has_space ||
            next->ranked[i].logit < least || !has_word(next->text, &form))
            continue;
        ATTN_TRY(is_function_word(next, id, logits, &is_skipped, err));
        *foil = id;
        if (!is_skipped)
            return ATTN_OK;
    }
    *foil = ATTN_FOIL_NOTHING;
    return ATTN_OK;
}

enum attn_status attn_next_foil(const struct attn_next_words *next, int32_t target, int32_t *foil,
                                struct attn_error *err)
{
    float *logits;
    enum attn_status status = ATTN_ALLOC(logits, N_AT_ONCE * next->n_vocab, err);

    ATTN_THEN(status, choose(next, target, logits, foil, err));
    attn_free(logits);
    return status;
}
