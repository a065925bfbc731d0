/*
 * batch_parts.h - the files that results grow in, as checkpoints know them: how long each is, and the
 * SHA-256 of what it holds.
 *
 *     struct batch_parts *parts;
 *     batch_parts_open(records, cancel, &parts, &err);
 *     batch_parts_hold(parts, extents, &is_held, &err);   // to go on: of each checkpoint in turn
 *     batch_parts_rewind(parts);                          // back to the last one that was held
 *     batch_parts_measure(parts, records, extents, &err); // of each checkpoint, after a flush
 *     batch_parts_finish(parts, records, extents, &err);  // of the whole files, finished
 *     batch_parts_close(parts);
 *
 * Each byte is read and hashed once, when the first checkpoint after it is taken. Bytes at the
 * beginning of a file that are written again at its end (attn_records_part) are left out until then.
 */
#ifndef CMD_BATCH_PARTS_H
#define CMD_BATCH_PARTS_H

#include "cmd/batch_digest.h"

#include "attn.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What a file holds at one moment. */
struct batch_extent {
    uint64_t size;                   /* bytes */
    char hex[BATCH_DIGEST_HEX_SIZE]; /* SHA-256 of them */
};

struct batch_parts;

/* Opens the parts of RECORDS to be read. CANCEL not 0 ends
 * _hold and _finish early, with ATTN_CANCELED, but no _measure: a checkpoint is taken when a signal
 * has come. Errors of all calls are at the stage of the output. */
enum attn_status batch_parts_open(const struct attn_records *records,
                                  const volatile sig_atomic_t *cancel, struct batch_parts **parts,
                                  struct attn_error *err);
void batch_parts_close(struct batch_parts *parts); /* NULL is allowed */

/* How many there are. */
size_t batch_parts_n(const struct batch_parts *parts);

/* Whether the parts begin with what EXTENTS [n] say, which are no shorter than those before. */
enum attn_status batch_parts_hold(struct batch_parts *parts, const struct batch_extent *extents,
                                  bool *is_held, struct attn_error *err);

/* The path of a part that did not begin with what an extent said, and *size, bytes within which it
 * differs; NULL: all did. */
const char *batch_parts_damaged(const struct batch_parts *parts, uint64_t *size);

/* Goes back to the extents that were held last, or to the beginning. */
void batch_parts_rewind(struct batch_parts *parts);

/* Stores what the parts of RECORDS hold now in EXTENTS [n]. */
enum attn_status batch_parts_measure(struct batch_parts *parts, const struct attn_records *records,
                                     struct batch_extent *extents, struct attn_error *err);

/* The same of parts that are finished, with all of their bytes. */
enum attn_status batch_parts_finish(struct batch_parts *parts, const struct attn_records *records,
                                    struct batch_extent *extents, struct attn_error *err);

#endif
