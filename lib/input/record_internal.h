/* record_internal.h - what record.h declares for the library alone. */
#ifndef ATTN_INPUT_RECORD_INTERNAL_H
#define ATTN_INPUT_RECORD_INTERNAL_H

#include "input/record.h"

/* The approximate size in bytes of the data of RECORD. */
size_t attn_record_n_byte(const struct attn_record *record);

#endif
