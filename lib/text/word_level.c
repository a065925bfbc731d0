/* word_level.c - see word_level.h. */
#include "text/word_level.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "text/encoding.h"
#include "text/nearest.h"
#include "text/white_space.h"

#include <assert.h>
#include <stdbool.h>

/* The word that is being read. */
struct word {
    struct attn_buffer kept; /* its characters without the dropped ones */
    size_t begin, end;       /* from the first to the last kept character, in the subject */
};

static bool is_dropped(const struct attn_word_level *words, uint32_t code_point)
{
    for (size_t i = 0; i < words->n_drop; i++)
        if (words->drop[i] == code_point)
            return true;
    return false;
}

static enum attn_status refuse(const struct attn_word_level *words,
                               const struct attn_subject *subject, const struct word *word,
                               size_t number, struct attn_error *err)
{
    enum attn_status status =
        attn_error_set(err, ATTN_INVALID, "unknown word '%s' (word %zu, byte %zu)",
                       attn_quote(word->kept.data, word->kept.size).text, number,
                       attn_subject_begin(subject, word->begin));

    attn_nearest_hint(words->vocabulary, word->kept.data, word->kept.size, err);
    return status;
}

/* Appends the token of WORD, if anything of it was kept, and makes ready for the next. */
static enum attn_status end_word(const struct attn_word_level *words,
                                 const struct attn_subject *subject, struct word *word,
                                 struct attn_encoding *encoding, struct attn_error *err)
{
    enum attn_status status = attn_buffer_check(&word->kept, err);
    int32_t id;

    if (status != ATTN_OK || word->kept.size == 0)
        return status;
    id = attn_vocabulary_find(words->vocabulary, word->kept.data, word->kept.size);
    if (id < 0)
        id = words->unk;
    if (id < 0)
        return refuse(words, subject, word, encoding->n, err);
    attn_buffer_reset(&word->kept);
    return attn_encoding_push(encoding, id, word->begin, word->end, err);
}

enum attn_status attn_word_level_encode(const struct attn_word_level *words,
                                        const struct attn_subject *subject,
                                        struct attn_encoding *encoding, struct attn_error *err)
{
    struct word word = {0};
    enum attn_status status = ATTN_OK;
    uint32_t code_point;

    for (size_t at = 0, length; at < subject->size && status == ATTN_OK; at += length) {
        length = attn_utf8_decode(subject->text + at, subject->size - at, &code_point);
        assert(length > 0); /* the subject is valid UTF-8 */
        if (attn_is_white_space(code_point)) {
            status = end_word(words, subject, &word, encoding, err);
        } else if (!is_dropped(words, code_point)) {
            if (word.kept.size == 0)
                word.begin = at;
            word.end = at + length;
            attn_buffer_append(&word.kept, subject->text + at, length);
        }
    }
    if (status == ATTN_OK)
        status = end_word(words, subject, &word, encoding, err);
    attn_buffer_release(&word.kept);
    return status;
}
