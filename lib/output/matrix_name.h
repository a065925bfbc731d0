/*
 * matrix_name.h - what a matrix of a run is called above it: "layer 2, head 5: pattern".
 */
#ifndef ATTN_OUTPUT_MATRIX_NAME_H
#define ATTN_OUTPUT_MATRIX_NAME_H

#include "output/writer.h"

/* Appends it to OUT, with the view of a pattern: "batch 0, head 3: pattern, words" of arrays,
 * "logits" of a site without layers. HEAD counts when the site has heads. */
void attn_matrix_name_append(const struct attn_writer *writer, enum attn_site site, int layer,
                             int head, struct attn_buffer *out);

#endif
