/* batch_digest.c - see batch_digest.h. */
#include "cmd/batch_digest.h"

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PIECE = 1 << 18 };

void batch_digest_hex(const struct sha256_ctx *context, char hex[BATCH_DIGEST_HEX_SIZE])
{
    struct sha256_ctx ended = *context; /* nettle begins anew in the one that it ends */
    uint8_t bytes[SHA256_DIGEST_SIZE];
    sha256_digest(&ended, sizeof(bytes), bytes);
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
}

void batch_digest_bytes(const void *bytes, size_t size, char hex[BATCH_DIGEST_HEX_SIZE])
{
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, size, bytes);
    batch_digest_hex(&context, hex);
}

static bool must_end(const struct batch_digests *digests)
{
    return digests->is_unwanted || (digests->cancel && *digests->cancel);
}

static enum attn_status report_canceled(struct attn_error *err)
{
    return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
}

/* Takes the bytes of an open file. Returns 0, or errno. */
static int take_file(const struct batch_digests *digests, struct batch_digest *digest,
                     int descriptor, struct sha256_ctx *context)
{
    uint8_t *piece = malloc(PIECE);
    ssize_t n = 1;
    int problem = piece ? 0 : ENOMEM;
    while (problem == 0 && n != 0 && !must_end(digests)) {
        const uint64_t at = digest->begin + digest->n_byte, left = digest->end - at;
        n = pread(descriptor, piece, left < PIECE ? (size_t)left : PIECE, (off_t)at);
        if (n < 0 && errno != EINTR)
            problem = errno;
        if (n <= 0)
            continue;
        sha256_update(context, (size_t)n, piece);
        digest->n_byte += (uint64_t)n;
    }
    free(piece);
    return problem;
}

static void read_file(struct batch_digests *digests, struct batch_digest *digest,
                      struct sha256_ctx *context)
{
    const int descriptor = open(digest->path, O_RDONLY | O_CLOEXEC);
    const int problem = descriptor < 0 ? errno : take_file(digests, digest, descriptor, context);
    if (problem != 0)
        attn_error_errno(&digests->err, "read", digest->path, problem);
    if (descriptor >= 0)
        close(descriptor);
}

static void compute(struct batch_digests *digests, struct batch_digest *digest)
{
    struct sha256_ctx context;
    sha256_init(&context);
    digest->n_byte = digest->path ? 0 : digest->size;
    if (digest->path)
        read_file(digests, digest, &context);
    else
        sha256_update(&context, digest->size, digest->bytes);
    batch_digest_hex(&context, digest->hex);
}

enum attn_status batch_digest_file(struct batch_digest *digest, const volatile sig_atomic_t *cancel,
                                   struct attn_error *err)
{
    struct batch_digests one = {.items = digest, .n = 1, .cancel = cancel};
    compute(&one, digest);
    return must_end(&one) ? report_canceled(err) : attn_error_copy(err, &one.err);
}

static void *work(void *user)
{
    struct batch_digests *digests = user;
    for (size_t i = 0; i < digests->n; i++) {
        compute(digests, &digests->items[i]);
        if (must_end(digests)) /* it may lack its end */
            return NULL;
    }
    digests->is_done = true;
    return NULL;
}

void batch_digests_start(struct batch_digests *digests)
{
    digests->is_unwanted = false;
    digests->has_thread = attn_thread_start(work, digests, &digests->thread);
    if (!digests->has_thread)
        work(digests);
}

enum attn_status batch_digests_wait(struct batch_digests *digests, struct attn_error *err)
{
    if (digests->has_thread)
        attn_thread_join(&digests->thread);
    digests->has_thread = false;
    if (!digests->is_done)
        return report_canceled(err);
    return attn_error_copy(err, &digests->err);
}

void batch_digests_stop(struct batch_digests *digests)
{
    if (!digests->has_thread)
        return;
    digests->is_unwanted = true;
    attn_thread_join(&digests->thread);
    digests->has_thread = false;
}
