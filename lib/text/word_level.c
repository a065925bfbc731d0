/* word_level.c - see word_level.h. */
#include "text/word_level.h"

#include "base/escape.h"
#include "text/encoding.h"
#include "text/nearest.h"

static enum attn_status refuse(const struct attn_word_level *words,
                               const struct attn_subject *subject,
                               const struct attn_word_walk *walk, size_t number,
                               struct attn_error *err)
{
    const char *what = words->rule.is_by_character ? "character" : "word";
    enum attn_status status =
        attn_error_set(err, ATTN_INVALID, "unknown %s '%s' (%s %zu, byte %zu)", what,
                       attn_quote(walk->kept.data, walk->kept.size).text, what, number,
                       attn_subject_begin(subject, walk->begin));

    if (!words->rule.is_by_character) /* every character is near every other */
        attn_nearest_hint(words->vocabulary, walk->kept.data, walk->kept.size, err);
    return status;
}

enum attn_status attn_word_level_encode(const struct attn_word_level *words,
                                        const struct attn_subject *subject,
                                        struct attn_encoding *encoding, struct attn_error *err)
{
    struct attn_word_walk walk = {words->rule, subject->text, subject->size, .at = 0};
    enum attn_status status = ATTN_OK;

    while (status == ATTN_OK && attn_word_next(&walk)) {
        int32_t id = attn_vocabulary_find(words->vocabulary, walk.kept.data, walk.kept.size);

        if (id < 0)
            id = words->unk;
        if (id < 0)
            status = refuse(words, subject, &walk, encoding->n, err);
        else
            status = attn_encoding_push(encoding, id, walk.begin, walk.end, err);
    }
    if (status == ATTN_OK)
        status = attn_buffer_check(&walk.kept, err);
    attn_buffer_release(&walk.kept);
    return status;
}
