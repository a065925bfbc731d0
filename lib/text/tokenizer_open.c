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

/* Sets up TOKENIZER from the files of SOURCE. */
static enum attn_status read_files(struct attn_tokenizer *tokenizer,
                                   const struct attn_source *source, struct attn_error *err)
{
    const bool is_json_given = is_overridden(source, "tokenizer.json");
    const bool is_vocab_given = is_overridden(source, "vocab.json");
    /* tokenizer.json comes first, unless another vocab.json was asked for. */
    const bool is_json =
        attn_source_has_part(source, "tokenizer.json") && (is_json_given || !is_vocab_given);

    /* A file that was named and is missing is reported as such. */
    if (!is_json && !attn_source_has_part(source, "vocab.json") && !is_vocab_given &&
        !is_json_given)
        return attn_error_set(
            err, ATTN_IO, "'%s' has no tokenizer, expected tokenizer.json or vocab.json",
            attn_quote_string(source->directory ? source->directory : source->name).text);
    ATTN_TRY(is_json ? attn_tokenizer_json_read(tokenizer, source, err)
                     : attn_tokenizer_files_read(tokenizer, source, err));
    return attn_decoded_prepare(&tokenizer->decoded, tokenizer, err);
}

enum attn_status attn_tokenizer_open_lazily(const struct attn_source *source, attn_note_fn on_note,
                                            void *user, struct attn_tokenizer **out,
                                            struct attn_error *err)
{
    struct attn_tokenizer *tokenizer = attn_alloc(1, sizeof *tokenizer, err);
    enum attn_status status;

    if (!tokenizer)
        return ATTN_NO_MEMORY;
    status = read_files(tokenizer, source, err);
    if (status != ATTN_OK) {
        attn_tokenizer_free(tokenizer);
        return status;
    }
    if (tokenizer->unread) {
        tokenizer->unread->on_note = on_note;
        tokenizer->unread->user = user;
    }
    *out = tokenizer;
    return ATTN_OK;
}

const char *attn_tokenizer_note(const struct attn_tokenizer *tokenizer)
{
    const struct attn_unread *unread = tokenizer ? tokenizer->unread : NULL;

    if (!tokenizer || (unread && !atomic_load_explicit(&unread->is_over, memory_order_acquire)))
        return NULL;
    return tokenizer->note;
}

const char *attn_tokenizer_detail(const struct attn_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->detail : NULL;
}
