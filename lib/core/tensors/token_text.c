#include "tensors/token_text.h"

#include "base/memory.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "input/seen.h"
#include "trace/trace_internal.h"

#include <string.h>

/* Makes the texts of N TOKENS; no texts if TOKENS is NULL. */
typedef enum attn_status (*make_fn)(struct attn_token_texts *texts, const char *const *tokens,
                                    const size_t *sizes, size_t n, struct attn_error *err);

static enum attn_status make_both(make_fn make, struct attn_token_texts texts[2],
                                  const struct attn_labels *run, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);

    if (run->tokens)
        ATTN_TRY(make(&texts[0], run->tokens, run->token_sizes, dims->n_position, err));
    if (run->source_tokens)
        ATTN_TRY(make(&texts[1], run->source_tokens, run->source_token_sizes, dims->n_source, err));
    return ATTN_OK;
}

/* Makes the texts of N tokens as they are. */
static enum attn_status make_texts(struct attn_token_texts *texts, const char *const *tokens,
                                   const size_t *sizes, size_t n, struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(texts->ends, n, err));
    texts->n = n;
    for (size_t p = 0; p < n; p++) {
        attn_escape_append(&texts->bytes, tokens[p], sizes[p]);
        texts->ends[p] = texts->bytes.size;
    }
    return attn_buffer_check(&texts->bytes, err);
}

struct attn_labels attn_labels_of_stack(const struct attn_labels *run)
{
    struct attn_labels encoder = *run;

    if (!attn_selection_is_of_encoder(run->selection))
        return encoder;
    encoder.ids = run->source_ids;
    encoder.tokens = run->source_tokens;
    encoder.token_sizes = run->source_token_sizes;
    encoder.words = run->source_words;
    encoder.text = encoder.pair = NULL;
    encoder.begin = encoder.end = NULL;
    encoder.n_front = encoder.n_back = 0;
    encoder.source_tokens = NULL;
    encoder.source_words = NULL;
    encoder.region = NULL;
    encoder.seen = NULL;
    return encoder;
}

enum attn_status attn_token_texts_init(struct attn_token_texts texts[2],
                                       const struct attn_labels *run, struct attn_error *err)
{
    return make_both(make_texts, texts, run, err);
}

const char *attn_token_text(const struct attn_token_texts *texts, size_t position, size_t *size)
{
    size_t begin = texts->n > 0 && position > 0 ? texts->ends[position - 1] : 0;

    *size = texts->n > 0 ? texts->ends[position] - begin : 0;
    return *size > 0 ? texts->bytes.data + begin : "";
}

size_t attn_token_n_joined(const struct attn_token_texts *texts, size_t position)
{
    size_t end = position + 1;

    while (texts->joins && end < texts->n && texts->joins[end])
        end++;
    return end - position - 1;
}

void attn_token_texts_release(struct attn_token_texts *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        attn_buffer_release(&texts[i].bytes);
        attn_free(texts[i].ends);
        attn_free(texts[i].joins);
        texts[i] = (struct attn_token_texts){0};
    }
}

bool attn_token_is_added(const struct attn_labels *run, size_t position)
{
    if (run->texts)
        return run->texts[position] == 0;
    return position < run->n_front ||
           position + run->n_back >= attn_selection_dims(run->selection)->n_position;
}

size_t attn_labels_n_added(const struct attn_labels *run)
{
    size_t n = 0;

    for (size_t i = 0; run->texts && i < attn_selection_dims(run->selection)->n_position; i++)
        n += run->texts[i] == 0;
    return run->texts ? n : run->n_front + run->n_back;
}

size_t attn_word_piece_size(const char *token, size_t size, const char *piece)
{
    const size_t n_piece = piece ? strlen(piece) : 0;

    return n_piece > 0 && size > n_piece && memcmp(token, piece, n_piece) == 0 ? n_piece : 0;
}

void attn_labels_append_text(const struct attn_labels *run, struct attn_buffer *out)
{
    const size_t n = attn_selection_dims(run->selection)->n_position;

    for (size_t i = 0; run->region && run->tokens && i < n; i++) {
        const bool is_answer = run->region[i] == ATTN_REGION_ANSWER;

        if (is_answer && i > 0 && run->region[i - 1] != ATTN_REGION_ANSWER)
            attn_buffer_append(out, " ", run->token_sizes[i] > 0 && *run->tokens[i] != ' ');
        if (is_answer || run->region[i] == ATTN_REGION_QUESTION)
            attn_buffer_append(out, run->tokens[i], run->token_sizes[i]);
    }
    if (run->region)
        return;
    if (run->text) {
        attn_buffer_append(out, run->text, run->n_text);
        attn_buffer_append(out, " ", run->pair != NULL);
        attn_buffer_append(out, run->pair, run->n_pair);
        return;
    }
    for (size_t i = 0; run->tokens && !run->backdrop && i < n; i++)
        attn_buffer_append(out, run->tokens[i], run->token_sizes[i]);
}

/* A position in the bytes of consecutive tokens. */
struct token_cursor {
    const char *const *tokens;
    const size_t *sizes;
    size_t n, token, at; /* number of tokens, index of the current one, and offset in it */
};

enum { MOST_BYTES = 64 }; /* maximum bytes of a grapheme cluster */

/* Advances to a token with bytes left. Returns false at the end. */
static bool has_bytes(struct token_cursor *cursor)
{
    while (cursor->token < cursor->n && cursor->at == cursor->sizes[cursor->token]) {
        cursor->token++;
        cursor->at = 0;
    }
    return cursor->token < cursor->n;
}

/* Reads one character as readers see it, which may continue in later tokens. Returns its length, or
 * 0 if it is malformed. */
static size_t read_character(struct token_cursor cursor, char bytes[MOST_BYTES])
{
    uint32_t code_point;
    size_t n = 0;

    while (n < MOST_BYTES && has_bytes(&cursor))
        bytes[n++] = cursor.tokens[cursor.token][cursor.at++];
    return attn_utf8_decode(bytes, n, &code_point) > 0 ? attn_utf8_cluster(bytes, n) : 0;
}

/* Appends the character of LENGTH bytes to the texts of its tokens; if there are several, each gets
 * its number. */
static void append_character(struct attn_token_texts *texts, struct token_cursor *cursor,
                             const char *bytes, size_t length)
{
    const bool is_split = cursor->sizes[cursor->token] - cursor->at < length;
    size_t left = length;

    for (unsigned piece = 1; left > 0; piece++) {
        size_t n = cursor->sizes[cursor->token] - cursor->at;

        n = n < left ? n : left;
        attn_escape_append(&texts->bytes, bytes, length);
        if (is_split)
            attn_buffer_append_format(&texts->bytes, "/%u", piece);
        texts->ends[cursor->token] = texts->bytes.size;
        texts->joins[cursor->token] = piece > 1;
        cursor->at += n;
        left -= n;
        if (left > 0)
            has_bytes(cursor);
    }
}

/* Makes the texts of N tokens for readers. */
static enum attn_status make_labels(struct attn_token_texts *texts, const char *const *tokens,
                                    const size_t *sizes, size_t n, struct attn_error *err)
{
    struct token_cursor cursor = {tokens, sizes, n, 0, 0};
    size_t last = 0;

    ATTN_TRY(ATTN_ALLOC(texts->ends, n, err));
    ATTN_TRY(ATTN_ALLOC(texts->joins, n, err));
    texts->n = n;
    while (has_bytes(&cursor)) {
        char bytes[MOST_BYTES];
        const size_t length = read_character(cursor, bytes);

        if (length > 0) {
            append_character(texts, &cursor, bytes, length);
            continue;
        }
        attn_escape_append(&texts->bytes, bytes, 1);
        texts->ends[cursor.token] = texts->bytes.size;
        cursor.at++;
    }
    for (size_t i = 0; i < texts->n; i++) /* for tokens without bytes */
        texts->ends[i] = last = texts->ends[i] > last ? texts->ends[i] : last;
    return attn_buffer_check(&texts->bytes, err);
}

/* Appends the position to each of TEXTS that is a single letter: K17. */
static enum attn_status number_letters(struct attn_token_texts *texts, const size_t *sizes,
                                       struct attn_error *err)
{
    struct attn_buffer bytes = {0};
    size_t begin = 0;

    for (size_t i = 0; i < texts->n; i++) {
        attn_buffer_append(&bytes, texts->bytes.data + begin, texts->ends[i] - begin);
        if (sizes[i] == 1)
            attn_buffer_append_format(&bytes, "%zu", i);
        begin = texts->ends[i];
        texts->ends[i] = bytes.size;
    }
    attn_buffer_release(&texts->bytes);
    texts->bytes = bytes;
    return attn_buffer_check(&bytes, err);
}

enum attn_status attn_token_labels_init(struct attn_token_texts texts[2],
                                        const struct attn_labels *run, struct attn_error *err)
{
    ATTN_TRY(make_both(make_labels, texts, run, err));
    return run->has_residues && run->tokens ? number_letters(&texts[0], run->token_sizes, err)
                                            : ATTN_OK;
}

size_t attn_token_labels_n_split(const struct attn_labels *run)
{
    struct token_cursor cursor = {run->tokens, run->token_sizes,
                                  attn_selection_dims(run->selection)->n_position, 0, 0};
    size_t n_split = 0;

    while (run->tokens && has_bytes(&cursor)) {
        char bytes[MOST_BYTES];
        size_t length = read_character(cursor, bytes);

        n_split += length > cursor.sizes[cursor.token] - cursor.at;
        for (length += length == 0; length > 0 && has_bytes(&cursor); length--)
            cursor.at++;
    }
    return n_split;
}
