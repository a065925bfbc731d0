/* words.c - see words.h. */
#include "text/words.h"

#include "base/utf8.h"
#include "text/white_space.h"

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
        if (!is_by_character && attn_is_white_space(code_point)) {
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
