/* table_caption.h - tables with the words of their pictures, for papers. */
#ifndef ATTN_FIGURES_TABLE_CAPTION_H
#define ATTN_FIGURES_TABLE_CAPTION_H

#include "figures/table_picture.h"
#include "tables/table_writer.h"

/* Writes TABLE as attn_table_write does. LaTeX and Markdown have the words of GRID as caption: what
 * its `values` are, model and texts. Its `n_label` columns name a group. */
ATTN_API enum attn_status attn_table_write_captioned(const struct attn_table *table,
                                                     const struct attn_table_grid *grid,
                                                     enum attn_table_form form, int precision,
                                                     struct attn_sink *sink,
                                                     struct attn_error *err);

#endif
