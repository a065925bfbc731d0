/* post_process.c - special tokens around the tokens of a text. */
#include "tokenizer/stages/stages_internal.h"

#include "base/text/utf8.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

enum { ALPHABET_SPACE = 0x120 };

enum attn_status attn_template_append(struct attn_template *to, struct attn_template_item item,
                                      struct attn_error *err)
{
    if (to->n == ATTN_TEMPLATE_MAX)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the tokenizer adds more than %d tokens, which is not supported",
                              ATTN_TEMPLATE_MAX - 2);
    to->items[to->n++] = item;
    return ATTN_OK;
}

static const struct attn_template bare = {.items = {{ATTN_TEMPLATE_TEXT, 0}}, .n = 1};
static const struct attn_template bare_pair = {
    .items = {{ATTN_TEMPLATE_TEXT, 0}, {ATTN_TEMPLATE_PAIR, 1}}, .n = 2};

const struct attn_template *attn_post_process_template(const struct attn_post_process *post,
                                                       bool is_pair)
{
    if (is_pair)
        return post->pair.n > 0 ? &post->pair : &bare_pair;
    return post->single.n > 0 ? &post->single : &bare;
}

enum attn_status attn_post_process_wrap(struct attn_post_process *post,
                                        const struct attn_template *outer, struct attn_error *err)
{
    const struct attn_template inner = *attn_post_process_template(post, false);
    struct attn_template made = {.n = 0};

    for (size_t i = 0; i < outer->n; i++) {
        if (outer->items[i].id != ATTN_TEMPLATE_TEXT || post->single.n == 0) {
            ATTN_TRY(attn_template_append(&made, outer->items[i], err));
            continue;
        }
        for (size_t k = 0; k < inner.n; k++)
            ATTN_TRY(attn_template_append(&made, inner.items[k], err));
    }
    post->single = made;
    return ATTN_OK;
}

enum attn_status attn_post_process_take(struct attn_post_process *post,
                                        const struct attn_template *single,
                                        const struct attn_template *pair, struct attn_error *err)
{
    post->takes_pair = post->single.n == 0 && pair->n > 0;
    post->pair = *pair;
    return attn_post_process_wrap(post, single, err);
}

enum attn_status attn_post_process_set_ends(struct attn_post_process *post, int32_t cls,
                                            int32_t sep, bool is_twice, struct attn_error *err)
{
    const struct attn_template single = {.items = {{cls, 0}, {ATTN_TEMPLATE_TEXT, 0}, {sep, 0}},
                                         .n = 3};
    const struct attn_template once = {
        .items = {{cls, 0}, {ATTN_TEMPLATE_TEXT, 0}, {sep, 0}, {ATTN_TEMPLATE_PAIR, 1}, {sep, 1}},
        .n = 5};
    const struct attn_template twice = {.items = {{cls, 0},
                                                  {ATTN_TEMPLATE_TEXT, 0},
                                                  {sep, 0},
                                                  {sep, 0},
                                                  {ATTN_TEMPLATE_PAIR, 0},
                                                  {sep, 0}},
                                        .n = 6};

    return attn_post_process_take(post, &single, is_twice ? &twice : &once, err);
}

static bool is_space(uint32_t code_point)
{
    return code_point == ALPHABET_SPACE || attn_utf8_is_white_space(code_point);
}

/* Returns the number of white space characters at the beginning of KEY. */
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
                            const struct attn_tokenizer *tokenizer, const char *text, size_t first,
                            struct attn_encoding *encoding)
{
    for (size_t i = first; i < encoding->n; i++) {
        size_t size = 0, begin = encoding->begin[i], end = encoding->end[i], n;
        const char *key = attn_tokenizer_key(tokenizer, encoding->ids[i], &size);

        /* Include the white space that the token stripped. */
        if (tokenizer->is_wide[encoding->ids[i]]) {
            key = text + begin;
            size = end - begin;
        }
        n = count_leading(key, size);
        if (n == 1 && post->has_prefix && (i == first || begin == 0))
            n = 0; /* this space was inserted and is not in the text */
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
