/* head_pictures.h - measures of a head in a prompt with a picture: shares of the regions, how
 * scattered the map over the picture is, and which heads point at what the answer is about. */
#ifndef ATTN_TOWERS_HEAD_PICTURES_H
#define ATTN_TOWERS_HEAD_PICTURES_H

#include "towers/maps/picture_maps.h"

struct attn_head_picture {
    double shares[ATTN_N_SHARE];
    double entropy, n_blob; /* how scattered the map is, in nats, and its blobs */
    double bottom;          /* largest value in the last row of the map */
    /* Set by attn_head_pictures_rank: 1 if the head is kept, and its rank from 1 on, else 0. */
    double is_kept, rank;
};

/* Computes HEAD from MAPS, which are complete, for the head AT. */
enum attn_status attn_head_pictures_find(const struct attn_picture_maps *maps,
                                         const struct attn_location *at,
                                         struct attn_head_picture *head, struct attn_error *err);

/*
 * Ranks HEADS [n], in the layers of ATS [n], by Kang et al. 2503.06287: the picture shares, sorted
 * upwards, bend most at the threshold, the one farthest from the straight line through the first
 * and the last. A head is kept if its share is not below it, its entropy exists, nothing in the
 * last row of its map is above 0.05, and its layer is 2 or higher. Rank 1 has the lowest entropy.
 */
enum attn_status attn_head_pictures_rank(const struct attn_location *ats,
                                         struct attn_head_picture *heads, size_t n,
                                         double *threshold, struct attn_error *err);

/* Sets *best to the index of the head of ATS [n] that is ranked first, or if none is, of the one
 * with the largest share, and *n_ranked to the number of heads that are ranked. */
enum attn_status attn_head_pictures_choose(const struct attn_picture_maps *maps,
                                           const struct attn_location *ats, size_t n, size_t *best,
                                           size_t *n_ranked, struct attn_error *err);

#endif
