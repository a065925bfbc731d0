/*
 * digest.h - SHA-256 of files and of memory, and flags that end such work early.
 *
 *     struct attn_stop stop = {.cancel = cancel};
 *     char hex[ATTN_DIGEST_HEX_SIZE];
 *     attn_digest_file("results.jsonl", &stop, &n_byte, hex, &err);
 */
#ifndef ATTN_STREAM_DIGEST_H
#define ATTN_STREAM_DIGEST_H

#include "base/status.h"
#include "kernels/sha256.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ATTN_DIGEST_HEX_SIZE = 2 * ATTN_SHA256_SIZE + 1 };

/* Flags that stop long operations. Borrowed; each may be NULL. */
struct attn_stop {
    const volatile sig_atomic_t *cancel; /* nonzero: canceled */
    const atomic_bool *is_unwanted;      /* true: the result is not needed any more */
};

bool attn_must_stop(const struct attn_stop *stop);

/* Sets and returns ATTN_CANCELED. */
enum attn_status attn_report_stopped(struct attn_error *err);

/* How far a file was read. Initialize the context with attn_sha256_init. */
struct attn_digest {
    uint64_t size;              /* bytes, including those that were left out */
    struct attn_sha256 context; /* of the other bytes */
};

/* Reads the file PATH by DESCRIPTOR from digest->size up to UNTIL, or to its end if it is shorter.
 * ATTN_CANCELED if STOP, which may be NULL, ended it. */
enum attn_status attn_digest_read(int descriptor, const char *path, uint64_t until,
                                  const struct attn_stop *stop, struct attn_digest *digest,
                                  struct attn_error *err);

/* Computes the digest of the file PATH, which has *N_BYTE bytes. ATTN_CANCELED if STOP ended it. */
enum attn_status attn_digest_file(const char *path, const struct attn_stop *stop, uint64_t *n_byte,
                                  char hex[ATTN_DIGEST_HEX_SIZE], struct attn_error *err);

void attn_digest_bytes(const void *bytes, size_t size, char hex[ATTN_DIGEST_HEX_SIZE]);

/* Returns the digest of the bytes in CONTEXT so far, in hexadecimal. CONTEXT may be updated on. */
void attn_digest_hex(const struct attn_sha256 *context, char hex[ATTN_DIGEST_HEX_SIZE]);

#endif
