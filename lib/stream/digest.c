/* digest.c - see digest.h. */
#include "stream/digest.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { PIECE = 1 << 18 };

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

enum attn_status attn_digest_file(const char *path, const struct attn_stop *stop, uint64_t *n_byte,
                                  char hex[ATTN_DIGEST_HEX_SIZE], struct attn_error *err)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *piece = NULL;
    struct attn_sha256 context;
    enum attn_status status;
    ssize_t n = 1;

    if (descriptor < 0)
        return attn_error_errno(err, "read", path, errno);
    piece = attn_alloc_uninitialized(PIECE, 1, err);
    status = piece ? ATTN_OK : ATTN_NO_MEMORY;
    *n_byte = 0;
    attn_sha256_init(&context);
    while (status == ATTN_OK && n != 0) {
        n = pread(descriptor, piece, PIECE, (off_t)*n_byte);
        if (n > 0) {
            attn_sha256_update(&context, piece, (size_t)n);
            *n_byte += (uint64_t)n;
        }
        if (n < 0 && errno != EINTR)
            status = attn_error_errno(err, "read", path, errno);
        else if (attn_must_stop(stop)) /* the bytes may be incomplete */
            status = attn_report_stopped(err);
    }
    attn_digest_hex(&context, hex);
    attn_free(piece);
    close(descriptor);
    return status;
}
