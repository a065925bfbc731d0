/*
 * archive_diff.h - compares two dumps of tensors: .npz files written by this library, or by
 * numpy.savez from the tensors of Hugging Face or TransformerLens.
 *
 *     struct attn_archive_args args = ATTN_ARCHIVE_ARGS_DEFAULT;
 *     struct attn_archive_sum sum = ATTN_ARCHIVE_SUM_DEFAULT;
 *     struct attn_table *table;
 *     args.relative = 1e-5;
 *     attn_diff_archives("ours.npz", "theirs.npz", &args, &table, &sum, &err);
 *
 * Arrays are paired by name. This library has TransformerLens's names; Hugging Face's are mapped to
 * them: attentions.N (attentions_N) is blocks.N.attn.hook_pattern, hidden_states.N is
 * blocks.N.hook_resid_pre. The last hidden state of both files is ln_final.hook_normalized, unless
 * either has a block with its number. Leading sizes of 1 are dropped: a batch of one text. Arrays
 * of other types than numbers (tokens) are skipped.
 *
 *     site, elements     the name, and the number of elements
 *     largest, at        the largest difference |a - b|, and its indices; equal infinities do not
 *                        differ, nor does NaN from NaN. A number of -1e30 or less is a masked
 *                        score like minus infinity: TransformerLens 4 writes the least float32
 *     within             whether |a - b| <= tolerance + relative |b| for every number, as in
 *                        numpy's allclose
 */
#ifndef ATTN_EXPERIMENT_ARCHIVE_DIFF_H
#define ATTN_EXPERIMENT_ARCHIVE_DIFF_H

#include "base/status.h"
#include "base/table.h"

struct attn_archive_args {
    size_t size;      /* size of this struct */
    double tolerance; /* absolute */
    double relative;  /* relative to the numbers of the second file */
};

#define ATTN_ARCHIVE_ARGS_DEFAULT                                                                  \
    ((struct attn_archive_args){.size = sizeof(struct attn_archive_args), .tolerance = 1e-4})

struct attn_archive_sum {
    size_t size;       /* of this struct */
    size_t n_compared; /* arrays of both files */
    size_t n_outside;  /* compared arrays that are not within the tolerances */
    size_t n_alone;    /* arrays of numbers that only one of the files has */
    /* gradients by key that differ only in cells of later keys: this library writes 0 there,
     * TransformerLens an unused number */
    size_t n_masked;
};

#define ATTN_ARCHIVE_SUM_DEFAULT                                                                   \
    ((struct attn_archive_sum){.size = sizeof(struct attn_archive_sum)})

/* Compares the archives A and B. ARGS may be NULL. The caller owns *table. Errors have a stage: the
 * stage of the input with ATTN_INVALID if the files share no tensor with elements (ids, queries and
 * heads do not count), or if two tensors of one name differ in shape. */
ATTN_API enum attn_status attn_diff_archives(const char *a, const char *b,
                                             const struct attn_archive_args *args,
                                             struct attn_table **table,
                                             struct attn_archive_sum *sum, struct attn_error *err);

#endif
