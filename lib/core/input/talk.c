#include "input/talk.h"

#include "base/memory.h"

#include <stdio.h>
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
    *written = (struct attn_chat_text){0};
}

struct attn_message_name attn_message_name(const struct attn_talk_span *messages, size_t i)
{
    const char *role = messages[i].role;
    struct attn_message_name name;

    snprintf(name.text, sizeof name.text, "%zu_%s", i, *role ? role : "message");
    return name;
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

/* Appends the place NAME of bytes BEGIN to END - 1 of SEQUENCE, if it has tokens and no other place
 * has the name. */
static void add_place(struct attn_chat_text *written, const struct attn_sequence *sequence,
                      const char *name, const struct attn_talk_span *span, size_t *n_used)
{
    struct attn_places *places = &written->places;
    int64_t *tokens = written->positions + *n_used;
    const size_t n = attn_chat_tokens(sequence, span->begin, span->end, tokens);

    for (size_t i = 0; i < places->n; i++)
        if (strcmp(written->named[i].name, name) == 0)
            return;
    if (n == 0 || *name == '\0')
        return;
    written->named[places->n++] = (struct attn_item_place){name, {.items = tokens, .n = n}};
    *n_used += n;
}

enum attn_status attn_chat_place(struct attn_chat_text *written, size_t begin, size_t end,
                                 const struct attn_places *others, struct attn_sequence *sequence,
                                 struct attn_error *err)
{
    const struct attn_talk_span user = {.begin = begin, .end = end};
    const size_t n = sequence->seen.n_picture == 0 ? written->n : 0;
    size_t n_used = 0;

    if (end == 0 && n == 0)
        return ATTN_OK;
    /* two neighbours may share a token, and a message has two names */
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, written->positions, 3 * (sequence->encoding.n + n),
                              err));
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, written->named, 2 * n + 1, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, written->names, n + 1, err));
    if (end > 0)
        add_place(written, sequence, "user", &user, &n_used);
    for (size_t i = n; i-- > 0;) { /* the last of a role comes first */
        const struct attn_talk_span *message = &written->messages[i];

        if (message->end == 0)
            continue;
        written->names[i] = attn_message_name(written->messages, i);
        add_place(written, sequence, message->role, message, &n_used);
        add_place(written, sequence, written->names[i].text, message, &n_used);
        sequence->messages = written->messages;
        sequence->n_message = n;
    }
    written->places.items = written->named;
    written->places.others = others;
    if (written->places.n > 0)
        sequence->places = &written->places;
    return ATTN_OK;
}
