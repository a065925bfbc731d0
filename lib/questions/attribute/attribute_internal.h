/* attribute_internal.h - the methods of attribute.h, one procedure each. For lib/questions. */
#pragma once

#include "attribute/attribute.h"
#include "frame/frame.h"
#include "frame/questions_internal.h"
#include "score/generate.h"
#include "trace/trace_internal.h"

extern const struct attn_question attn_question_attribute;

extern const struct attn_procedure attn_attribute_parts;   /* dla */
extern const struct attn_procedure attn_attribute_tokens;  /* methods with a row per token */
extern const struct attn_procedure attn_attribute_cells;   /* attn_x_grad and causes */
extern const struct attn_procedure attn_attribute_picture; /* by cell of a picture */
extern const struct attn_procedure attn_attribute_pairs;   /* of a score, with `score` */

/* A cell of a pattern. With query 0 it is a key that a head reads; if at.head is
 * ATTN_ALL_HEADS, the MLP at position `query`. */
struct attn_found_cell {
    struct attn_location at;
    size_t query, key;
    double weight, value; /* value: the attribution */
    bool has_knockout;
    double knockout;
};

/* Orders cells by the magnitude of their value, descending; then by layer, head, query and key. */
int attn_found_cell_compare(const void *a, const void *b);

/* Returns true if METHOD attributes the answer to cells of patterns. */
static inline bool attn_attribute_is_of_cells(enum attn_attribute_method method)
{
    return method == ATTN_ATTRIBUTE_ATTN_X_GRAD || method == ATTN_ATTRIBUTE_CAUSES;
}

static inline bool attn_score_has_lists(const struct attn_score_cells *score)
{
    return attn_number_list_is_given(&score->queries) || attn_number_list_is_given(&score->keys) ||
           attn_head_list_is_given(&score->head);
}

/* Lets a picture of a table label positions with the patches of an image. */
void attn_attribute_label(struct attn_drawn *drawn);

/* Two columns from number I on, of methods with a sign and without one, of which one is shown. */
#define ATTN_ATTRIBUTION_COLUMNS(i)                                                                \
    [i] = ATTN_COLUMN_QUANTITY("attribution", 4, NULL, SIGNED, "part of @", .shown = SHOW_SIGNED,  \
                               .traits = ATTN_TRAIT_RANKED),                                       \
    [(i) + 1] = ATTN_COLUMN_QUANTITY("attribution", 4, NULL, POSITIVE, "attribution of @",         \
                                     .shown = SHOW_AMOUNTS, .traits = ATTN_TRAIT_RANKED)

/* What the procedures of all methods have, whose state is a TYPE. */
#define ATTN_ATTRIBUTE(type)                                                                       \
    .question = &attn_question_attribute, ATTN_PROCEDURE_TABLE(columns, views),                    \
    .state_size = sizeof(type), .prepare = prepare, .shows = shows, .ask = ask

/* Shared by all methods: `check` and `take_item` of their procedures. */
enum attn_status attn_attribute_check(const void *given, struct attn_error *err);
enum attn_status attn_attribute_take_item(void *args, struct attn_request *request,
                                          const struct attn_item *item, struct attn_error *err);
