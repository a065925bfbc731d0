/*
 * ledger_parts.h - the files that results grow in, as checkpoints know them: how long each is, and
 * the SHA-256 of what it holds.
 *
 *     struct attn_ledger_parts *parts;
 *     attn_ledger_parts_open(records, cancel, &parts, &err);
 *     attn_ledger_parts_hold(parts, extents, &is_held, &err);   // to resume: of each checkpoint
 *     attn_ledger_parts_rewind(parts);                          // to the last one that was held
 *     attn_ledger_parts_measure(parts, records, false, extents, &err); // after a flush
 *     attn_ledger_parts_measure(parts, records, true, extents, &err);  // of the whole files
 *     attn_ledger_parts_free(parts);
 *
 * Each byte is read and hashed once, when the first checkpoint after it is taken. Bytes at the
 * beginning of a file that are written again at its end (attn_records_part) are left out until
 * then.
 */
#ifndef ATTN_BATCH_LEDGER_PARTS_H
#define ATTN_BATCH_LEDGER_PARTS_H

#include "batch/records_internal.h"
#include "records/digest.h"

/* What a file holds at one moment. */
struct attn_ledger_extent {
    uint64_t size;                  /* bytes */
    char hex[ATTN_DIGEST_HEX_SIZE]; /* SHA-256 of them */
};

struct attn_ledger_parts;

/* Opens the parts of RECORDS to be read. CANCEL not 0 ends _hold early, and _measure of what is
 * finished, with ATTN_CANCELED, but no other: a checkpoint is taken when a signal has come. */
enum attn_status attn_ledger_parts_open(const struct attn_records *records,
                                        const volatile sig_atomic_t *cancel,
                                        struct attn_ledger_parts **parts, struct attn_error *err);
void attn_ledger_parts_free(struct attn_ledger_parts *parts); /* NULL is allowed */

/* How many there are. */
size_t attn_ledger_parts_n(const struct attn_ledger_parts *parts);

/* Whether the parts begin with what EXTENTS [n] say, which are no shorter than those before. */
enum attn_status attn_ledger_parts_hold(struct attn_ledger_parts *parts,
                                        const struct attn_ledger_extent *extents, bool *is_held,
                                        struct attn_error *err);

/* The path of a part that did not begin with what an extent said, and *size, bytes within which it
 * differs; NULL: all did. */
const char *attn_ledger_parts_damaged(const struct attn_ledger_parts *parts, uint64_t *size);

/* Goes back to the extents that were held last, or to the beginning. */
void attn_ledger_parts_rewind(struct attn_ledger_parts *parts);

/* Stores what the parts of RECORDS hold now in EXTENTS [n]; where they ARE_FINISHED, with all of
 * their bytes. */
enum attn_status attn_ledger_parts_measure(struct attn_ledger_parts *parts,
                                           const struct attn_records *records, bool are_finished,
                                           struct attn_ledger_extent *extents,
                                           struct attn_error *err);

#endif
