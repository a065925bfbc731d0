/*
 * archive_diff.h - what differs between two dumps of tensors: .npz files of ours, or that
 * numpy.savez made of what Hugging Face or TransformerLens computed.
 *
 *     struct attn_archive_sum sum;
 *     struct attn_table *table;
 *     attn_diff_archives("ours.npz", "theirs.npz", 1e-4, &table, &sum, &err);
 *
 * Arrays are paired by name. Names are TransformerLens's, as ours are; Hugging Face's are taken for
 * them: attentions.N (attentions_N) is blocks.N.attn.hook_pattern, hidden_states.N is
 * blocks.N.hook_resid_pre. The last hidden state of both files is ln_final.hook_normalized, unless
 * either has a block of its number. Leading sizes of 1 are dropped: a batch of one text. Arrays
 * that are no numbers (tokens) are left out.
 *
 *     site, elements     the name, and how many numbers both have
 *     largest, at        the largest difference |a - b|, and its indices; equal infinities do not
 *                        differ, nor does NaN from NaN
 *     within             whether that is at most the tolerance
 */
#ifndef ATTN_EXPERIMENT_ARCHIVE_DIFF_H
#define ATTN_EXPERIMENT_ARCHIVE_DIFF_H

#include "base/status.h"
#include "base/table.h"

struct attn_archive_sum {
    size_t n_compared; /* arrays of both files */
    size_t n_outside;  /* of them, those that differ by more than the tolerance */
    size_t n_alone;    /* arrays of numbers that one file alone has */
    size_t n_masked;   /* of those that differ, gradients by key of which only cells of later keys
                          do: where one file has 0, as ours, and the other a number that nothing
                          reads, as TransformerLens */
};

/* The caller owns *table. Errors have a stage: ATTN_INVALID at that of the input where no tensor is
 * in both files (one with elements; ids, queries and heads are labels), and where two of one name
 * have not the same shape. */
ATTN_API enum attn_status attn_diff_archives(const char *a, const char *b, double tolerance,
                                             struct attn_table **table,
                                             struct attn_archive_sum *sum, struct attn_error *err);

#endif
