/* format.h - the formats in which outputs are written, by name. */
#ifndef ATTN_TENSORS_FORMAT_H
#define ATTN_TENSORS_FORMAT_H

#include "base/api.h"

struct attn_format; /* constant */

/* Returns the format NAME, "csv", as in `attn-cli help formats`; NULL if it is unknown. */
ATTN_API const struct attn_format *attn_format_find(const char *name);

#endif
