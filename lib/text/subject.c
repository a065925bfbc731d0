/* subject.c - see subject.h. */
#include "text/subject.h"

#include "base/memory.h"
#include "base/utf8.h"

/* Appends BYTES to the copy, standing for FROM_SIZE bytes of the given text at FROM. */
static enum attn_status splice(struct attn_subject *subject, const char *bytes, size_t size,
                               size_t from, size_t from_size, struct attn_error *err)
{
    void *splices = subject->splices;
    enum attn_status status = attn_grow(&splices, &subject->capacity, subject->n_splice + 1,
                                        sizeof *subject->splices, err);

    subject->splices = splices;
    if (status != ATTN_OK)
        return status;
    subject->splices[subject->n_splice++] =
        (struct attn_splice){subject->copy.size, size, from, from_size};
    attn_buffer_append(&subject->copy, bytes, size);
    return attn_buffer_check(&subject->copy, err);
}

/* Appends TEXT with every maximal subpart of an invalid sequence replaced. */
static enum attn_status append_replaced(struct attn_subject *subject, const char *text, size_t size,
                                        struct attn_error *err)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

    for (size_t at = 0; at < size;) {
        size_t n_valid = attn_utf8_valid_length(text + at, size - at);
        uint32_t n_bad;
        enum attn_status status;

        attn_buffer_append(&subject->copy, text + at, n_valid);
        at += n_valid;
        if (at == size)
            break;
        (void)attn_utf8_decode(text + at, size - at, &n_bad);
        status = splice(subject, replacement, sizeof replacement - 1, at, n_bad, err);
        if (status != ATTN_OK)
            return status;
        at += n_bad;
    }
    return attn_buffer_check(&subject->copy, err);
}

enum attn_status attn_subject_set(struct attn_subject *subject, const char *text, size_t size,
                                  struct attn_subject_change change, struct attn_error *err)
{
    bool needs_space = change.prefix && size > 0 && text[0] != ' ';
    enum attn_status status = ATTN_OK;

    subject->n_splice = 0;
    subject->text = text;
    subject->size = size;
    if (!needs_space && !change.replace)
        return ATTN_OK;
    attn_buffer_reset(&subject->copy);
    if (needs_space)
        status = splice(subject, " ", 1, 0, 0, err);
    if (status == ATTN_OK && change.replace)
        status = append_replaced(subject, text, size, err);
    else if (status == ATTN_OK)
        attn_buffer_append(&subject->copy, text, size);
    if (status == ATTN_OK)
        status = attn_buffer_check(&subject->copy, err);
    subject->text = subject->copy.data;
    subject->size = subject->copy.size;
    return status;
}

void attn_subject_release(struct attn_subject *subject)
{
    attn_buffer_release(&subject->copy);
    attn_free(subject->splices);
    *subject = (struct attn_subject){0};
}

/* The last splice that begins before LIMIT, or NULL. */
static const struct attn_splice *find_splice(const struct attn_subject *subject, size_t limit)
{
    size_t low = 0, high = subject->n_splice;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (subject->splices[middle].at < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &subject->splices[low - 1] : NULL;
}

size_t attn_subject_begin(const struct attn_subject *subject, size_t offset)
{
    const struct attn_splice *last = find_splice(subject, offset + 1);

    if (!last)
        return offset;
    if (offset - last->at < last->size)
        return last->from;
    return last->from + last->from_size + (offset - last->at - last->size);
}

size_t attn_subject_end(const struct attn_subject *subject, size_t offset)
{
    const struct attn_splice *last = find_splice(subject, offset);

    if (!last)
        return offset;
    if (offset - last->at < last->size)
        return last->from + last->from_size;
    return last->from + last->from_size + (offset - last->at - last->size);
}

void attn_subject_map(const struct attn_subject *subject, size_t base, size_t first,
                      struct attn_encoding *encoding)
{
    if (subject->n_splice == 0 && base == 0)
        return;
    for (size_t i = first; i < encoding->n; i++) {
        encoding->begin[i] = base + attn_subject_begin(subject, encoding->begin[i]);
        encoding->end[i] = base + attn_subject_end(subject, encoding->end[i]);
    }
}
