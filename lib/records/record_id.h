/*
 * record_id.h - the id of a record as a field of CSV: as it is, for it is a key that others look
 * for, in quotes where it needs them.
 */
#ifndef ATTN_RECORDS_RECORD_ID_H
#define ATTN_RECORDS_RECORD_ID_H

#include "records/record_format.h"

/* Appends the id to OUT. The first that begins with what a spreadsheet takes for a formula is
 * noted. */
void attn_record_id_append(struct attn_record_writer *writer, struct attn_buffer *out,
                           const struct attn_outcome *outcome);

#endif
