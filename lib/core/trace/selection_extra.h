/* selection_extra.h - lists as users write them, and selections that are made of others. */
#ifndef ATTN_TRACE_SELECTION_EXTRA_H
#define ATTN_TRACE_SELECTION_EXTRA_H

#include "trace/lists.h"
#include "trace/selection.h"
#include "trace/site_set.h"

static inline bool attn_number_list_is_given(const struct attn_number_list *list)
{
    return list->n > 0 || list->text;
}

/* Returns LIST, or if it is not given OTHER. */
static inline struct attn_number_list attn_number_list_or(struct attn_number_list list,
                                                          struct attn_number_list other)
{
    return attn_number_list_is_given(&list) ? list : other;
}

static inline bool attn_head_list_is_given(const struct attn_head_list *list)
{
    return list->n > 0 || list->text;
}

/* Sets the FLAGS [n] of the items of LIST, whose text has no words, to 1. NOUN is for messages:
 * "layers".
 */
ATTN_API enum attn_status attn_number_list_flag(const struct attn_number_list *list,
                                                const char *noun, size_t n, unsigned char *flags,
                                                struct attn_error *err);

/* Replaces the queries of SELECTION by those of LIST, whose text has no words. */
ATTN_API enum attn_status attn_selection_choose_queries(struct attn_selection *selection,
                                                        enum attn_model_stack stack,
                                                        const struct attn_number_list *list,
                                                        struct attn_error *err);

/* Replaces the heads of SELECTION by those of LIST, if it is given. */
ATTN_API enum attn_status attn_selection_choose_heads(struct attn_selection *selection,
                                                      const struct attn_head_list *list,
                                                      struct attn_error *err);

/* Creates a selection of the heads of LIST, or of all if it is not given, with all sites, layers
 * and queries. The caller frees it. */
ATTN_API enum attn_status attn_select_heads(const struct attn_head_list *list,
                                            const struct attn_dims *dims,
                                            struct attn_selection **selection,
                                            struct attn_error *err);

/* Allows rows of all heads to come before the next rows of a layer. For traces that do not need the
 * rows head by head. */
ATTN_API void attn_selection_take_rows(struct attn_selection *selection);

/* Return what is selected. */
ATTN_API bool attn_selection_takes_rows(const struct attn_selection *selection);
ATTN_API struct attn_site_set attn_selection_sites(const struct attn_selection *selection);
ATTN_API bool attn_selection_has_site(const struct attn_selection *selection, enum attn_site site);
ATTN_API size_t attn_selection_n_query(const struct attn_selection *selection);

/* Returns the selected sites of the encoder if STACK is ATTN_STACK_ENCODER, else those of the last
 * stack, with its attention to a source. */
ATTN_API struct attn_site_set attn_selection_sites_of(const struct attn_selection *selection,
                                                      enum attn_model_stack stack);

/* Whether a model has two stacks, and only the encoder has selected sites. */
ATTN_API bool attn_selection_is_of_encoder(const struct attn_selection *selection);

/* Creates a selection of one stack from SELECTION of two: of the encoder if STACK is
 * ATTN_STACK_ENCODER, else of the decoder. */
ATTN_API enum attn_status attn_selection_copy_stack(const struct attn_selection *selection,
                                                    enum attn_model_stack stack,
                                                    struct attn_selection **copy,
                                                    struct attn_error *err);

/* Adds SITES to the chosen sites of STACK. Call attn_selection_clear_sites first. */
ATTN_API enum attn_status attn_selection_add_sites(struct attn_selection *selection,
                                                   enum attn_model_stack stack,
                                                   struct attn_site_set sites,
                                                   struct attn_error *err);
ATTN_API void attn_selection_clear_sites(struct attn_selection *selection);

/* Each replaces the chosen layers, heads or queries by those of the list SPEC (trace/selection.h).
 * In a model with two stacks numbers are those of the layers of each stack. ATTN_INVALID, with the
 * valid range, if the list is not valid; the selection is then unchanged. */
ATTN_API enum attn_status attn_selection_set_layers(struct attn_selection *selection,
                                                    const char *spec, struct attn_error *err);
ATTN_API enum attn_status attn_selection_set_heads(struct attn_selection *selection,
                                                   const char *spec, struct attn_error *err);
ATTN_API enum attn_status attn_selection_set_queries(struct attn_selection *selection,
                                                     enum attn_model_stack stack, const char *spec,
                                                     struct attn_error *err);

#endif
