/* batch_parts.c - see batch_parts.h. */
#include "cmd/batch_parts.h"

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 18 };

/* How far a file was read. */
struct place {
    uint64_t size; /* bytes, those that are left out with them */
    struct sha256_ctx context;
};

struct part {
    char *path;     /* owns */
    int descriptor; /* owns */
    uint64_t begin; /* bytes before it are left out */
    struct place now, held;
};

struct batch_parts {
    struct part *items; /* [n] owns */
    size_t n;
    uint8_t *piece; /* [PIECE] owns */
    const volatile sig_atomic_t *cancel;
    size_t damaged;        /* index; n: none */
    uint64_t damaged_size; /* it differs within so many bytes */
};

/* --- Opening ---------------------------------------------------------------------------------- */

static enum attn_status open_part(struct part *part, const struct attn_records_part *of,
                                  struct attn_error *err)
{
    part->begin = of->n_changing;
    part->now.size = part->held.size = part->begin;
    sha256_init(&part->now.context);
    part->held = part->now;
    part->path = strdup(of->path);
    if (!part->path)
        return attn_error_no_memory(err);
    part->descriptor = open(part->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return part->descriptor < 0 ? attn_error_errno(err, "read", part->path, errno) : ATTN_OK;
}

static enum attn_status open_all(struct batch_parts *parts, const struct attn_records *records,
                                 struct attn_error *err)
{
    struct attn_records_part part;
    size_t n = 0;
    while (attn_records_part(records, n, &part))
        n++;
    parts->items = calloc(n + 1, sizeof *parts->items);
    parts->piece = malloc(PIECE);
    if (!parts->items || !parts->piece)
        return attn_error_no_memory(err);
    for (; parts->n < n; parts->n++)
        parts->items[parts->n].descriptor = -1;
    enum attn_status status = ATTN_OK;
    for (size_t i = 0; i < n && status == ATTN_OK && attn_records_part(records, i, &part); i++)
        status = open_part(&parts->items[i], &part, err);
    parts->damaged = n;
    return status;
}

enum attn_status batch_parts_open(const struct attn_records *records,
                                  const volatile sig_atomic_t *cancel, struct batch_parts **parts,
                                  struct attn_error *err)
{
    struct batch_parts *made = calloc(1, sizeof *made);
    if (!made)
        return attn_error_no_memory(err);
    made->cancel = cancel;
    enum attn_status status = open_all(made, records, err);
    if (status == ATTN_OK)
        *parts = made;
    else
        batch_parts_close(made);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

void batch_parts_close(struct batch_parts *parts)
{
    if (!parts)
        return;
    for (size_t i = 0; i < parts->n; i++) {
        free(parts->items[i].path);
        if (parts->items[i].descriptor >= 0)
            close(parts->items[i].descriptor);
    }
    free(parts->items);
    free(parts->piece);
    free(parts);
}

size_t batch_parts_n(const struct batch_parts *parts)
{
    return parts->n;
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Reads a part up to SIZE; *has_all is false when it ends before. */
static enum attn_status advance(struct batch_parts *parts, struct part *part, uint64_t size,
                                const volatile sig_atomic_t *cancel, bool *has_all,
                                struct attn_error *err)
{
    struct place *now = &part->now;
    ssize_t n = 1;
    while (now->size < size && n != 0) {
        const uint64_t left = size - now->size;
        if (cancel && *cancel)
            return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
        n = pread(part->descriptor, parts->piece, left < PIECE ? (size_t)left : PIECE,
                  (off_t)now->size);
        if (n < 0 && errno != EINTR)
            return attn_error_errno(err, "read", part->path, errno);
        if (n <= 0)
            continue;
        sha256_update(&now->context, (size_t)n, parts->piece);
        now->size += (uint64_t)n;
    }
    *has_all = now->size >= size;
    return ATTN_OK;
}

enum attn_status batch_parts_hold(struct batch_parts *parts, const struct batch_extent *extents,
                                  bool *is_held, struct attn_error *err)
{
    *is_held = true;
    for (size_t i = 0; i < parts->n && *is_held; i++) {
        struct part *part = &parts->items[i];
        char hex[BATCH_DIGEST_HEX_SIZE];
        const enum attn_status status =
            advance(parts, part, extents[i].size, parts->cancel, is_held, err);
        if (status != ATTN_OK)
            return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
        batch_digest_hex(&part->now.context, hex);
        *is_held =
            *is_held && part->now.size == extents[i].size && strcmp(hex, extents[i].hex) == 0;
        if (!*is_held) {
            parts->damaged = i;
            parts->damaged_size = extents[i].size;
        }
    }
    for (size_t i = 0; i < parts->n && *is_held; i++)
        parts->items[i].held = parts->items[i].now;
    return ATTN_OK;
}

const char *batch_parts_damaged(const struct batch_parts *parts, uint64_t *size)
{
    *size = parts->damaged_size;
    return parts->damaged < parts->n ? parts->items[parts->damaged].path : NULL;
}

void batch_parts_rewind(struct batch_parts *parts)
{
    for (size_t i = 0; i < parts->n; i++)
        parts->items[i].now = parts->items[i].held;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static enum attn_status measure(struct batch_parts *parts, const struct attn_records *records,
                                struct batch_extent *extents, const volatile sig_atomic_t *cancel,
                                struct attn_error *err)
{
    struct attn_records_part of;
    enum attn_status status = ATTN_OK;
    for (size_t i = 0; i < parts->n && attn_records_part(records, i, &of); i++) {
        struct part *part = &parts->items[i];
        bool has_all = true;
        status = advance(parts, part, of.size, cancel, &has_all, err);
        if (status == ATTN_OK && !has_all)
            status = attn_error_set(err, ATTN_IO, "'%s' lost its end while it was written",
                                    attn_quote_string(part->path).text);
        if (status != ATTN_OK)
            break;
        extents[i].size = of.size;
        batch_digest_hex(&part->now.context, extents[i].hex);
    }
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

enum attn_status batch_parts_measure(struct batch_parts *parts, const struct attn_records *records,
                                     struct batch_extent *extents, struct attn_error *err)
{
    return measure(parts, records, extents, NULL, err);
}

enum attn_status batch_parts_finish(struct batch_parts *parts, const struct attn_records *records,
                                    struct batch_extent *extents, struct attn_error *err)
{
    for (size_t i = 0; i < parts->n; i++) {
        struct part *part = &parts->items[i];
        if (part->begin == 0)
            continue;
        part->begin = 0;
        part->now.size = 0;
        sha256_init(&part->now.context);
    }
    return measure(parts, records, extents, parts->cancel, err);
}
