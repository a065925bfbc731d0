/*
 * archive_diff.h - what differs between two dumps of tensors: .npz files of ours, or that
 * numpy.savez made of what Hugging Face or TransformerLens computed.
 *
 *     struct attn_archive_args args = ATTN_ARCHIVE_ARGS_DEFAULT;
 *     struct attn_archive_sum sum;
 *     struct attn_table *table;
 *     args.relative = 1e-5;
 *     attn_diff_archives("ours.npz", "theirs.npz", &args, &table, &sum, &err);
 *
 * Arrays are paired by name. Names are TransformerLens's, as ours are; Hugging Face's are taken for
 * them: attentions.N (attentions_N) is blocks.N.attn.hook_pattern, hidden_states.N is
 * blocks.N.hook_resid_pre. The last hidden state of both files is ln_final.hook_normalized, unless
 * either has a block of its number. Leading sizes of 1 are dropped: a batch of one text. Arrays
 * that are no numbers (tokens) are left out.
 *
 *     site, elements     the name, and how many numbers both have
 *     largest, at        the largest difference |a - b|, and its indices; equal infinities do not
 *                        differ, nor does NaN from NaN. A number of -1e30 or less is a masked
 *                        score, as minus infinity is: TransformerLens 4 has the least float32
 *     within             whether |a - b| <= tolerance + relative |b| for every number, as numpy's
 *                        allclose has it
 */
#ifndef ATTN_EXPERIMENT_ARCHIVE_DIFF_H
#define ATTN_EXPERIMENT_ARCHIVE_DIFF_H

#include "base/status.h"
#include "base/table.h"

struct attn_archive_args {
    size_t size;      /* of this struct */
    double tolerance; /* absolute */
    double relative;  /* of the numbers of the second file */
};

#define ATTN_ARCHIVE_ARGS_DEFAULT                                                                  \
    ((struct attn_archive_args){.size = sizeof(struct attn_archive_args), .tolerance = 1e-4})

struct attn_archive_sum {
    size_t n_compared; /* arrays of both files */
    size_t n_outside;  /* of them, those that are not within the tolerances */
    size_t n_alone;    /* arrays of numbers that one file alone has */
    size_t n_masked;   /* of those that differ, gradients by key of which only cells of later keys
                          do: where one file has 0, as ours, and the other a number that nothing
                          reads, as TransformerLens */
};

/* ARGS may be NULL. The caller owns *table. Errors have a stage: ATTN_INVALID at that of the input
 * where no tensor is in both files (one with elements; ids, queries and heads are labels), and
 * where two of one name have not the same shape. */
ATTN_API enum attn_status attn_diff_archives(const char *a, const char *b,
                                             const struct attn_archive_args *args,
                                             struct attn_table **table,
                                             struct attn_archive_sum *sum, struct attn_error *err);

#endif
