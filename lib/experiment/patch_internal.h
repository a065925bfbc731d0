/* patch_internal.h - what patches share with their estimates. For the files of this layer. */
#ifndef ATTN_EXPERIMENT_PATCH_INTERNAL_H
#define ATTN_EXPERIMENT_PATCH_INTERNAL_H

#include "experiment/frame.h"
#include "experiment/patch.h"

/* Of the metric, between the two runs. */
#define ATTN_PATCH_SMALLEST_DIFFERENCE 1e-4

/* The site that is GIVEN, by name or NULL. ATTN_INVALID for another than patch.h lists. */
enum attn_status attn_patch_find_site(const char *given, bool is_estimated, enum attn_site *site,
                                      struct attn_error *err);

/* Positions that are patched together, by name. */
struct attn_patch_places {
    struct attn_patch_place *list; /* [n] the frame's */
    unsigned char *is_of_place;    /* [n, T] likewise */
    size_t n;
};

/* Whether each of GIVEN [n] has a name of its own, and a place. */
enum attn_status attn_patch_check_places(const struct attn_patch_place *given, size_t n,
                                         struct attn_error *err);

/* Finds the places GIVEN [n] in the clean text, then those of the frame's item. A place of the item
 * replaces the given one of the same name. */
enum attn_status attn_patch_find_places(struct attn_frame *frame,
                                        const struct attn_patch_place *given, size_t n,
                                        struct attn_patch_places *places, struct attn_error *err);

/* Whether the frame's question has places: N are given, or its item has some. */
bool attn_patch_has_places(const struct attn_frame *frame, size_t n);

/* Whether the frame's runs, of the clean and of the corrupted text, have as many tokens. */
enum attn_status attn_patch_check_lengths(const struct attn_frame *frame, struct attn_error *err);

/* Fails: both runs have VALUE. */
enum attn_status attn_patch_refuse_difference(const struct attn_answer *answer, double value,
                                              struct attn_error *err);

/* An edit that puts what the frame's capture has in its place: of HEAD, or with -1 of a site
 * without heads. Its rows are still to be given. */
struct attn_edit attn_patch_edit(const struct attn_frame *frame, enum attn_site site, int layer,
                                 int head);

/* Of that, rows FIRST .. END-1 alone. */
void attn_patch_narrow(struct attn_edit *edit, size_t first, size_t end);

#endif
