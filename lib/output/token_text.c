/* token_text.c - see token_text.h. */
#include "output/token_text.h"

#include "base/escape.h"
#include "base/memory.h"

static enum attn_status make(struct attn_token_texts *texts, const char *const *tokens,
                             const size_t *sizes, size_t n, struct attn_error *err)
{
    if (!tokens)
        return ATTN_OK;
    texts->ends = attn_alloc(n, sizeof *texts->ends, err);
    if (!texts->ends)
        return ATTN_NO_MEMORY;
    texts->n = n;
    for (size_t p = 0; p < n; p++) {
        attn_escape_append(&texts->bytes, tokens[p], sizes[p]);
        texts->ends[p] = texts->bytes.size;
    }
    return attn_buffer_check(&texts->bytes, err);
}

enum attn_status attn_token_texts_init(struct attn_token_texts *texts,
                                       const struct attn_labels *run, struct attn_error *err)
{
    return make(texts, run->tokens, run->token_sizes,
                attn_selection_dims(run->selection)->n_position, err);
}

enum attn_status attn_token_texts_init_source(struct attn_token_texts *texts,
                                              const struct attn_labels *run, struct attn_error *err)
{
    return make(texts, run->source_tokens, run->source_token_sizes,
                attn_selection_dims(run->selection)->n_source, err);
}

const char *attn_token_text(const struct attn_token_texts *texts, size_t position, size_t *size)
{
    size_t begin = texts->n > 0 && position > 0 ? texts->ends[position - 1] : 0;

    *size = texts->n > 0 ? texts->ends[position] - begin : 0;
    return *size > 0 ? texts->bytes.data + begin : "";
}

void attn_token_texts_release(struct attn_token_texts *texts)
{
    attn_buffer_release(&texts->bytes);
    attn_free(texts->ends);
    *texts = (struct attn_token_texts){0};
}

bool attn_token_is_added(const struct attn_labels *run, size_t position)
{
    return position < run->n_front ||
           position + run->n_back >= attn_selection_dims(run->selection)->n_position;
}
