/*
 * run_edits.c - from the interventions of a request to the edits of a session: ablations, the edits
 * that the request has, ablations by the mean, knockouts, patches.
 */
#include "run/run_internal.h"

#include "attention/attention_internal.h"
#include "attention/keys.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/ndarray_internal.h"
#include "model/session.h"
#include "run/intervention_internal.h"
#include "run/position.h"
#include "run/request_internal.h"
#include "trace/selection_internal.h"
#include "trace/site_internal.h"

#include <math.h>
#include <string.h>

static enum attn_status append(struct attn_run *run, const struct attn_edit *edit,
                               struct attn_error *err)
{
    void *block = run->edits;

    ATTN_TRY(attn_grow(&block, &run->edit_capacity, run->n_edit + 1, sizeof *run->edits, err));
    run->edits = block;
    run->edits[run->n_edit++] = *edit;
    return ATTN_OK;
}

/* --- Zeros ----------------------------------------------------------------------------------- */

/* SITE becomes 0 in the heads that SPEC means; NULL: in none. */
static enum attn_status add_zeros(struct attn_run *run, const char *spec, enum attn_site site,
                                  struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    enum attn_status status = ATTN_OK;
    struct attn_selection *heads;

    if (!spec)
        return ATTN_OK;
    ATTN_TRY(attn_run_select_heads(spec, dims, &heads, err));
    for (size_t i = 0; status == ATTN_OK && i < dims->n_layer * dims->n_head; i++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;

        edit.site = site;
        edit.layer = (int)(i / dims->n_head);
        edit.head = (int)(i % dims->n_head);
        edit.op = ATTN_EDIT_ZERO;
        if (attn_selection_has_head(heads, edit.layer, edit.head))
            status = append(run, &edit, err);
    }
    attn_selection_free(heads);
    return status;
}

static enum attn_status add_given(struct attn_run *run, struct attn_error *err)
{
    const struct attn_request_edits *given = &run->request.edits;

    ATTN_TRY(attn_error_in(add_zeros(run, given->ablate, ATTN_SITE_Z, err), "ablate", err));
    ATTN_TRY(attn_error_in(add_zeros(run, given->ablate_pattern, ATTN_SITE_PATTERN, err),
                           "ablate_pattern", err));
    for (size_t i = 0; i < given->n; i++)
        ATTN_TRY(append(run, &given->items[i], err));
    return ATTN_OK;
}

/* --- Means ----------------------------------------------------------------------------------- */

struct mean_ablation {
    struct attn_run *run;
    const struct attn_dims *dims;
    struct attn_selection *heads; /* owns; z of those that are meant */
    double *sums;                 /* [n_layer, n_head, Ev] owns */
};

/* An attn_trace_fn: rows of z of one head. */
static enum attn_status add_rows(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    const struct mean_ablation *ablation = user;
    double *sums =
        ablation->sums + ((size_t)event->layer * ablation->dims->n_head + (size_t)event->head) *
                             ablation->dims->d_value;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++)
        for (size_t k = 0; k < event->n_col; k++)
            sums[k] += (double)event->data[r * event->ld + k];
    return ATTN_OK;
}

/* Feeds the text and its source to a session without edits. */
static enum attn_status find_sums(struct mean_ablation *ablation, struct attn_error *err)
{
    const struct attn_run *run = ablation->run;
    const struct attn_trace trace = {ablation->heads, add_rows, ablation};
    struct attn_session_options options = attn_run_session_options(run);
    enum attn_status status = ATTN_OK;
    struct attn_session *session;

    options.trace = &trace;
    options.cache = ATTN_CACHE_ONE_LAYER;
    options.pool = attn_host_pool(run->host, (double)INFINITY);
    ATTN_TRY(attn_error_at(attn_session_create(run->model, &options, &session, err),
                           ATTN_STAGE_OPTIONS, err));
    if (run->source.n > 0)
        status = attn_session_set_source(session, run->source.rows, run->source.n, err);
    if (status == ATTN_OK)
        status = run->text.rows
                     ? attn_session_feed_embeddings(session, run->text.rows, run->text.n, err)
                     : attn_session_feed(session, run->text.ids, run->text.n, err);
    attn_session_free(session);
    return attn_error_at(status, status == ATTN_INVALID ? ATTN_STAGE_INPUT : ATTN_STAGE_MODEL, err);
}

/* The context vectors of a head become their mean: ROWS [n_row, Ev], each the same. */
static enum attn_status add_mean(struct mean_ablation *ablation, int layer, int head, float *rows,
                                 size_t n_row, struct attn_error *err)
{
    const size_t width = ablation->dims->d_value;
    const double *sums =
        ablation->sums + ((size_t)layer * ablation->dims->n_head + (size_t)head) * width;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    for (size_t i = 0; i < n_row * width; i++)
        rows[i] = (float)(sums[i % width] / (double)ablation->run->text.n);
    edit.site = ATTN_SITE_Z;
    edit.layer = layer;
    edit.head = head;
    edit.row1 = n_row;
    edit.col1 = width;
    edit.op = ATTN_EDIT_REPLACE;
    edit.data = rows;
    edit.ld = width;
    return append(ablation->run, &edit, err);
}

/* The positions of continuations have the mean, too. */
static enum attn_status add_means(struct mean_ablation *ablation, struct attn_error *err)
{
    struct attn_run *run = ablation->run;
    const size_t n_row = run->text.n + run->continuations.n_more;
    const size_t n_layer = ablation->dims->n_layer, n_head = ablation->dims->n_head;
    float *rows;
    size_t n = 0;

    for (size_t layer = 0; layer < n_layer; layer++)
        n += attn_selection_n_head(ablation->heads, (int)layer);
    rows = run->means = attn_alloc(n, n_row * ablation->dims->d_value * sizeof *run->means, err);
    if (!rows)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < n_layer * n_head; i++) {
        const int layer = (int)(i / n_head), head = (int)(i % n_head);

        if (!attn_selection_has_head(ablation->heads, layer, head))
            continue;
        ATTN_TRY(add_mean(ablation, layer, head, rows, n_row, err));
        rows += n_row * ablation->dims->d_value;
    }
    return ATTN_OK;
}

/* Chooses the heads, of whose sites only z is watched. */
static enum attn_status choose_mean_heads(struct mean_ablation *ablation, struct attn_error *err)
{
    const char *spec = ablation->run->request.edits.ablate_mean;

    ATTN_TRY(attn_error_in(attn_run_select_heads(spec, ablation->dims, &ablation->heads, err),
                           "ablate_mean", err));
    return attn_selection_set_sites(ablation->heads, ATTN_SITE_BIT(ATTN_SITE_Z), err);
}

static enum attn_status ablate_by_mean(struct mean_ablation *ablation, struct attn_error *err)
{
    const struct attn_dims *dims = ablation->dims;

    ATTN_TRY(attn_error_at(choose_mean_heads(ablation, err), ATTN_STAGE_OPTIONS, err));
    ablation->sums = attn_alloc(dims->n_layer * dims->n_head, /* of whole heads */
                                dims->d_value * sizeof *ablation->sums, err);
    if (!ablation->sums)
        return ATTN_NO_MEMORY;
    ATTN_TRY(find_sums(ablation, err));
    return add_means(ablation, err);
}

/* Runs the text without any edits, and puts the mean over its positions instead of the context
 * vectors of the heads that the request names. */
static enum attn_status add_mean_ablation(struct attn_run *run, struct attn_error *err)
{
    struct mean_ablation ablation = {.run = run, .dims = attn_selection_dims(run->selection)};
    enum attn_status status;

    if (!run->request.edits.ablate_mean)
        return ATTN_OK;
    status = ablate_by_mean(&ablation, err);
    attn_selection_free(ablation.heads);
    attn_free(ablation.sums);
    return status;
}

/* --- Knockouts --------------------------------------------------------------------------------
 *
 * Attention knockout (Geva et al. 2304.14767). Queries and keys are positions (run/position.h).
 * Their scores become minus infinity before the softmax. In layers that attend to a source keys are
 * those of the source, by number or by a word of it. A knockout that changes nothing is noted by
 * name.
 */

/* A knockout in this run. */
struct knockout {
    const struct attn_knockout *given;
    unsigned char *queries;            /* [T] owns; whether a position is meant */
    unsigned char *keys, *source_keys; /* [T], [S] own; the same of keys, in layers that attend to
                                          the text and to the source */
    struct attn_selection *heads;      /* owns */
};

struct knockouts {
    struct attn_run *run;
    const struct attn_config *config;
    const struct attn_dims *dims;
    struct knockout *items; /* [n] owns */
    size_t n;
    unsigned char *cut; /* [T or S] owns; keys that one row loses */
    int32_t *kept;      /* [T or S] owns; keys that it can look at */
};

/* One row of a matrix, and how many of knockouts->kept it has. */
struct score_row {
    int layer, head;
    size_t query, n_key, n_kept;
};

/* Finds the positions and heads that ITEM's knockout names. */
static enum attn_status read_knockout(const struct knockouts *knockouts, struct knockout *item,
                                      struct attn_error *err)
{
    const struct attn_knockout *given = item->given;
    const struct attn_key_flags flags = {
        attn_alloc(knockouts->dims->n_position, 1, err),
        attn_alloc(knockouts->dims->n_source + 1, 1, err)}; /* there may be none */

    item->keys = flags.text;
    item->source_keys = flags.source;
    item->queries = attn_alloc(knockouts->dims->n_position, 1, err);
    if (!item->queries || !item->keys || !item->source_keys)
        return ATTN_NO_MEMORY;
    ATTN_TRY(attn_run_find_positions(knockouts->run, given->queries, item->queries, err));
    ATTN_TRY(attn_run_select_heads(given->heads, knockouts->dims, &item->heads, err));
    return attn_run_find_keys(knockouts->run, item->heads, given->keys, flags, err);
}

/* Lists the keys that ROW can look at. A mask after the softmax hides none: the sum is over all. */
static void list_kept(const struct knockouts *knockouts, struct score_row *row)
{
    struct attn_attention attention = knockouts->run->attention.layers[row->layer];
    const struct attn_key_row keys = {row->layer, row->head, row->query, row->query, row->n_key};
    const bool has_pairs = attention.kind != ATTN_ATTENTION_LINEAR &&
                           attention.kind != ATTN_ATTENTION_LOWRANK; /* else a session refuses */

    if (knockouts->config->is_cross[row->layer] && attention.mask == ATTN_MASK_CAUSAL)
        attention.mask = ATTN_MASK_NONE; /* the source has no order with the text */
    attn_attention_resolve_stride(&attention, row->n_key);
    if (has_pairs && attention.masking == ATTN_MASKING_INF) {
        row->n_kept = attn_keys_list(&attention, &keys, knockouts->kept);
        return;
    }
    row->n_kept = row->n_key;
    for (size_t key = 0; key < row->n_key; key++)
        knockouts->kept[key] = (int32_t)key;
}

/* Marks the keys that ROW loses to the knockouts; returns how many of those that it can look at. */
static size_t find_cut(const struct knockouts *knockouts, const struct score_row *row)
{
    const bool is_cross = knockouts->config->is_cross[row->layer];
    size_t n_lost = 0;

    memset(knockouts->cut, 0, row->n_key);
    for (size_t i = 0; i < knockouts->n; i++) {
        const struct knockout *knockout = &knockouts->items[i];
        const unsigned char *keys = is_cross ? knockout->source_keys : knockout->keys;

        if (!knockout->queries[row->query] ||
            !attn_selection_has_head(knockout->heads, row->layer, row->head))
            continue;
        for (size_t key = 0; key < row->n_key; key++)
            knockouts->cut[key] |= keys[key];
        for (size_t k = 0; k < row->n_kept; k++)
            knockouts->run->knocks_out[i] |= keys[knockouts->kept[k]];
    }
    for (size_t k = 0; k < row->n_kept; k++)
        n_lost += knockouts->cut[knockouts->kept[k]];
    return n_lost;
}

/* Whether ROW can look at one of keys FIRST .. END-1. */
static bool keeps(const struct knockouts *knockouts, const struct score_row *row, size_t first,
                  size_t end)
{
    size_t k = 0;

    while (k < row->n_kept && (size_t)knockouts->kept[k] < first)
        k++;
    return k < row->n_kept && (size_t)knockouts->kept[k] < end;
}

/* An edit for each run of neighbours among the keys that are cut and that ROW can look at one
 * of. */
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
        edit.site = ATTN_SITE_ATTN_SCORES;
        edit.layer = row->layer;
        edit.head = row->head;
        edit.row0 = row->query;
        edit.row1 = row->query + 1;
        edit.col0 = first;
        edit.col1 = end;
        edit.op = ATTN_EDIT_MASK;
        if (keeps(knockouts, row, first, end))
            ATTN_TRY(append(knockouts->run, &edit, err));
    }
    return ATTN_OK;
}

static enum attn_status knock_out(struct knockouts *knockouts, struct score_row *row,
                                  struct attn_error *err)
{
    size_t n_lost;

    list_kept(knockouts, row);
    n_lost = find_cut(knockouts, row);
    if (n_lost == 0)
        return ATTN_OK;
    if (n_lost == row->n_kept)
        return attn_error_set(err, ATTN_INVALID,
                              "the knockout leaves query %zu of head %d.%d no key to look at",
                              row->query, row->layer, row->head);
    return edit_row(knockouts, row, err);
}

/* Whether a knockout names the query of ROW. */
static bool is_named(const struct knockouts *knockouts, const struct score_row *row)
{
    for (size_t i = 0; i < knockouts->n; i++)
        if (knockouts->items[i].queries[row->query] &&
            attn_selection_has_head(knockouts->items[i].heads, row->layer, row->head))
            return true;
    return false;
}

static enum attn_status knock_all_out(struct knockouts *knockouts, struct attn_error *err)
{
    const struct attn_dims *dims = knockouts->dims;
    const size_t n_key = dims->n_position > dims->n_source ? dims->n_position : dims->n_source;

    knockouts->items = attn_alloc(knockouts->n, sizeof *knockouts->items, err);
    knockouts->run->knocks_out = attn_alloc(knockouts->n, sizeof *knockouts->run->knocks_out, err);
    knockouts->cut = attn_alloc(n_key, 1, err);
    knockouts->kept = attn_alloc(n_key, sizeof *knockouts->kept, err);
    if (!knockouts->items || !knockouts->run->knocks_out || !knockouts->cut || !knockouts->kept)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < knockouts->n; i++) {
        knockouts->items[i].given = &knockouts->run->request.edits.knockouts[i];
        ATTN_TRY(
            attn_error_in(read_knockout(knockouts, &knockouts->items[i], err), "knockouts", err));
    }
    for (size_t i = 0; i < dims->n_layer * dims->n_head * dims->n_position; i++) {
        const size_t head = i / dims->n_position;
        struct score_row row = {.layer = (int)(head / dims->n_head),
                                .head = (int)(head % dims->n_head),
                                .query = i % dims->n_position};

        row.n_key = attn_site_n_key(dims, row.layer);
        if (is_named(knockouts, &row))
            ATTN_TRY(knock_out(knockouts, &row, err));
    }
    for (size_t i = 0; i < knockouts->n; i++)
        if (!knockouts->run->knocks_out[i])
            attn_request_note(
                &knockouts->run->request,
                "the knockout '%s' changes nothing: none of its queries can look at "
                "one of its keys",
                attn_quote_string(attn_knockout_name(knockouts->items[i].given)).text);
    return ATTN_OK;
}

static enum attn_status add_knockouts(struct attn_run *run, struct attn_error *err)
{
    struct knockouts knockouts = {.run = run,
                                  .config = attn_model_config(run->model),
                                  .dims = attn_selection_dims(run->selection),
                                  .n = run->request.edits.n_knockout};
    enum attn_status status;

    if (knockouts.n == 0)
        return ATTN_OK;
    status = knock_all_out(&knockouts, err);
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

/* --- Patches ---------------------------------------------------------------------------------
 *
 * What another run wrote instead of a tensor: a site of a layer, whole, with as many positions as
 * the text has, and all heads.
 */

/* A patch in this run. */
struct patch {
    const struct attn_patch *given;
    size_t n_row, n_head, width; /* of the tensor; n_head: 1 for sites without heads */
    bool has_heads, is_matrix;   /* [H, T, S]; else [T, n] or [T, H, n] */
    unsigned char *rows;         /* [n_row] owns; those that are meant; NULL: all */
};

static void find_sizes(const struct attn_run *run, struct patch *patch)
{
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const enum attn_site_layout layout = attn_site_layout(patch->given->site);
    const size_t n_key = attn_site_n_key(dims, patch->given->layer);

    patch->n_head = attn_patch_n_head(patch->given, attn_model_config(run->model));
    patch->has_heads = layout != ATTN_LAYOUT_VECTOR;
    patch->is_matrix = patch->has_heads && layout != ATTN_LAYOUT_QUERY && layout != ATTN_LAYOUT_KEY;
    patch->n_row = layout == ATTN_LAYOUT_KEY ? n_key : dims->n_position;
    patch->width = patch->is_matrix ? n_key : attn_site_width(patch->given->site, dims);
}

/* Whether the array, without leading sizes of 1, is the whole tensor. */
static enum attn_status check_shape(const struct patch *patch, struct attn_error *err)
{
    const struct attn_ndarray *values = &patch->given->values;
    const size_t expected[] = {patch->is_matrix ? patch->n_head : patch->n_row,
                               patch->is_matrix   ? patch->n_row
                               : patch->has_heads ? patch->n_head
                                                  : patch->width,
                               patch->width};
    const int rank = patch->has_heads ? 3 : 2;
    const size_t *shape = values->shape;
    int n = values->rank;
    char found[ATTN_SHAPE_TEXT_SIZE], name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    for (; n > rank && shape[0] == 1; n--)
        shape++;
    if (n == rank && memcmp(shape, expected, (size_t)rank * sizeof *shape) == 0)
        return ATTN_OK;
    name[attn_site_archive_name(patch->given->site, patch->given->layer, name)] = '\0';
    return attn_error_set(err, ATTN_INVALID, "'%s' in '%s' is %s, expected [%zu, %zu%s", name,
                          attn_quote_string(values->name ? values->name : "patches").text,
                          attn_shape_text(values->rank, values->shape, found), expected[0],
                          expected[1], patch->has_heads ? ", ...], all of it" : "]");
}

/* The edit of rows FIRST .. END-1 of one head. */
static struct attn_edit edit_of(const struct patch *patch, size_t head, size_t first, size_t end)
{
    const float *values = patch->given->values.data;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.site = patch->given->site;
    edit.layer = patch->given->layer;
    edit.head = patch->has_heads ? (int)head : ATTN_ALL_HEADS;
    edit.row0 = first;
    edit.row1 = end;
    edit.col1 = patch->width;
    edit.op = ATTN_EDIT_REPLACE;
    edit.ld = patch->is_matrix ? patch->width : patch->n_head * patch->width;
    edit.data = patch->is_matrix ? values + (head * patch->n_row + first) * patch->width
                                 : values + (first * patch->n_head + head) * patch->width;
    return edit;
}

/* Appends an edit per head and run of neighbours among the rows that are meant. */
static enum attn_status append_edits(struct attn_run *run, const struct patch *patch,
                                     struct attn_error *err)
{
    const unsigned char *rows = patch->rows;

    for (size_t head = 0; head < patch->n_head; head++) {
        if (patch->given->head != ATTN_ALL_HEADS && head != (size_t)patch->given->head)
            continue;
        for (size_t first = 0, end; first < patch->n_row; first = end) {
            struct attn_edit edit;

            end = first + 1;
            if (rows && !rows[first])
                continue;
            while (end < patch->n_row && (!rows || rows[end]))
                end++;
            edit = edit_of(patch, head, first, end);
            ATTN_TRY(append(run, &edit, err));
        }
    }
    return ATTN_OK;
}

/* Looks whether the model has what PATCH names, and finds the positions. */
static enum attn_status find_rows(const struct attn_run *run, struct patch *patch,
                                  struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(run->model);
    const struct attn_patch *given = patch->given;

    ATTN_TRY(attn_patch_check(given, config, err));
    find_sizes(run, patch);
    if (!given->positions)
        return ATTN_OK;
    patch->rows = attn_alloc(patch->n_row, 1, err);
    if (!patch->rows)
        return ATTN_NO_MEMORY;
    return attn_error_in(
        attn_site_layout(given->site) == ATTN_LAYOUT_KEY && config->is_cross[given->layer]
            ? attn_run_find_source_positions(run, given->positions, patch->rows, err)
            : attn_run_find_positions(run, given->positions, patch->rows, err),
        "patches", err);
}

static enum attn_status put_patch(struct attn_run *run, struct patch *patch, struct attn_error *err)
{
    ATTN_TRY(attn_error_at(find_rows(run, patch, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_error_at(check_shape(patch, err), ATTN_STAGE_INPUT, err));
    return append_edits(run, patch, err);
}

static enum attn_status add_patches(struct attn_run *run, struct attn_error *err)
{
    for (size_t i = 0; i < run->request.edits.n_patch; i++) {
        struct patch patch = {.given = &run->request.edits.patches[i]};
        const enum attn_status status = put_patch(run, &patch, err);

        attn_free(patch.rows);
        ATTN_TRY(status);
    }
    return ATTN_OK;
}

/* --- All of them ----------------------------------------------------------------------------- */

enum attn_status attn_run_find_edits(struct attn_run *run, struct attn_error *err)
{
    ATTN_TRY(attn_error_at(add_given(run, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(add_mean_ablation(run, err));
    ATTN_TRY(add_knockouts(run, err));
    return add_patches(run, err);
}
