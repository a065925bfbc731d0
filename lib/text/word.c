/* word.c - see word.h. */
#include "text/word.h"

#include "base/utf8.h"
#include "text/tokenizer.h"

/* What a token is to the words around it. */
struct edge {
    bool is_alone;              /* a word of its own */
    bool has_front, has_behind; /* white space at its beginning, at its end */
};

static struct edge edge_of(const struct attn_tokenizer *tokenizer, int32_t id)
{
    struct edge edge = {0};
    size_t size = 0, at = 0;
    const char *bytes = attn_tokenizer_token(tokenizer, id, &size);
    bool is_blank = size > 0;

    while (bytes && at < size) {
        uint32_t c;
        const size_t n = attn_utf8_decode(bytes + at, size - at, &c);
        const bool is_white = n > 0 && attn_utf8_is_white_space(c);

        edge.has_front = at == 0 ? is_white : edge.has_front;
        edge.has_behind = is_white;
        is_blank = is_blank && is_white;
        at += n > 0 ? n : c;
    }
    edge.is_alone = !bytes || is_blank || attn_tokenizer_is_special(tokenizer, id);
    return edge;
}

void attn_words_mark(const struct attn_tokenizer *tokenizer, const int32_t *ids, size_t n,
                     bool *begins)
{
    const bool is_word_level = attn_tokenizer_kind(tokenizer) == ATTN_TOKENIZER_WORD;
    struct edge before = {.is_alone = true};

    for (size_t i = 0; i < n; i++) {
        const struct edge edge = edge_of(tokenizer, ids[i]);

        begins[i] = is_word_level || edge.is_alone || edge.has_front || before.is_alone ||
                    before.has_behind;
        before = edge;
    }
}
