/* rewrite.c - helpers for stages that change texts: mapping characters back to the slice, and
 * scratch memory. */
#include "tokenizer/stages/stages_internal.h"

#include "base/memory.h"
#include "base/text/utf8.h"

#include <string.h>

/* Passes over one character of the slice. Returns its size, or 0 at the end. */
static size_t skip_character(struct attn_rewrite *rewrite)
{
    const size_t left = rewrite->size - rewrite->at;
    uint32_t code_point;
    size_t length;

    if (left == 0)
        return 0;
    length = attn_utf8_decode(rewrite->text + rewrite->at, left, &code_point);
    rewrite->before = rewrite->at;
    rewrite->at += length > 0 ? length : 1;
    return length;
}

void attn_rewrite_put(struct attn_rewrite *rewrite, uint32_t code_point, int change)
{
    char out[4];
    const size_t size = attn_utf8_encode(code_point, out);
    size_t from, length;

    if (change > 0) {
        attn_layer_put(rewrite->layer, out, size, rewrite->before, rewrite->at - rewrite->before);
        return;
    }
    from = rewrite->at;
    length = skip_character(rewrite);
    if (length == size && memcmp(out, rewrite->text + from, size) == 0)
        attn_layer_keep(rewrite->layer, from, size);
    else
        attn_layer_put(rewrite->layer, out, size, from, length);
    for (int i = change; i < 0; i++)
        (void)skip_character(rewrite);
}

enum attn_status attn_match_scratch_create(const struct attn_regex *pattern, size_t n, void **out,
                                           struct attn_error *err)
{
    struct attn_match_scratch *scratch;

    ATTN_TRY(ATTN_ALLOC(scratch, 1, err));
    *out = scratch;
    scratch->layer.n_left = attn_layer_limit(n);
    return attn_match_create(pattern, n, &scratch->match, err);
}

void attn_match_scratch_free(void *data)
{
    struct attn_match_scratch *scratch = data;

    attn_match_free(scratch->match);
    attn_buffer_release(&scratch->layer.copy);
    attn_free(scratch->layer.splices);
    attn_free(scratch);
}

bool attn_match_scratch_begin(struct attn_match_scratch *scratch, const struct attn_walk *walk,
                              struct attn_slice slice)
{
    const char *text = attn_slice_text(slice);
    const size_t size = attn_slice_size(slice);

    if (!walk->is_utf8 && attn_utf8_valid_length(text, size) != size)
        return false;
    attn_match_watch(scratch->match, walk->options->cancel);
    attn_layer_begin(&scratch->layer, slice);
    return true;
}
