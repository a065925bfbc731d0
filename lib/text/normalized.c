/* normalized.c - see normalized.h. */
#include "text/normalized.h"

#include "base/memory.h"
#include "base/utf8.h"

/* Appends BYTES to the copy, standing for FROM_SIZE bytes of the given text at FROM. */
static enum attn_status splice(struct attn_normalized *normalized, const char *bytes, size_t size,
                               size_t from, size_t from_size, struct attn_error *err)
{
    struct attn_splice *last =
        normalized->n_splice > 0 ? &normalized->splices[normalized->n_splice - 1] : NULL;
    void *splices = normalized->splices;
    enum attn_status status;

    attn_buffer_append(&normalized->copy, bytes, size);
    if (last && last->size == size && last->from_size == from_size &&
        last->from + last->count * from_size == from) {
        last->count++;
        return attn_buffer_check(&normalized->copy, err);
    }
    status = attn_grow(&splices, &normalized->capacity, normalized->n_splice + 1,
                       sizeof *normalized->splices, err);

    normalized->splices = splices;
    if (status != ATTN_OK)
        return status;
    normalized->splices[normalized->n_splice++] =
        (struct attn_splice){.at = normalized->copy.size - size,
                             .from = from,
                             .count = 1,
                             .size = (unsigned char)size,
                             .from_size = (unsigned char)from_size};
    return attn_buffer_check(&normalized->copy, err);
}

/* Appends TEXT with every maximal subpart of an invalid sequence replaced. */
static enum attn_status append_replaced(struct attn_normalized *normalized, const char *text,
                                        size_t size, struct attn_error *err)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

    for (size_t at = 0; at < size;) {
        size_t n_valid = attn_utf8_valid_length(text + at, size - at);
        uint32_t n_bad;
        enum attn_status status;

        attn_buffer_append(&normalized->copy, text + at, n_valid);
        at += n_valid;
        if (at == size)
            break;
        (void)attn_utf8_decode(text + at, size - at, &n_bad);
        status = splice(normalized, replacement, sizeof replacement - 1, at, n_bad, err);
        if (status != ATTN_OK)
            return status;
        at += n_bad;
    }
    return attn_buffer_check(&normalized->copy, err);
}

enum attn_status attn_normalized_set(struct attn_normalized *normalized, const char *text,
                                     size_t size, struct attn_normalization how,
                                     struct attn_error *err)
{
    bool needs_space = how.adds_space && size > 0 && text[0] != ' ';
    enum attn_status status = ATTN_OK;

    normalized->n_splice = 0;
    normalized->text = text;
    normalized->size = size;
    if (!needs_space && !how.replaces_invalid)
        return ATTN_OK;
    attn_buffer_reset(&normalized->copy);
    if (needs_space)
        status = splice(normalized, " ", 1, 0, 0, err);
    if (status == ATTN_OK && how.replaces_invalid)
        status = append_replaced(normalized, text, size, err);
    else if (status == ATTN_OK)
        attn_buffer_append(&normalized->copy, text, size);
    if (status == ATTN_OK)
        status = attn_buffer_check(&normalized->copy, err);
    normalized->text = normalized->copy.data;
    normalized->size = normalized->copy.size;
    return status;
}

void attn_normalized_release(struct attn_normalized *normalized)
{
    attn_buffer_release(&normalized->copy);
    attn_free(normalized->splices);
    *normalized = (struct attn_normalized){0};
}

/* The last splice that begins before LIMIT, or NULL. */
static const struct attn_splice *find_splice(const struct attn_normalized *normalized, size_t limit)
{
    size_t low = 0, high = normalized->n_splice;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (normalized->splices[middle].at < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &normalized->splices[low - 1] : NULL;
}

/* The offset in the text of what lies at OFFSET, after LAST began or, if LAST is NULL, before any
 * splice. Within a replacement it is where that begins, or when IS_END where it ends. */
static size_t text_offset(const struct attn_splice *last, size_t offset, bool is_end)
{
    size_t size;

    if (!last)
        return offset;
    offset -= last->at;
    size = last->count * last->size;
    if (offset < size)
        return last->from + (offset + (is_end ? last->size - 1 : 0)) / last->size * last->from_size;
    return last->from + last->count * last->from_size + (offset - size);
}

size_t attn_normalized_begin(const struct attn_normalized *normalized, size_t offset)
{
    return text_offset(find_splice(normalized, offset + 1), offset, false);
}

size_t attn_normalized_end(const struct attn_normalized *normalized, size_t offset)
{
    return text_offset(find_splice(normalized, offset), offset, true);
}

void attn_normalized_map_offsets(const struct attn_normalized *normalized, size_t base,
                                 size_t first, struct attn_encoding *encoding)
{
    if (normalized->n_splice == 0 && base == 0)
        return;
    for (size_t i = first; i < encoding->n; i++) {
        encoding->begin[i] = base + attn_normalized_begin(normalized, encoding->begin[i]);
        encoding->end[i] = base + attn_normalized_end(normalized, encoding->end[i]);
    }
}
