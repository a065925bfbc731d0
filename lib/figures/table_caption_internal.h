/* table_caption_internal.h - the part of table_caption.h for the library alone. */
#ifndef ATTN_FIGURES_TABLE_CAPTION_INTERNAL_H
#define ATTN_FIGURES_TABLE_CAPTION_INTERNAL_H

#include "base/buffer.h"
#include "figures/table_caption.h"

/* The words for TABLE by GRID on one line: "change of the answer without each head; fable; The
 * keys". Terminated; NULL if memory ran out. OUT, which is {0}, owns it. */
const char *attn_table_caption(const struct attn_table *table, const struct attn_table_grid *grid,
                               struct attn_buffer *out);

#endif
