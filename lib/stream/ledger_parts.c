/* ledger_parts.c - see ledger_parts.h. */
#include "stream/ledger_parts.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "stream/records_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct part {
    char *path;     /* owns */
    int descriptor; /* owns */
    uint64_t begin; /* bytes at the beginning that are left out */
    struct attn_digest now, held;
};

struct attn_ledger_parts {
    struct part *items; /* [n] owns */
    size_t n;
    struct attn_stop stop;
    size_t damaged;        /* index of the damaged part; n: none */
    uint64_t damaged_size; /* the damaged part differs within so many bytes */
};

static enum attn_status open_all(struct attn_ledger_parts *parts,
                                 const struct attn_records *records, struct attn_error *err)
{
    struct attn_records_part of;
    size_t n = 0;

    while (attn_records_part(records, n, &of))
        n++;
    parts->items = attn_alloc(n, sizeof *parts->items, err);
    if (!parts->items)
        return ATTN_NO_MEMORY;
    parts->damaged = n;
    while (parts->n < n && attn_records_part(records, parts->n, &of)) {
        struct part *part = &parts->items[parts->n++];

        part->descriptor = -1;
        part->begin = part->now.size = of.n_changing;
        attn_sha256_init(&part->now.context);
        part->held = part->now;
        part->path = attn_strndup(of.path, strlen(of.path), err);
        if (!part->path)
            return ATTN_NO_MEMORY;
        part->descriptor = open(part->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (part->descriptor < 0)
            return attn_error_errno(err, "read", part->path, errno);
    }
    return ATTN_OK;
}

enum attn_status attn_ledger_parts_open(const struct attn_records *records,
                                        const volatile sig_atomic_t *cancel,
                                        struct attn_ledger_parts **parts, struct attn_error *err)
{
    struct attn_ledger_parts *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->stop.cancel = cancel;
    status = open_all(made, records, err);
    if (status == ATTN_OK)
        *parts = made;
    else
        attn_ledger_parts_free(made);
    return status;
}

void attn_ledger_parts_free(struct attn_ledger_parts *parts)
{
    if (!parts)
        return;
    for (size_t i = 0; i < parts->n; i++) {
        attn_free(parts->items[i].path);
        if (parts->items[i].descriptor >= 0)
            close(parts->items[i].descriptor);
    }
    attn_free(parts->items);
    attn_free(parts);
}

size_t attn_ledger_parts_n(const struct attn_ledger_parts *parts)
{
    return parts->n;
}

enum attn_status attn_ledger_parts_hold(struct attn_ledger_parts *parts,
                                        const struct attn_ledger_extent *extents, bool *is_held,
                                        struct attn_error *err)
{
    *is_held = true;
    for (size_t i = 0; i < parts->n && *is_held; i++) {
        struct part *part = &parts->items[i];
        char hex[ATTN_DIGEST_HEX_SIZE];

        ATTN_TRY(attn_digest_read(part->descriptor, part->path, extents[i].size, &parts->stop,
                                  &part->now, err));
        attn_digest_hex(&part->now.context, hex);
        *is_held = part->now.size == extents[i].size && strcmp(hex, extents[i].hex) == 0;
        if (!*is_held) {
            parts->damaged = i;
            parts->damaged_size = extents[i].size;
        }
    }
    for (size_t i = 0; i < parts->n && *is_held; i++)
        parts->items[i].held = parts->items[i].now;
    return ATTN_OK;
}

const char *attn_ledger_parts_damaged(const struct attn_ledger_parts *parts, uint64_t *size)
{
    *size = parts->damaged_size;
    return parts->damaged < parts->n ? parts->items[parts->damaged].path : NULL;
}

void attn_ledger_parts_rewind(struct attn_ledger_parts *parts)
{
    for (size_t i = 0; i < parts->n; i++)
        parts->items[i].now = parts->items[i].held;
}

enum attn_status attn_ledger_parts_measure(struct attn_ledger_parts *parts,
                                           const struct attn_records *records, bool are_finished,
                                           struct attn_ledger_extent *extents,
                                           struct attn_error *err)
{
    const struct attn_stop *stop = are_finished ? &parts->stop : NULL;
    struct attn_records_part of;

    for (size_t i = 0; i < parts->n && attn_records_part(records, i, &of); i++) {
        struct part *part = &parts->items[i];

        if (are_finished && part->begin > 0) { /* bytes that were left out are now hashed, too */
            part->begin = 0;
            part->now.size = 0;
            attn_sha256_init(&part->now.context);
        }
        ATTN_TRY(attn_digest_read(part->descriptor, part->path, of.size, stop, &part->now, err));
        if (part->now.size < of.size)
            return attn_error_set(err, ATTN_IO, "'%s' lost its end while it was written",
                                  attn_quote_string(part->path).text);
        extents[i].size = of.size;
        attn_digest_hex(&part->now.context, extents[i].hex);
    }
    return ATTN_OK;
}
