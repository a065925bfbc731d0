/*
 * ledger_parts.h - computes for checkpoints the size and the SHA-256 of the growing files of
 * results.
 *
 *     struct attn_ledger_parts *parts;
 *     attn_ledger_parts_open(records, cancel, &parts, &err);
 *     attn_ledger_parts_hold(parts, extents, &is_held, &err);   // to resume: for each checkpoint
 *     attn_ledger_parts_rewind(parts);                          // to the last one that matched
 *     attn_ledger_parts_measure(parts, records, false, extents, &err); // after a flush
 *     attn_ledger_parts_measure(parts, records, true, extents, &err);  // of the whole files
 *     attn_ledger_parts_free(parts);
 *
 * Each byte is read and hashed once, at the first checkpoint after it was written. Bytes at the
 * beginning of a file that are overwritten at the end of the run (attn_records_part) are left out
 * until then.
 */
#ifndef ATTN_STREAM_LEDGER_PARTS_H
#define ATTN_STREAM_LEDGER_PARTS_H

#include "stream/digest.h"
#include "stream/records_internal.h"

/* Size and digest of a file at one moment. */
struct attn_ledger_extent {
    uint64_t size;                  /* bytes */
    char hex[ATTN_DIGEST_HEX_SIZE]; /* SHA-256 of the bytes */
};

struct attn_ledger_parts;

/* Opens the parts of RECORDS for reading. A nonzero CANCEL ends _hold, and _measure of finished
 * files, with ATTN_CANCELED. It does not end other calls, because a checkpoint is taken after a
 * signal. */
enum attn_status attn_ledger_parts_open(const struct attn_records *records,
                                        const volatile sig_atomic_t *cancel,
                                        struct attn_ledger_parts **parts, struct attn_error *err);
void attn_ledger_parts_free(struct attn_ledger_parts *parts); /* NULL is allowed */

size_t attn_ledger_parts_n(const struct attn_ledger_parts *parts);

/* Sets *IS_HELD to true if the parts begin with the bytes that EXTENTS [n] describe. The extents
 * must not be shorter than those of the call before. */
enum attn_status attn_ledger_parts_hold(struct attn_ledger_parts *parts,
                                        const struct attn_ledger_extent *extents, bool *is_held,
                                        struct attn_error *err);

/* Returns the path of a part that did not match its extent, and sets *SIZE to the number of bytes
 * within which it differs; NULL if all matched. */
const char *attn_ledger_parts_damaged(const struct attn_ledger_parts *parts, uint64_t *size);

/* Rewinds to the extents that matched last, or to the beginning. */
void attn_ledger_parts_rewind(struct attn_ledger_parts *parts);

/* Stores the current extents of the parts of RECORDS in EXTENTS [n]; if ARE_FINISHED, of the
 * complete files. */
enum attn_status attn_ledger_parts_measure(struct attn_ledger_parts *parts,
                                           const struct attn_records *records, bool are_finished,
                                           struct attn_ledger_extent *extents,
                                           struct attn_error *err);

#endif
