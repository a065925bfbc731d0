/* tokenizer_open.c - see tokenizer_open.h. */
#include "text/tokenizer_open.h"

#include "base/escape.h"
#include "base/memory.h"
#include "text/tokenizer_internal.h"

#include <string.h>

static bool is_overridden(const struct attn_source *source, const char *name)
{
    for (size_t i = 0; i < source->n_override; i++)
        if (strcmp(source->overrides[i].name, name) == 0)
            return true;
    return false;
}

/* tokenizer.json comes first, unless another vocab.json was asked for. */
static bool reads_json(const struct attn_source *source)
{
    return attn_source_has_part(source, "tokenizer.json") &&
           (is_overridden(source, "tokenizer.json") || !is_overridden(source, "vocab.json"));
}

/* ATTN_IO when SOURCE has neither file; one that was named and is missing is reported as such. */
static enum attn_status check_there(const struct attn_source *source, struct attn_error *err)
{
    if (reads_json(source) || attn_source_has_part(source, "vocab.json") ||
        is_overridden(source, "vocab.json") || is_overridden(source, "tokenizer.json"))
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_IO, "'%s' has no tokenizer, expected tokenizer.json or vocab.json",
        attn_quote_string(source->directory ? source->directory : source->name).text);
}

enum attn_status attn_tokenizer_open_lazily(const struct attn_source *source, attn_note_fn on_note,
                                            void *user, struct attn_tokenizer **out,
                                            struct attn_error *err)
{
    enum attn_status status = check_there(source, err);
    struct attn_tokenizer *tokenizer;

    if (status != ATTN_OK)
        return status;
    tokenizer = attn_alloc(1, sizeof *tokenizer, err);
    if (!tokenizer)
        return ATTN_NO_MEMORY;
    if (reads_json(source))
        status = attn_tokenizer_json_read(tokenizer, source, err);
    else
        status = attn_tokenizer_files_read(tokenizer, source, err);
    if (status == ATTN_OK)
        status = attn_tokenizer_finish(tokenizer, err);
    if (status != ATTN_OK) {
        attn_tokenizer_close(tokenizer);
        return status;
    }
    if (tokenizer->unread) {
        tokenizer->unread->on_note = on_note;
        tokenizer->unread->user = user;
    }
    *out = tokenizer;
    return ATTN_OK;
}
