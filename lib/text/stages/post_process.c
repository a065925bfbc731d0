/* post_process.c - see post_process.h. */
#include "text/stages/post_process.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "text/tokenizer_internal.h"

#include <string.h>

enum { ALPHABET_SPACE = 0x120 };

enum attn_status attn_post_process_add(struct attn_post_process *post, bool is_front, int32_t id,
                                       struct attn_error *err)
{
    struct attn_id_list *list = is_front ? &post->front : &post->back;

    ATTN_TRY(attn_grow((void **)&list->ids, &list->capacity, list->n + 1, sizeof *list->ids, err));
    if (is_front)
        memmove(list->ids + 1, list->ids, list->n * sizeof *list->ids);
    list->ids[is_front ? 0 : list->n] = id;
    list->n++;
    return ATTN_OK;
}

void attn_post_process_release(struct attn_post_process *post)
{
    attn_free(post->front.ids);
    attn_free(post->back.ids);
    *post = (struct attn_post_process){0};
}

enum attn_status attn_post_process_append(const struct attn_id_list *list,
                                          struct attn_encoding *encoding, struct attn_error *err)
{
    for (size_t i = 0; i < list->n; i++)
        ATTN_TRY(attn_encoding_push(encoding, list->ids[i], 0, 0, err));
    return ATTN_OK;
}

static bool is_space(uint32_t code_point)
{
    return code_point == ALPHABET_SPACE || attn_utf8_is_white_space(code_point);
}

/* How many characters at the begin of KEY are white space. */
static size_t count_leading(const char *key, size_t size)
{
    size_t n = 0;

    for (size_t at = 0, length; at < size; at += length, n++) {
        uint32_t code_point;

        length = attn_utf8_decode(key + at, size - at, &code_point);
        if (length == 0 || !is_space(code_point))
            break;
    }
    return n;
}

/* Whether BYTE is not the first of its character. */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t count_trailing(const char *key, size_t size)
{
    size_t n = 0;

    while (size > 0) {
        size_t at = size - 1;
        uint32_t code_point;

        while (at > 0 && is_continuation(key[at]))
            at--;
        if (attn_utf8_decode(key + at, size - at, &code_point) == 0 || !is_space(code_point))
            break;
        size = at;
        n++;
    }
    return n;
}

void attn_post_process_trim(const struct attn_post_process *post,
                            const struct attn_tokenizer *tokenizer, const char *text,
                            struct attn_encoding *encoding)
{
    for (size_t i = encoding->n_front; i < encoding->n; i++) {
        size_t size = 0, begin = encoding->begin[i], end = encoding->end[i], n;
        const char *key = attn_tokenizer_key(tokenizer, encoding->ids[i], &size);

        if (tokenizer->is_wide[encoding->ids[i]]) { /* with the white space that it took */
            key = text + begin;
            size = end - begin;
        }
        n = count_leading(key, size);
        if (n == 1 && post->has_prefix && (i == encoding->n_front || begin == 0))
            n = 0; /* that space is not one of the text */
        for (; n > 0 && begin < end; n--)
            do
                begin++;
            while (begin < end && is_continuation(text[begin]));
        for (n = count_trailing(key, size); n > 0 && end > begin; n--)
            do
                end--;
            while (end > begin && is_continuation(text[end]));
        encoding->begin[i] = begin;
        encoding->end[i] = end;
    }
}
