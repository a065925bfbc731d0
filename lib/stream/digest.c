/* digest.c - see digest.h. */
#include "stream/digest.h"

#include "base/status_internal.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };

bool attn_must_stop(const struct attn_stop *stop)
{
    return attn_is_canceled(stop->cancel) || (stop->is_unwanted && *stop->is_unwanted);
}

enum attn_status attn_report_stopped(struct attn_error *err)
{
    return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
}

void attn_digest_hex(const struct attn_sha256 *context, char hex[ATTN_DIGEST_HEX_SIZE])
{
    uint8_t bytes[ATTN_SHA256_SIZE];

    attn_sha256_digest(context, bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

void attn_digest_bytes(const void *bytes, size_t size, char hex[ATTN_DIGEST_HEX_SIZE])
{
    struct attn_sha256 context;

    attn_sha256_init(&context);
    attn_sha256_update(&context, bytes, size);
    attn_digest_hex(&context, hex);
}

enum attn_status attn_digest_read(int descriptor, const char *path, uint64_t until,
                                  const struct attn_stop *stop, struct attn_digest *digest,
                                  struct attn_error *err)
{
    unsigned char piece[PIECE];
    ssize_t n = 1;

    while (digest->size < until && n != 0) {
        const uint64_t left = until - digest->size;

        if (stop && attn_must_stop(stop))
            return attn_report_stopped(err);
        n = pread(descriptor, piece, left < PIECE ? (size_t)left : PIECE, (off_t)digest->size);
        if (n < 0 && errno != EINTR)
            return attn_error_errno(err, "read", path, errno);
        if (n <= 0)
            continue;
        attn_sha256_update(&digest->context, piece, (size_t)n);
        digest->size += (uint64_t)n;
    }
    return ATTN_OK;
}

enum attn_status attn_digest_file(const char *path, const struct attn_stop *stop, uint64_t *n_byte,
                                  char hex[ATTN_DIGEST_HEX_SIZE], struct attn_error *err)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct attn_digest digest = {.size = 0};
    enum attn_status status;

    if (descriptor < 0)
        return attn_error_errno(err, "read", path, errno);
    attn_sha256_init(&digest.context);
    status = attn_digest_read(descriptor, path, UINT64_MAX, stop, &digest, err);
    attn_digest_hex(&digest.context, hex);
    *n_byte = digest.size;
    close(descriptor);
    return status;
}
