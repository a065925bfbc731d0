/*
 * picture_maps.h - where in a picture, and where in a prompt, the heads of a decoder look. With A
 * the pattern of a head and the mean over its rows i:
 *
 *     map[r, c] = mean of A[i, cell (r, c) of the whole picture], or of the grid of all tiles
 *     share     = mean of the sum of A[i, j] over the positions j of a region
 *
 * Rows are the chosen queries, or if all are chosen the positions that predict the answer. Sums are
 * in double precision, row by row.
 *
 *     attn_picture_maps_create(&args, &maps, &err);
 *     attn_picture_maps_add(maps, event);                  // patterns, and resid_pre for sinks
 *     attn_picture_maps_fill(maps, &at, choice, map);      // after the layer
 *
 * If one head alone is selected, each of its rows has a map and shares of its own, too.
 */
#pragma once

#include "attention/attention.h"
#include "input/sequence.h"

struct attn_picture_maps;

/* All pointers are borrowed. */
struct attn_picture_maps_args {
    const struct attn_sequence *text;       /* a text with a picture */
    const struct attn_selection *selection; /* of the run, all of whose heads are measured */
    const struct attn_attention *attention; /* [n_layer] of the run; NULL: unknown */
    /* Cells whose resid_pre has a peak, the largest absolute value over the root of the mean
     * square, from this on are sinks; 0: no cell is. */
    double drop_sinks;
    const struct attn_picture_maps *neutral; /* the maps of a neutral question, which are taken away
                                                from the maps; NULL: nothing is */
    bool is_ratio;                           /* maps are divided by the neutral ones instead */
};

/* In place of the number of a row: the mean of all rows. */
#define ATTN_PICTURE_MEAN SIZE_MAX

/* The cells of a map: those of the whole image; those of the grid of all its tiles; or that grid,
 * where each cell of the whole image adds its weight to the cells that it covers, by area. */
enum attn_map_layer { ATTN_MAP_WHOLE, ATTN_MAP_TILES, ATTN_MAP_BOTH };

/* Returns the layer of SITE, picture_map or picture_map_tiles. */
static inline enum attn_map_layer attn_map_layer_of(enum attn_site site)
{
    return site == ATTN_SITE_PICTURE_MAP_TILES ? ATTN_MAP_TILES : ATTN_MAP_WHOLE;
}

/* A map of a head: of an image, of a row or of ATTN_PICTURE_MEAN, in the cells of a layer. */
struct attn_map_choice {
    size_t image, row;
    enum attn_map_layer layer;
};

/* The parts of a prompt that have shares, which add up to 1. */
enum attn_picture_share {
    ATTN_SHARE_OTHER = ATTN_REGION_OTHER,
    ATTN_SHARE_PICTURE = ATTN_REGION_PICTURE, /* without sinks */
    ATTN_SHARE_QUESTION = ATTN_REGION_QUESTION,
    ATTN_SHARE_ANSWER = ATTN_REGION_ANSWER,
    ATTN_SHARE_SINKS, /* cells of the picture that are sinks */
    ATTN_N_SHARE
};

enum attn_status attn_picture_maps_create(const struct attn_picture_maps_args *args,
                                          struct attn_picture_maps **maps, struct attn_error *err);
void attn_picture_maps_free(struct attn_picture_maps *maps); /* NULL is allowed */

/* Makes MAPS, which are complete, independent of the text and the selection. */
void attn_picture_maps_detach(struct attn_picture_maps *maps);

/* Returns the sizes of image number I; borrowed from MAPS. */
const struct attn_picture_dims *attn_picture_maps_dims(const struct attn_picture_maps *maps,
                                                       size_t i);

/* Returns the number of images. */
size_t attn_picture_maps_n_image(const struct attn_picture_maps *maps);

/* Returns true if cells may be sinks. */
bool attn_picture_maps_drops_sinks(const struct attn_picture_maps *maps);

/* Whether the windows of all rows begin after the last cell in LAYER, so that its maps are 0. */
bool attn_picture_maps_is_beyond(const struct attn_picture_maps *maps, int layer);

/* Adds EVENT: rows of a pattern or of resid_pre; other sites are ignored. */
void attn_picture_maps_add(struct attn_picture_maps *maps, const struct attn_trace_event *event);

/* Returns the share of the cells of LAYER of image number I, without sinks, in the mean of all rows
 * of the heads ATS [n]. ATTN_MAP_BOTH: of all cells. */
double attn_picture_maps_layer_share(const struct attn_picture_maps *maps, size_t i,
                                     enum attn_map_layer layer, const struct attn_location *ats,
                                     size_t n);

/* Returns the layer of image number I that is shown unless another is asked for: the one with more
 * weight in the mean of the heads ATS [n], or both if the other has at least 20 % of their sum. */
enum attn_map_layer attn_picture_maps_usual_layer(const struct attn_picture_maps *maps, size_t i,
                                                  const struct attn_location *ats, size_t n);

/* Sets SIZE to the rows and the columns of the cells of LAYER of image number I; 0: no tiles. */
void attn_picture_maps_size(const struct attn_picture_maps *maps, size_t i,
                            enum attn_map_layer layer, size_t size[2]);

/* Writes the map CHOICE of the head AT, row by row. A sink is NaN. */
void attn_picture_maps_fill(const struct attn_picture_maps *maps, const struct attn_location *at,
                            struct attn_map_choice choice, double *map);

/* Whether cell I of the maps CHOICE of the head AT is a sink; of both layers, that of the tiles. */
bool attn_picture_maps_is_sink(const struct attn_picture_maps *maps, const struct attn_location *at,
                               struct attn_map_choice choice, size_t i);

/* Returns the weight of the neutral question on that cell of one layer; 0 without one. */
double attn_picture_maps_neutral(const struct attn_picture_maps *maps,
                                 const struct attn_location *at, struct attn_map_choice choice,
                                 size_t i);

/* Returns the share of the cells of image number I, without sinks, in the mean of all rows. */
double attn_picture_maps_image_share(const struct attn_picture_maps *maps,
                                     const struct attn_location *at, size_t i);

/* Returns the share of row number ROW of the head AT, or of ATTN_PICTURE_MEAN. */
double attn_picture_maps_share(const struct attn_picture_maps *maps, const struct attn_location *at,
                               size_t row, enum attn_picture_share share);

/* Measures of a head: shares of the regions, how scattered the map over the picture is, and whether
 * the head points at what the answer is about. */
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
