/*
 * edits_knockout.c - edits that keep some queries from looking at some keys (attention knockout,
 * Geva et al. 2304.14767).
 *
 * Queries and keys are positions (input/position.h). Their scores become minus infinity before the
 * softmax. In a layer that attends to a source, the keys are positions of the source; in the
 * encoder, queries and keys are. The encoder's heads must be named: "encoder:2.*". A knockout that
 * changes nothing is named in a note.
 *
 * Layers that mix tokens without attention have no scores: a knockout of their heads is refused.
 */
#include "edits/edits_internal.h"

#include "attention/attention_internal.h"
#include "attention/keys.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "input/position.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

#include <string.h>

/* A knockout, and the positions and heads of one stack of this run that it names. */
struct knockout {
    const struct attn_intervention *given;
    unsigned char *queries; /* [T] owns; 1 for each position that is a query of the knockout */
    /* [T], [S] own; 1 for each position that is a key of it: of the text, and of the source. */
    unsigned char *keys, *source_keys;
    struct attn_selection *heads; /* owns; NULL: it names no head of this stack */
};

/* The knockouts of one stack: of the encoder, or of the model that is fed the text. */
struct knockouts {
    const struct attn_edit_scope *scope;    /* of the stack */
    const struct attn_dims *all;            /* the sizes of all stacks */
    const struct attn_attention *attention; /* [n_layer] */
    enum attn_model_stack stack;
    struct attn_edit_list *list;
    struct knockout *items; /* [n] owns */
    size_t n;
    struct attn_edit_part *parts; /* [n] the parts of the list with number first_part and up */
    size_t first_part;
    unsigned char *cut; /* [T or S] owns; 1 for each key that the row at hand loses */
    int32_t *kept;      /* [T or S] owns; the keys that the row at hand can look at */
};

/* One row of a score matrix. Its first n_kept entries of knockouts->kept are the keys that it can
 * look at. */
struct score_row {
    struct attn_location at;
    size_t query, n_key, n_kept;
    bool is_cross;
    bool is_of_all; /* the row stands for the rows of all heads */
};

/* Finds the heads of this stack that ITEM's knockout names; NULL: none. */
static enum attn_status read_heads(const struct knockouts *knockouts, struct knockout *item,
                                   struct attn_error *err)
{
    const enum attn_model_stack stack = knockouts->stack;

    if (!attn_head_list_is_given(&item->given->heads) && attn_stack_is_encoder(stack))
        return ATTN_OK;
    return attn_edit_select_heads(&item->given->heads, stack, knockouts->all, &item->heads, err);
}

/* Refuses HEADS that mix tokens of a layer of DIMS without attention. */
static enum attn_status check_heads(const struct attn_selection *heads,
                                    const struct attn_dims *dims, struct attn_error *err)
{
    struct attn_location at = {.site = ATTN_SITE_MIXER_Z, .layer = ATTN_NO_LAYER};

    while (dims->mixer && attn_dims_next_layer(dims, &at)) {
        if (attn_location_is_lacking(dims, &at) || attn_selection_count_heads(heads, &at) == 0)
            continue;
        attn_error_set(err, ATTN_INVALID,
                       "layer %d mixes tokens by a state or a convolution, and a knockout cannot "
                       "be used there",
                       at.layer);
        return attn_error_hint(err, "'QUERIES>KEYS@L.h' names heads of attention; `ablate L.h` "
                                    "switches off heads of mixing");
    }
    return ATTN_OK;
}

/* Finds the positions and heads that ITEM's knockout names. */
static enum attn_status read_knockout(const struct knockouts *knockouts, struct knockout *item,
                                      struct attn_error *err)
{
    const struct attn_intervention *given = item->given;
    const struct attn_edit_scope *scope = knockouts->scope;

    ATTN_TRY(read_heads(knockouts, item, err));
    if (!item->heads)
        return ATTN_OK;
    ATTN_TRY(check_heads(item->heads, scope->dims, err));
    item->keys = attn_alloc(knockouts->scope->dims->n_position, 1, err);
    /* + 1, because there may be no source. */
    item->source_keys = attn_alloc(knockouts->scope->dims->n_source + 1, 1, err);
    item->queries = attn_alloc(knockouts->scope->dims->n_position, 1, err);
    if (!item->queries || !item->keys || !item->source_keys)
        return ATTN_NO_MEMORY;
    ATTN_TRY(attn_positions_find(scope->text, &given->positions, item->queries, err));
    return attn_positions_find_keys(&(struct attn_keys){attn_model_config(scope->model),
                                                        scope->text, scope->source, item->heads,
                                                        item->keys, item->source_keys},
                                    &given->keys, err);
}

/* Removes the keys that the mask of the text or of the source hides from the keys of ROW. */
static void drop_hidden(const struct knockouts *knockouts, struct score_row *row)
{
    const int32_t *mask =
        row->is_cross ? knockouts->scope->source->key_mask : knockouts->scope->text->key_mask;
    size_t n = 0;

    for (size_t i = 0; mask && i < row->n_kept; i++)
        if (mask[knockouts->kept[i]] != 0)
            knockouts->kept[n++] = knockouts->kept[i];
    row->n_kept = mask ? n : row->n_kept;
}

/* Lists in knockouts->kept the keys that ROW can look at. A mask that is applied after the softmax
 * hides none, because the sum of the softmax includes all keys. */
static void list_kept(const struct knockouts *knockouts, struct score_row *row)
{
    const size_t layer = attn_location_index(&row->at);
    struct attn_attention attention = knockouts->attention[layer];
    const struct attn_key_row keys = {(int)layer, row->at.head, row->query, row->query, row->n_key};
    const bool has_pairs =
        attention.kind != ATTN_ATTENTION_LINEAR &&
        attention.kind != ATTN_ATTENTION_LOWRANK; /* other kinds: the session refuses */

    if (row->is_cross && attention.mask == ATTN_MASK_CAUSAL)
        attention.mask = ATTN_MASK_NONE; /* positions of the source are neither before nor after
                                            those of the text */
    attn_attention_resolve_stride(&attention, row->n_key);
    if (knockouts->scope->text->numbers.numbers) /* of the tower of a picture */
        attn_attention_resolve_grid(&attention, knockouts->scope->text->grid.n_col);
    if (has_pairs && attention.masking == ATTN_MASKING_INF) {
        row->n_kept = attn_keys_list(&attention, &keys, knockouts->kept);
        return;
    }
    row->n_kept = row->n_key;
    for (size_t key = 0; key < row->n_key; key++)
        knockouts->kept[key] = (int32_t)key;
}

/* Whether knockout number I names the query of ROW. */
static bool names_row(const struct knockouts *knockouts, size_t i, const struct score_row *row)
{
    const struct knockout *item = &knockouts->items[i];

    return item->heads && item->queries[row->query] &&
           attn_selection_has_head(item->heads, &row->at);
}

/* Returns the keys of knockout number I that ROW can attend to: those of the source, or those of
 * the text. */
static const unsigned char *keys_of(const struct knockouts *knockouts, size_t i,
                                    const struct score_row *row)
{
    const struct knockout *knockout = &knockouts->items[i];

    return row->is_cross ? knockout->source_keys : knockout->keys;
}

/* Marks in knockouts->cut the keys that the knockouts take from ROW. Returns how many of them ROW
 * could look at. */
static size_t find_cut(const struct knockouts *knockouts, const struct score_row *row)
{
    size_t n_lost = 0;

    memset(knockouts->cut, 0, row->n_key);
    for (size_t i = 0; i < knockouts->n; i++) {
        const unsigned char *keys = keys_of(knockouts, i, row);

        if (!names_row(knockouts, i, row))
            continue;
        for (size_t key = 0; key < row->n_key; key++)
            knockouts->cut[key] |= keys[key];
        for (size_t k = 0; k < row->n_kept; k++)
            if (keys[knockouts->kept[k]])
                knockouts->parts[i].n_hidden = 0;
    }
    for (size_t k = 0; k < row->n_kept; k++)
        n_lost += knockouts->cut[knockouts->kept[k]];
    return n_lost;
}

/* Whether ROW can look at one of the keys FIRST .. END-1 that is marked in KEYS [n_key]. */
static bool can_see_one(const struct knockouts *knockouts, const struct score_row *row,
                        const unsigned char *keys, size_t first, size_t end)
{
    for (size_t k = 0; k < row->n_kept && (size_t)knockouts->kept[k] < end; k++)
        if ((size_t)knockouts->kept[k] >= first && keys[knockouts->kept[k]])
            return true;
    return false;
}

/* Appends EDIT, which hides a range of keys from ROW, and links it to each knockout that names one
 * of these keys. */
static enum attn_status add_edit(struct knockouts *knockouts, const struct score_row *row,
                                 const struct attn_edit *edit, struct attn_error *err)
{
    struct attn_edit_list *list = knockouts->list;
    const size_t number = list->n;

    for (size_t i = 0; i < knockouts->n; i++) {
        const size_t part = knockouts->first_part + i;

        if (names_row(knockouts, i, row) &&
            can_see_one(knockouts, row, keys_of(knockouts, i, row), edit->col0, edit->col1))
            ATTN_TRY(list->n == number ? attn_edits_append(list, edit, part, err)
                                       : attn_edits_link(list, number, part, err));
    }
    return ATTN_OK;
}

/* Appends an edit for each range of neighbouring keys that ROW loses, if ROW could look at one of
 * them. */
static enum attn_status edit_row(struct knockouts *knockouts, const struct score_row *row,
                                 struct attn_error *err)
{
    for (size_t first = 0, end; first < row->n_key; first = end) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;

        end = first + 1;
        if (!knockouts->cut[first])
            continue;
        while (end < row->n_key && knockouts->cut[end])
            end++;
        edit.at = row->at;
        if (row->is_of_all)
            edit.at.head = ATTN_ALL_HEADS;
        edit.row0 = row->query;
        edit.row1 = row->query + 1;
        edit.col0 = first;
        edit.col1 = end;
        edit.op = ATTN_EDIT_MASK;
        if (can_see_one(knockouts, row, knockouts->cut, first, end))
            ATTN_TRY(add_edit(knockouts, row, &edit, err));
    }
    return ATTN_OK;
}

static enum attn_status knock_out(struct knockouts *knockouts, struct score_row *row,
                                  struct attn_error *err)
{
    size_t n_lost;

    list_kept(knockouts, row);
    drop_hidden(knockouts, row);
    n_lost = find_cut(knockouts, row);
    if (n_lost == 0)
        return ATTN_OK;
    if (n_lost == row->n_kept)
        return attn_error_set(err, ATTN_INVALID,
                              "the knockout leaves query %zu of head %s no key to look at",
                              row->query, attn_location_name(&row->at).text);
    return edit_row(knockouts, row, err);
}

static bool is_named(const struct knockouts *knockouts, const struct score_row *row)
{
    for (size_t i = 0; i < knockouts->n; i++)
        if (names_row(knockouts, i, row))
            return true;
    return false;
}

/* Whether all heads of the layer of AT lose the same keys for QUERY, so that one edit can stand for
 * all heads. */
static bool is_of_all_heads(const struct knockouts *knockouts, const struct attn_location *at,
                            size_t query)
{
    const size_t n_head = attn_site_n_head(at->site, knockouts->scope->dims);

    if (knockouts->attention[attn_location_index(at)].kind != ATTN_ATTENTION_FULL)
        return false;
    for (size_t i = 0; i < knockouts->n; i++) {
        const struct knockout *item = &knockouts->items[i];

        if (item->heads && item->queries[query] &&
            attn_selection_count_heads(item->heads, at) < n_head)
            return false;
    }
    return true;
}

static enum attn_status edit_layer(struct knockouts *knockouts, const struct attn_location *at,
                                   struct attn_error *err)
{
    const struct attn_dims *dims = knockouts->scope->dims;
    const size_t n_head = attn_site_n_head(at->site, dims);

    for (size_t query = 0; query < dims->n_position; query++) {
        const bool is_of_all = is_of_all_heads(knockouts, at, query);
        struct score_row row = {.at = *at,
                                .query = query,
                                .n_key = attn_location_n_key(dims, at),
                                .is_cross = attn_location_is_cross(dims, at),
                                .is_of_all = is_of_all};

        for (row.at.head = 0; row.at.head < (is_of_all ? 1 : (int)n_head); row.at.head++)
            if (is_named(knockouts, &row))
                ATTN_TRY(knock_out(knockouts, &row, err));
    }
    return ATTN_OK;
}

static enum attn_status add(struct knockouts *knockouts, struct attn_error *err)
{
    const size_t n_position = knockouts->scope->dims->n_position,
                 n_source = knockouts->scope->dims->n_source;
    const size_t n_key = n_position > n_source ? n_position : n_source;
    const struct attn_dims *dims = knockouts->scope->dims;
    struct attn_location at = {.site = ATTN_SITE_ATTN_SCORES, .layer = ATTN_NO_LAYER};

    ATTN_TRY(ATTN_ALLOC(knockouts->items, knockouts->n, err));
    ATTN_TRY(ATTN_NEW(knockouts->cut, attn_alloc(n_key, 1, err)));
    ATTN_TRY(ATTN_ALLOC(knockouts->kept, n_key, err));
    for (size_t i = 0; i < knockouts->n; i++) {
        knockouts->items[i].given = knockouts->parts[i].given;
        ATTN_TRY(
            attn_error_in(read_knockout(knockouts, &knockouts->items[i], err), "knockouts", err));
    }
    while (attn_dims_next_layer(dims, &at))
        if (!attn_location_is_lacking(dims, &at))
            ATTN_TRY(edit_layer(knockouts, &at, err));
    return ATTN_OK;
}

/* Appends the edits of the knockouts of RANGE in STACK. */
static enum attn_status add_stack(const struct attn_edit_scope *scope, enum attn_model_stack stack,
                                  struct attn_edit_list *list, struct attn_edit_range range,
                                  struct attn_error *err)
{
    const struct attn_edit_scope own =
        attn_edit_scope_at(scope, &(struct attn_location){.stack = stack});
    struct knockouts knockouts = {.scope = &own,
                                  .all = scope->dims,
                                  .attention = attn_stack_is_encoder(stack)
                                                   ? attn_model_config(own.model)->attention
                                                   : own.session->attention,
                                  .stack = stack,
                                  .list = list,
                                  .n = range.end - range.first,
                                  .parts = list->parts + range.first,
                                  .first_part = range.first};
    const enum attn_status status = add(&knockouts, err);

    for (size_t i = 0; knockouts.items && i < knockouts.n; i++) {
        attn_free(knockouts.items[i].queries);
        attn_free(knockouts.items[i].keys);
        attn_free(knockouts.items[i].source_keys);
        attn_selection_free(knockouts.items[i].heads);
    }
    attn_free(knockouts.items);
    attn_free(knockouts.cut);
    attn_free(knockouts.kept);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_edits_add_knockouts(const struct attn_edit_scope *scope,
                                          struct attn_edit_list *list, struct attn_edit_range range,
                                          struct attn_error *err)
{
    /* Set to 0 when a query is found that sees one of its keys. */
    for (size_t i = range.first; i < range.end; i++)
        list->parts[i].n_hidden = 1;
    ATTN_TRY(add_stack(scope, ATTN_STACK_ONLY, list, range, err));
    return scope->dims->encoder
               ? add_stack(scope, attn_dims_own_stack(scope->dims->encoder), list, range, err)
               : ATTN_OK;
}
