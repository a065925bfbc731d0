/*
 * head_mix.h - how a head divides its weight: the part on parks (measures/parks.h), and the rest by
 * disjoint classes of keys, from which attn_head_type_of (head_kind.h) names the head.
 *
 *     attn_head_mixes_create(&settings, selection, &mixes, &err);
 *     attn_head_mixes_add(mixes, event);          // each resid_pre, and each pattern
 *     attn_head_mixes_find(mixes, &at, &mix);     // after the last event
 *
 * One pass is enough although parks are known only at its end: sums are kept for each key of each
 * head. The rows and keys before ATTN_MIX_ROWS are measured, so that memory does not grow with the
 * text. Sums go in the order of the events: the same bits with any number of threads.
 */
#pragma once

#include "measures/parks.h"

enum { ATTN_MIX_ROWS = 512 };

/* The classes of a cell (i, j); the first that fits counts. Their order is that of head_kind.c. */
enum attn_mix_class {
    ATTN_MIX_SELF,
    ATTN_MIX_PREVIOUS,
    ATTN_MIX_NEXT,      /* only in models that are not causal */
    ATTN_MIX_INDUCTION, /* j follows an earlier place of the token at i */
    ATTN_MIX_DUPLICATE, /* j is an earlier place of the token at i */
    ATTN_MIX_MARKS,     /* j is punctuation */
    ATTN_MIX_START,     /* j follows . ! or ? */
    ATTN_MIX_NEAR,      /* 2 to 4 tokens away; of a picture, a neighbour */
    ATTN_MIX_SENTENCE,  /* the rest of the sentence of i */
    ATTN_MIX_ELSEWHERE,
    ATTN_N_MIX_CLASS
};

/* Sums over rows; those of several texts may be added. */
struct attn_head_mix {
    double n_row;
    double parked;                    /* the weight on parks */
    double weights[ATTN_N_MIX_CLASS]; /* the rest of the weight */
    double even[ATTN_N_MIX_CLASS]; /* what the rest were if rows were even over the keys they see */
    /* rows with an earlier place of their token, and the rest of their weight */
    double n_repeated, repeated;
    /* of the rest, with r the rest of a row and n the keys that it sees, without the first: the sum
     * of r H(row / r), and of r ln n, which it is at most. With a second park the first is an
     * estimate from below. */
    double entropy, most_entropy;
};

enum { ATTN_N_MIX_NUMBER = sizeof(struct attn_head_mix) / sizeof(double) };

struct attn_head_mixes;
struct attn_head_type; /* head_kind.h */
struct attn_model;     /* model/model.h */
struct attn_blob;      /* base/source.h */

/* Arguments as of attn_parks_create. */
enum attn_status attn_head_mixes_create(const struct attn_metric_settings *settings,
                                        const struct attn_selection *selection,
                                        struct attn_head_mixes **mixes, struct attn_error *err);
void attn_head_mixes_free(struct attn_head_mixes *mixes); /* NULL is allowed */

/* Adds the rows of EVENT, if it is of resid_pre or a pattern. */
void attn_head_mixes_add(struct attn_head_mixes *mixes, const struct attn_trace_event *event);

/* Fills *MIX with the sums of the head AT. Of attention to a source the parks are its first and its
 * last row, and the rest is elsewhere. */
void attn_head_mixes_find(struct attn_head_mixes *mixes, const struct attn_location *at,
                          struct attn_head_mix *mix);

/* Gives MIXES, of a text, the types that MODEL brings along (head_types.h), in GIVEN unless that is
 * NULL. */
enum attn_status attn_head_mixes_take_types(struct attn_head_mixes *mixes,
                                            const struct attn_model *model,
                                            const struct attn_blob *given, struct attn_error *err);

/* Returns the type of the head AT, the same for all views: that of the model if it brings one
 * along, else that of the text; without a kind, none. After the last event. */
struct attn_head_type attn_head_mixes_type(struct attn_head_mixes *mixes,
                                           const struct attn_location *at);

/* Returns true if KEY is a park; after attn_head_mixes_find. */
bool attn_head_mixes_is_park(const struct attn_head_mixes *mixes, size_t key);

/* Returns the largest weight of the row of the head AT that is shown first (`n_shown` of the
 * settings) on another key than a park, the first, [SEP], the row itself and its neighbours, and
 * stores the key in *key. Before attn_head_mixes_find only the first key is a park. 0 if there is
 * none, or the row did not come. */
double attn_first_head_look(const struct attn_head_mixes *mixes, const struct attn_location *at,
                            size_t *key);

/* Returns how well a head with that LOOK opens a view, for comparison. EFFECT says how the next
 * token changes without it, KL in nats; NaN: unknown. Of heads that look hard at one word, the one
 * with the largest effect comes first; else the one that looks hardest. */
double attn_first_head_rank(double look, double effect);

/* Returns how the next token changes without the head AT, KL in nats, by a table of EFFECTS (as of
 * struct attn_picture_options); NaN if it is unknown. */
double attn_first_head_effect(const struct attn_table *effects, const struct attn_location *at);

/* Returns how well the head AT opens a view of an ANSWER, the table of attn_answer_heads or NULL,
 * for comparison. Heads of the table come first, by what they write; the others by their LOOK. */
double attn_first_head_of(const struct attn_table *answer, const struct attn_location *at,
                          double look);
