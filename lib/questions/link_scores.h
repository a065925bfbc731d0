/*
 * link_scores.h - scores links between words that another program made (fast_align, eflomal,
 * SimAlign), against links made by people. Needs no model.
 *
 *     const struct attn_link_file links = {"forward.talp"}, gold = {"gold.txt", true};
 *     attn_link_scores(&links, &gold, &table, &err); // n, links, ..., precision, recall, aer
 *
 * A file has a line for each pair of texts, in the form of Pharaoh: "0-0 1-2", words of the source
 * and of the text. "1p2" and "1?2" are possible links of gold.
 */
#ifndef ATTN_QUESTIONS_LINK_SCORES_H
#define ATTN_QUESTIONS_LINK_SCORES_H

#include "tables/table.h"

struct attn_link_file {
    const char *path;
    bool is_one_based; /* words count from 1 */
};

/* Counts over all lines of both files, and precision, recall and alignment error rate
 * (questions/align.h). A pair without gold links counts, too. The caller owns *table. ATTN_INVALID
 * for other numbers of lines, other forms of links, and words above 4095. */
ATTN_API enum attn_status attn_link_scores(const struct attn_link_file *links,
                                           const struct attn_link_file *gold,
                                           struct attn_table **table, struct attn_error *err);

#endif
