/* word_level.c - see word_level.h. */
#include "text/word_level.h"

#include "base/escape.h"
#include "base/utf8.h"
#include "text/nearest.h"
#include "text/tokenizer_internal.h"

#include <assert.h>

static bool is_dropped(const struct attn_word_rule *rule, uint32_t code_point)
{
    for (size_t i = 0; i < rule->n_drop; i++)
        if (rule->drop[i] == code_point)
            return true;
    return false;
}

bool attn_word_next(struct attn_word_walk *walk)
{
    const bool is_by_character = walk->rule.is_by_character;
    uint32_t code_point;

    attn_buffer_reset(&walk->kept);
    while (walk->at < walk->size) {
        const char *character = walk->text + walk->at;
        size_t length = attn_utf8_decode(character, walk->size - walk->at, &code_point);

        assert(length > 0); /* the text is valid UTF-8 */
        walk->at += length;
        if (!is_by_character && attn_utf8_is_white_space(code_point)) {
            if (walk->kept.size > 0)
                break;
        } else if (!is_dropped(&walk->rule, code_point)) {
            if (walk->kept.size == 0)
                walk->begin = walk->at - length;
            walk->end = walk->at;
            attn_buffer_append(&walk->kept, character, length);
            if (is_by_character || walk->kept.has_failed)
                break;
        }
    }
    return walk->kept.size > 0 && !walk->kept.has_failed;
}

static enum attn_status refuse(const struct attn_word_level *words, const struct attn_layer *layer,
                               const struct attn_word_walk *walk, size_t number,
                               struct attn_error *err)
{
    const char *what = words->rule.is_by_character ? "character" : "word";
    enum attn_status status =
        attn_error_set(err, ATTN_INVALID, "unknown %s '%s' (%s %zu, byte %zu)", what,
                       attn_quote(walk->kept.data, walk->kept.size).text, what, number,
                       attn_layer_origin(layer, walk->begin));

    if (!words->rule.is_by_character) /* every character is near every other */
        attn_nearest_hint(words->vocabulary, walk->kept.data, walk->kept.size, err);
    return status;
}

static enum attn_status run(struct attn_walk *text_walk, size_t at, struct attn_slice slice,
                            struct attn_error *err)
{
    const struct attn_word_level *words = text_walk->stages->list[at].data;
    struct attn_encoding *encoding = text_walk->encoding;
    struct attn_word_walk walk = {words->rule, slice.layer->text, slice.end, .at = slice.begin};
    enum attn_status status = ATTN_OK;

    while (status == ATTN_OK && attn_word_next(&walk)) {
        int32_t id = attn_vocabulary_find(words->vocabulary, walk.kept.data, walk.kept.size);

        if (id < 0)
            id = words->unk;
        if (id < 0)
            status = refuse(words, slice.layer, &walk, encoding->n, err);
        else
            status = attn_encoding_push(encoding, id, walk.begin, walk.end, err);
    }
    if (status == ATTN_OK)
        status = attn_buffer_check(&walk.kept, err);
    attn_buffer_release(&walk.kept);
    return status;
}

const struct attn_stage_kind attn_word_stage = {.run = run};
