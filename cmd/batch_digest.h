/*
 * batch_digest.h - SHA-256 of files, one after the other, beside other work.
 *
 *     struct batch_digest items[] = {{.path = "model.safetensors", .end = BATCH_DIGEST_TO_END}};
 *     struct batch_digests digests = {.items = items, .n = 1};
 *     batch_digests_start(&digests);                 // on a thread of its own
 *     ...
 *     batch_digests_wait(&digests, &err);            // items[0].hex
 */
#ifndef CMD_BATCH_DIGEST_H
#define CMD_BATCH_DIGEST_H

#include "attn.h"
#include "tool.h"

#include <nettle/sha2.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BATCH_DIGEST_TO_END UINT64_MAX

enum { BATCH_DIGEST_HEX_SIZE = 2 * SHA256_DIGEST_SIZE + 1 };

/* Bytes of a file, or of memory where there is no path. */
struct batch_digest {
    const char *path; /* borrowed; NULL: of memory */
    uint64_t begin;   /* of a file: the first byte, and the one behind the last */
    uint64_t end;
    const void *bytes; /* [size] of memory; borrowed */
    size_t size;

    uint64_t n_byte;                 /* how many there were */
    char hex[BATCH_DIGEST_HEX_SIZE]; /* of these, once all is done */
};

/* Several of them. The first three are the caller's; they and the items stay in place. */
struct batch_digests {
    struct batch_digest *items; /* [n] borrowed */
    size_t n;
    const volatile sig_atomic_t *cancel; /* not 0: end early; or NULL */

    atomic_bool is_unwanted; /* end early */
    atomic_bool is_done;     /* all were read to their ends */
    struct attn_thread thread;
    bool has_thread;
    struct attn_error err; /* why it failed */
};

/* Reads one file to its end, on this thread; CANCEL not 0 ends it early, with ATTN_CANCELED. */
enum attn_status batch_digest_file(struct batch_digest *digest, const volatile sig_atomic_t *cancel,
                                   struct attn_error *err);

/* Begins on a thread of its own, or where there can be none, does it all. */
void batch_digests_start(struct batch_digests *digests);

/* Waits for the end. ATTN_IO when a file cannot be read, ATTN_CANCELED when it ended early. */
enum attn_status batch_digests_wait(struct batch_digests *digests, struct attn_error *err);

/* Ends it early; does nothing where it was not started or was waited for. */
void batch_digests_stop(struct batch_digests *digests);

/* The digest of BYTES [size]. */
void batch_digest_bytes(const void *bytes, size_t size, char hex[BATCH_DIGEST_HEX_SIZE]);

/* The digest of all that CONTEXT was told, in hexadecimal. It can be told more. */
void batch_digest_hex(const struct sha256_ctx *context, char hex[BATCH_DIGEST_HEX_SIZE]);

#endif
