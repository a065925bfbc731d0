/* made_up_run.c - see made_up_run.h. */
#include "tests/support/made_up_run.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void attn_made_up_run_init(struct attn_made_up_run *made, const struct attn_dims *dims,
                           const char *const *words)
{
    struct attn_error err = {0};

    memset(made, 0, sizeof *made);
    made->dims = *dims;
    made->dims.sites = ATTN_SITE_BIT(ATTN_N_SITE) - 1;
    if (dims->n_rank == 0)
        made->dims.sites &= ~ATTN_SITE_BIT(ATTN_SITE_PATTERN_LOWRANK);
    ck_assert_uint_le(dims->n_position, ATTN_MADE_UP_MAX);
    ck_assert_msg(attn_selection_create(&made->dims, &made->selection, &err) == ATTN_OK, "%s",
                  err.message);
    for (size_t i = 0; i < dims->n_position; i++) {
        made->ids[i] = (int32_t)i + 10;
        made->tokens[i] = words ? words[i] : "w";
        made->token_sizes[i] = strlen(made->tokens[i]);
    }
    made->run = (struct attn_run){
        .selection = made->selection,
        .model = "made-up",
        .ids = made->ids,
        .tokens = made->tokens,
        .token_sizes = made->token_sizes,
    };
}

void attn_made_up_run_release(struct attn_made_up_run *made)
{
    attn_selection_free(made->selection);
}

void attn_made_up_run_select(struct attn_made_up_run *made, const char *sites, const char *heads,
                             const char *queries)
{
    struct attn_error err = {0};
    uint64_t set;

    if (attn_sites_parse(sites, &set, &err) == ATTN_OK &&
        attn_selection_set_sites(made->selection, set, &err) == ATTN_OK &&
        attn_selection_set_heads(made->selection, heads, &err) == ATTN_OK)
        attn_selection_set_queries(made->selection, queries, &err);
    ck_assert_msg(err.status == ATTN_OK, "%s", err.message);
}

/* A number for each site that stays when sites are added: theirs are the last. */
static int number_of(enum attn_site site)
{
    switch (site) {
    case ATTN_SITE_PATTERN_DROPPED:
        return ATTN_N_SITE - 2;
    case ATTN_SITE_PATTERN_LOWRANK:
        return ATTN_N_SITE - 1;
    default:
        return (int)site < ATTN_SITE_PATTERN_DROPPED ? (int)site : (int)site - 2;
    }
}

float attn_made_up_value(enum attn_site site, int layer, int head, size_t row, size_t col)
{
    bool is_masked =
        col > row && site != ATTN_SITE_QK && attn_site_layout(site) == ATTN_LAYOUT_MATRIX;
    float value = (float)(number_of(site) * 4096 + layer * 1024 + head * 256 + (int)row) / 4;

    if (is_masked)
        return site == ATTN_SITE_ATTN_SCORES ? -INFINITY : 0;
    return (col % 2 ? -value : value) + (float)col / 64;
}

/* Rows first .. end-1, which see n_key keys. */
struct span {
    size_t first, end, n_key;
};

/* The rows of one site and head: an event for each run of selected rows, with room after each
 * row. */
static enum attn_status tell(const struct attn_made_up_run *made, struct attn_writer *writer,
                             struct attn_trace_event event, struct span span,
                             struct attn_error *err)
{
    bool is_key = attn_site_layout(event.site) == ATTN_LAYOUT_KEY;
    enum attn_status status = ATTN_OK;
    size_t next;

    event.ld = event.n_col + 3;
    for (size_t row = span.first; row < span.end && status == ATTN_OK; row = next) {
        float *data;

        next = row + 1;
        if (!is_key && !attn_selection_has_query(made->selection, row))
            continue;
        while (next < span.end && (is_key || attn_selection_has_query(made->selection, next)))
            next++;
        data = malloc((next - row) * event.ld * sizeof *data);
        ck_assert_ptr_nonnull(data);
        for (size_t i = 0; i < (next - row) * event.ld; i++)
            data[i] = attn_made_up_value(event.site, event.layer, event.head, row + i / event.ld,
                                         i % event.ld);
        event.row0 = row, event.n_row = next - row, event.data = data;
        status = attn_writer_event(writer, &event, err);
        free(data);
    }
    return status;
}

static enum attn_status tell_heads(const struct attn_made_up_run *made, struct attn_writer *writer,
                                   enum attn_site site, int layer, struct span span,
                                   struct attn_error *err)
{
    enum attn_site_layout layout = attn_site_layout(site);
    struct attn_trace_event event = {
        .site = site, .layer = layer, .head = ATTN_ALL_HEADS, .is_causal = true};
    size_t n_head = layout == ATTN_LAYOUT_KEY ? made->dims.n_kv_head : made->dims.n_head;
    enum attn_status status = ATTN_OK;

    event.n_col = layout == ATTN_LAYOUT_MATRIX ? span.n_key : attn_site_width(site, &made->dims);
    if (layout == ATTN_LAYOUT_VECTOR)
        return tell(made, writer, event, span, err);
    for (size_t h = 0; h < n_head && status == ATTN_OK; h++) {
        event.head = (int)h;
        if (layout == ATTN_LAYOUT_KEY ? attn_selection_has_kv_head(made->selection, layer, (int)h)
                                      : attn_selection_has_head(made->selection, layer, (int)h))
            status = tell(made, writer, event, span, err);
    }
    return status;
}

/* The sites of one layer, or of the model on one side of the layers. */
static enum attn_status tell_sites(const struct attn_made_up_run *made, struct attn_writer *writer,
                                   int layer, struct span span, struct attn_error *err)
{
    bool is_layer = layer >= 0 && layer < (int)made->dims.n_layer;
    enum attn_status status = ATTN_OK;

    for (int site = 0; site < ATTN_N_SITE && status == ATTN_OK; site++) {
        int of = is_layer ? layer : ATTN_NO_LAYER;

        if (attn_site_is_in_layer(site) != is_layer ||
            (!is_layer && (site == ATTN_SITE_EMBED) != (layer < 0)) ||
            !attn_selection_wants(made->selection, site, of))
            continue;
        status = tell_heads(made, writer, site, of, span, err);
    }
    return status;
}

enum attn_status attn_made_up_run_play(const struct attn_made_up_run *made,
                                       struct attn_writer *writer, size_t n_row,
                                       struct attn_error *err)
{
    size_t n = made->dims.n_position, end;
    enum attn_status status = ATTN_OK;

    for (int layer = -1; layer <= (int)made->dims.n_layer; layer++)
        for (size_t row = 0; row < n && status == ATTN_OK; row = end) {
            end = n_row < n - row ? row + n_row : n;
            status = tell_sites(made, writer, layer, (struct span){row, end, n}, err);
        }
    return status;
}

enum attn_status attn_made_up_run_play_steps(const struct attn_made_up_run *made,
                                             struct attn_writer *writer, size_t step,
                                             struct attn_error *err)
{
    size_t n = made->dims.n_position, end;
    enum attn_status status = ATTN_OK;

    for (size_t row = 0; row < n; row = end) {
        end = step < n - row ? row + step : n;
        for (int layer = -1; layer <= (int)made->dims.n_layer && status == ATTN_OK; layer++)
            status = tell_sites(made, writer, layer, (struct span){row, end, end}, err);
    }
    return status;
}
