/* talk.c - see talk.h. */
#include "input/talk.h"

#include "base/memory.h"

#include <string.h>

bool attn_chat_is_wanted(const struct attn_chat_request *asked)
{
    return asked->form ? strcmp(asked->form, "off") != 0
                       : asked->system || asked->messages || asked->tools || asked->n_set > 0;
}

void attn_chat_release(struct attn_chat_text *written)
{
    attn_free(written->text);
    attn_free(written->messages);
    attn_free(written->positions);
    *written = (struct attn_chat_text){0};
}

struct attn_talk_span attn_chat_user(const struct attn_chat_text *written)
{
    for (size_t i = written->n; i-- > 0;)
        if (strcmp(written->messages[i].role, "user") == 0 && written->messages[i].end > 0)
            return written->messages[i];
    return (struct attn_talk_span){0};
}

size_t attn_chat_tokens(const struct attn_sequence *sequence, size_t begin, size_t end,
                        int64_t *tokens)
{
    const struct attn_encoding *encoding = &sequence->encoding;
    size_t n = 0;

    for (size_t i = 0; i < encoding->n; i++)
        if (encoding->texts[i] != ATTN_TEXT_NONE && encoding->begin[i] < end &&
            encoding->end[i] > begin &&
            (sequence->seen.n_picture == 0 || sequence->seen.region[i] == ATTN_REGION_QUESTION))
            tokens[n++] = (int64_t)i;
    return n;
}

enum attn_status attn_chat_place(struct attn_chat_text *written, size_t begin, size_t end,
                                 const struct attn_places *others, struct attn_sequence *sequence,
                                 struct attn_error *err)
{
    struct attn_number_list *list = &written->user.spec;
    size_t n;

    if (end == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(written->positions, sequence->encoding.n, err));
    n = attn_chat_tokens(sequence, begin, end, written->positions);
    written->user = (struct attn_item_place){.name = "user"};
    list->items = written->positions;
    list->n = n;
    written->places = (struct attn_places){.items = &written->user, .n = n > 0, .others = others};
    sequence->places = &written->places;
    return ATTN_OK;
}
