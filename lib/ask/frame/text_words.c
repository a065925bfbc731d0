#include "frame/text_words.h"

#include "base/memory.h"
#include "base/text/fixed_text.h"
#include "base/text/utf8.h"

#include <assert.h>
#include <string.h>

/* Returns the number of bytes at the beginning of TEXT [size] that are white space (IS_WHITE) or
 * are not (otherwise). */
static size_t span(const char *text, size_t size, bool is_white)
{
    size_t at = 0;

    while (at < size) {
        uint32_t code_point;
        const size_t n = attn_utf8_decode(text + at, size - at, &code_point);

        if ((n > 0 && attn_utf8_is_white_space(code_point)) != is_white)
            break;
        at += n > 0 ? n : 1;
    }
    return at;
}

static enum attn_status add_word(struct attn_text_words *words, size_t begin, size_t end,
                                 struct attn_error *err)
{
    ATTN_TRY(attn_grow(&words->items, &words->capacity, words->n + 1, sizeof *words->items, err));
    words->items[words->n++] = (struct attn_text_word){begin, end};
    return ATTN_OK;
}

static enum attn_status split_as_listed(const char *text, size_t size,
                                        const struct attn_word_texts *list,
                                        struct attn_text_words *words, struct attn_error *err)
{
    const char *word = list->text;
    size_t at = span(text, size, true);

    for (size_t i = 0; i < list->n; i++, word += strlen(word) + 1) {
        const size_t n = strlen(word);

        if (n == 0 || n > size - at || memcmp(text + at, word, n) != 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "word %zu of its list is '%s', its text has '%s'", i,
                                  attn_quote(word, n).text, attn_quote(text + at, size - at).text);
        ATTN_TRY(add_word(words, at, at + n, err));
        at += n;
        at += span(text + at, size - at, true);
    }
    if (at < size)
        return attn_error_set(err, ATTN_INVALID,
                              "its text goes on after the last word of its list: '%s'",
                              attn_quote(text + at, size - at).text);
    return ATTN_OK;
}

enum attn_status attn_text_words_split(const char *text, size_t size,
                                       const struct attn_word_texts *list,
                                       struct attn_text_words *words, struct attn_error *err)
{
    words->size = size;
    if (list && list->n > 0)
        return split_as_listed(text, size, list, words, err);
    for (size_t at = span(text, size, true); at < size; at += span(text + at, size - at, true)) {
        const size_t end = at + span(text + at, size - at, false);

        ATTN_TRY(add_word(words, at, end, err));
        at = end;
    }
    return words->n > 0 ? ATTN_OK : attn_error_set(err, ATTN_INVALID, "it has no words");
}

/* Finds the word that contains the bytes of TOKEN, and fails if the token has characters of two
 * words. The search starts at *WORD, the last word found, which receives the result; SIZE_MAX: no
 * word. */
static enum attn_status find_word(const char *text, size_t first, struct attn_text_word token,
                                  const struct attn_text_words *words, size_t *word,
                                  struct attn_error *err)
{
    const struct attn_text_word *items = words->items;
    size_t i = *word == SIZE_MAX ? 0 : *word;

    *word = SIZE_MAX;
    while (i < words->n && first + items[i].end <= token.begin)
        i++;
    if (i == words->n || token.begin < first + items[i].begin)
        return ATTN_OK;
    *word = i;
    if (i + 1 == words->n || token.end <= first + items[i + 1].begin)
        return ATTN_OK;
    text += first;
    return attn_error_set(
        err, ATTN_INVALID, "one token has characters of two words, '%s' and '%s'",
        attn_quote(text + items[i].begin, items[i].end - items[i].begin).text,
        attn_quote(text + items[i + 1].begin, items[i + 1].end - items[i + 1].begin).text);
}

/* Assigns tokens of white space to the word after them, or to the last word if no word follows. */
static void assign_white_space(const struct attn_encoding *encoding, const unsigned char *is_white,
                               struct attn_text_words *words)
{
    size_t next = SIZE_MAX, last = SIZE_MAX;

    for (size_t i = encoding->n; i-- > 0;) {
        if (!is_white[i])
            next = words->of[i];
        else
            words->of[i] = next;
    }
    for (size_t i = 0; i < encoding->n; i++) {
        if (is_white[i] && words->of[i] == SIZE_MAX && last == words->n - 1)
            words->of[i] = last;
        last = is_white[i] ? last : words->of[i];
    }
}

/* Fails if a word has no token. */
static enum attn_status check_words(const char *text, size_t first,
                                    const struct attn_text_words *words, size_t n_token,
                                    struct attn_error *err)
{
    size_t next = 0;

    for (size_t i = 0; i < n_token; i++)
        next += words->of[i] == next;
    if (next == words->n)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID, "no token begins in its word '%s'",
                          attn_quote(text + first + words->items[next].begin,
                                     words->items[next].end - words->items[next].begin)
                              .text);
}

enum attn_status attn_text_words_assign(const struct attn_encoding *encoding, const char *text,
                                        size_t size, size_t first, struct attn_text_words *words,
                                        struct attn_error *err)
{
    unsigned char *is_white = attn_alloc(encoding->n, 1, err);
    enum attn_status status = is_white ? ATTN_ALLOC(words->of, encoding->n, err) : ATTN_NO_MEMORY;
    size_t word = SIZE_MAX;

    for (size_t i = 0; status == ATTN_OK && i < encoding->n; i++) {
        struct attn_text_word token = {encoding->begin[i], encoding->end[i]};
        const bool is_added = token.begin == token.end;
        size_t found = word;

        words->of[i] = SIZE_MAX;
        if (is_added || token.end > size || token.end <= first ||
            token.begin >= first + words->size)
            continue;
        is_white[i] = token.begin >= first; /* cleared below if the token has other characters */
        token.begin += span(text + token.begin, token.end - token.begin, true);
        if (token.begin == token.end)
            continue;
        is_white[i] = false;
        status = find_word(text, first, token, words, &found, err);
        words->of[i] = found;
        word = found == SIZE_MAX ? word : found;
    }
    if (status == ATTN_OK) {
        assign_white_space(encoding, is_white, words);
        status = check_words(text, first, words, encoding->n, err);
    }
    attn_free(is_white);
    return status;
}

void attn_text_words_release(struct attn_text_words *words)
{
    attn_free(words->items);
    attn_free(words->of);
    *words = (struct attn_text_words){0};
}
