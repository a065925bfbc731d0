/*
 * parks.h - positions where heads park weight that they do not need: attention sinks, wherever they
 * stand. This file alone decides which positions are parks.
 *
 *     struct attn_parks *parks;
 *     attn_parks_create(&settings, selection, &parks, &err);
 *     attn_parks_add(parks, event);                  // each resid_pre, and each pattern
 *     const bool *is_parked = attn_parks_find(parks);
 *
 * Parks are the first position of a text, and each position that gets at least ATTN_PARK_WEIGHT of
 * all weight of the rows after it, mean over heads, and whose residual stream before some layer has
 * a peak, the largest absolute value, of at least ATTN_PARK_RATIO times the median of the peaks of
 * that layer (Sun et al. 2024, 2402.17762). At least ATTN_PARK_ROWS rows must see it. In models
 * that are not causal all other rows count, and [SEP] and </s> need no peak, since BERT's norms
 * remove it. The first patch of a picture without [CLS] is no park by its place.
 *
 * The mean is over the heads that are watched. Sums go in the order of the events,
 * so the results have the same bits with any number of threads.
 */
#pragma once

#include "measures/metric.h"

#define ATTN_PARK_RATIO 10.0
#define ATTN_PARK_WEIGHT 0.1
enum { ATTN_PARK_ROWS = 4 };

struct attn_parks;

/* Of the positions of SELECTION, which is borrowed until the last event; of a model with two stacks
 * its decoder, or a copy of the encoder. Copies what it needs of SETTINGS. The caller frees *parks.
 */
enum attn_status attn_parks_create(const struct attn_metric_settings *settings,
                                   const struct attn_selection *selection,
                                   struct attn_parks **parks, struct attn_error *err);
void attn_parks_free(struct attn_parks *parks); /* NULL is allowed */

/* Adds the rows of EVENT, if it is of resid_pre or a pattern. Cross-attention does not count. */
void attn_parks_add(struct attn_parks *parks, const struct attn_trace_event *event);

/* Returns [n_position] which positions are parks. Call after the last event, again for the same
 * array; owned by PARKS. */
const bool *attn_parks_find(struct attn_parks *parks);

/* Whether POSITION is a park, after attn_parks_find. */
bool attn_parks_has(const struct attn_parks *parks, size_t position);

/* Return the two numbers of POSITION after attn_parks_find: the largest ratio of its peak to the
 * median of a layer, 0 if no resid_pre came; and its share of the weight of the rows that count,
 * NaN if there are none. */
double attn_parks_ratio(const struct attn_parks *parks, size_t position);
double attn_parks_weight(const struct attn_parks *parks, size_t position);
