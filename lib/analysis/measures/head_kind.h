/*
 * head_kind.h - the types of heads: what a head does with the weight that it does not park. This
 * file alone names types, for tables, maps, pages, screens and cards.
 *
 *     struct attn_head_type type = attn_head_type_of(&mix, 0);
 *     if (type.kind)
 *         printf("%s, %.2f parked\n", type.name, type.park);
 *     // pictures/colormap_internal.h:
 *     struct attn_rgb color = attn_hue_color(type.kind->hue, type.weight, theme);
 *
 * Color is never the only sign: each kind has a letter, too.
 */
#pragma once

#include "measures/head_mix.h"

/* The kinds in the order in which they are listed: first those of enum attn_mix_class. */
enum {
    ATTN_HEAD_KIND_EVEN = ATTN_N_MIX_CLASS,
    ATTN_HEAD_KIND_BROAD,
    ATTN_HEAD_KIND_MIXED,
    ATTN_HEAD_KIND_PARKS,
    ATTN_N_HEAD_KIND
};

struct attn_head_kind {
    const char *name, *brief; /* brief: at most 7 columns, "induct." */
    char letter;
    uint32_t hue;      /* 0xRRGGBB, the color of weight 1 */
    const char *words; /* what such a head looks at */
};

/* Returns kind I, 0 to ATTN_N_HEAD_KIND - 1. */
const struct attn_head_kind *attn_head_kind_at(size_t i);

/* Returns the kind as which views show KIND, one of six that eyes tell apart: previous, induction,
 * duplicate, self, marks (and parks), else. NULL of NULL. */
const struct attn_head_kind *attn_head_kind_shown(const struct attn_head_kind *kind);

/* Returns the kind of a type called NAME [size], "marks" or "marks + self", of which the first
 * counts; NULL if it is none. */
const struct attn_head_kind *attn_head_kind_find(const char *name, size_t size);

/* A text of fewer tokens has shares and no types. */
enum { ATTN_HEAD_TYPE_TOKENS = 30 };

struct attn_head_type {
    const struct attn_head_kind *kind; /* NULL: too few rows, or none that are finite */
    const char *name;                  /* of the kind, or two, "marks + self"; NULL without kind */
    /* the class with the largest share of the rest, also of few rows; NULL without a rest */
    const struct attn_head_kind *largest;
    double weight;                   /* this share */
    double park;                     /* the share of all weight that is parked */
    double shares[ATTN_N_MIX_CLASS]; /* of the rest; NaN without one */
};

/* A part of the bar that shows how a head divides all of its weight. */
struct attn_head_part {
    const struct attn_head_kind *kind;
    double begin, end; /* in the bar, 0 to 1 */
};

enum { ATTN_HEAD_PARTS = ATTN_N_MIX_CLASS + 1, ATTN_HEAD_PALE = 25 };

/* Lays out the bar of a head with SHARES [ATTN_N_MIX_CLASS] of the rest and PARK: classes in their
 * order, in their hues. The last part is the parked weight, in a pale hue: ATTN_HEAD_PALE percent
 * of the hue of `parks`, the rest the ground. Fills PARTS, and returns how many have any weight. */
size_t attn_head_bar(const double *shares, double park,
                     struct attn_head_part parts[ATTN_HEAD_PARTS]);

/* Returns the type of a head by this rule, with THRESHOLD .5 if it is 0, on the rest of its weight
 * scaled to 1; an even head is one whose rows are even over the keys that they see:
 *
 *     induction or duplicate above THRESHOLD of the rest of the rows with an earlier place of their
 *         token, at least 8: that
 *     parks at least .9               parks
 *     entropy at least .9 of most     even
 *     self, previous, next, induction, duplicate, marks or start at least THRESHOLD: that
 *     self, previous, next and near at least .5, and 1.5 times an even head: near
 *     the two largest of these seven of at least .15, twice an even head or .15 above it, with .3
 *         together: their names
 *     with sentence at least .55, and 1.5 times an even head: sentence
 *     entropy at least .45 of most    broad
 *     elsewhere at least .15, and .5 times an even head: elsewhere; else mixed */
struct attn_head_type attn_head_type_of(const struct attn_head_mix *mix, double threshold);
