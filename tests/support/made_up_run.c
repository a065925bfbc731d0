/* made_up_run.c - see made_up_run.h. */
#include "tests/support/made_up_run.h"
#include "tests/support/assert.h"
#include "trace/blocks_internal.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct attn_dims attn_made_up_small = {
    .n_layer = 2,
    .n_head = 2,
    .n_kv_head = 1,
    .d_model = 3,
    .d_head = 2,
    .d_value = 2,
    .d_mlp = 4,
    .n_vocab = 5,
    .n_position = 3,
    .n_rank = 2,
};

void attn_made_up_run_init(struct attn_made_up_run *made, const struct attn_dims *dims,
                           const char *const *words)
{
    struct attn_error err = {0};

    memset(made, 0, sizeof *made);
    made->dims = *dims;
    made->is_causal = true;
    made->room = 3;
    made->dims.sites = attn_sites_all();
    /* The run has no rows of contacts, no places of DeBERTa, and no head of SigLIP. */
    made->dims.sites = attn_sites_without(
        made->dims.sites,
        ATTN_SITES(ATTN_SITE_CONTACTS, ATTN_SITE_C2P, ATTN_SITE_P2C, ATTN_SITE_CONV_OUT,
                   ATTN_SITE_LAYER_INPUT, ATTN_SITE_LAYER_OUT, ATTN_SITE_POOL_Q, ATTN_SITE_POOL_K,
                   ATTN_SITE_POOL_V, ATTN_SITE_POOL_QK, ATTN_SITE_POOL_ATTN_SCORES,
                   ATTN_SITE_POOL_PATTERN, ATTN_SITE_POOL_Z));
    if (dims->n_rank == 0)
        made->dims.sites =
            attn_sites_without(made->dims.sites, ATTN_SITES(ATTN_SITE_PATTERN_LOWRANK));
    if (dims->d_projected == 0) /* these have one row, and not one a position */
        made->dims.sites = attn_sites_without(
            made->dims.sites,
            ATTN_SITES(ATTN_SITE_TEXT_EMBED, ATTN_SITE_IMAGE_EMBED, ATTN_SITE_SENTENCE_EMBED,
                       ATTN_SITE_TEXT_EMBED_GRAD, ATTN_SITE_IMAGE_EMBED_GRAD,
                       ATTN_SITE_SENTENCE_EMBED_GRAD));
    if (dims->d_pooled == 0)
        made->dims.sites = attn_sites_without(made->dims.sites,
                                              ATTN_SITES(ATTN_SITE_POOLED, ATTN_SITE_POOLED_GRAD));
    if (dims->n_expert == 0)
        made->dims.sites = attn_sites_without(
            made->dims.sites, ATTN_SITES(ATTN_SITE_ROUTER_LOGITS, ATTN_SITE_EXPERT_WEIGHTS,
                                         ATTN_SITE_EXPERT_INDICES));
    if (!dims->mixer)
        made->dims.sites = attn_sites_without(
            made->dims.sites,
            ATTN_SITES(ATTN_SITE_GATE, ATTN_SITE_MIXER_V, ATTN_SITE_MIXER_Q, ATTN_SITE_MIXER_K,
                       ATTN_SITE_MIXER_GATE, ATTN_SITE_DECAY, ATTN_SITE_BETA, ATTN_SITE_MIXING,
                       ATTN_SITE_MIXING_BAND, ATTN_SITE_MIXING_NORM, ATTN_SITE_MIXER_Z,
                       ATTN_SITE_MIXER_OUT));
    if (dims->picture.n == 0)
        made->dims.sites = attn_sites_without(
            made->dims.sites,
            ATTN_SITES(ATTN_SITE_PICTURE_MAP, ATTN_SITE_PICTURE_MAP_TILES, ATTN_SITE_IMAGE_FEATURES,
                       ATTN_SITE_PIXEL_VALUES, ATTN_SITE_IMAGE_FEATURES_GRAD,
                       ATTN_SITE_PIXEL_VALUES_GRAD, ATTN_SITE_DEEPSTACK, ATTN_SITE_DEEPSTACK_GRAD));
    ck_assert_uint_le(dims->n_position, ATTN_MADE_UP_MAX);
    ck_assert_msg(attn_selection_create(&made->dims, &made->selection, &err) == ATTN_OK, "%s",
                  err.message);
    for (size_t i = 0; i < dims->n_position; i++) {
        made->ids[i] = (int32_t)i + 10;
        made->tokens[i] = words ? words[i] : "w";
        made->token_sizes[i] = strlen(made->tokens[i]);
    }
    made->run = (struct attn_labels){
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
    struct attn_site_set set;

    if (attn_sites_parse(sites, &set, &err) == ATTN_OK && strcmp(sites, "*") == 0)
        attn_sites_extend(&set, attn_sites_derived());
    if (err.status == ATTN_OK && attn_selection_set_sites(made->selection, set, &err) == ATTN_OK &&
        attn_selection_set_heads(made->selection, heads, &err) == ATTN_OK)
        attn_selection_set_queries(made->selection, ATTN_STACK_ONLY, queries, &err);
    ck_assert_msg(err.status == ATTN_OK, "%s", err.message);
}

/* The sites in an order that stays when sites are added: other sites come behind these. */
static const enum attn_site numbered[] = {
    ATTN_SITE_EMBED,
    ATTN_SITE_RESID_PRE,
    ATTN_SITE_Q,
    ATTN_SITE_K,
    ATTN_SITE_V,
    ATTN_SITE_QK,
    ATTN_SITE_ATTN_SCORES,
    ATTN_SITE_PATTERN,
    ATTN_SITE_Z,
    ATTN_SITE_ATTN_OUT,
    ATTN_SITE_RESID_MID,
    ATTN_SITE_MLP_PRE,
    ATTN_SITE_MLP_POST,
    ATTN_SITE_MLP_OUT,
    ATTN_SITE_RESID_POST,
    ATTN_SITE_LN_FINAL,
    ATTN_SITE_LOGITS,
    ATTN_SITE_PATTERN_DROPPED,
    ATTN_SITE_PATTERN_LOWRANK,
};
enum { N_NUMBERED = sizeof numbered / sizeof *numbered };

static int number_of(enum attn_site site)
{
    for (int i = 0; i < N_NUMBERED; i++)
        if (numbered[i] == site)
            return i;
    return N_NUMBERED + (int)site;
}

static float number_in(enum attn_site site, int layer, int head, size_t row, size_t col)
{
    float value = (float)(number_of(site) * 4096 + layer * 1024 + head * 256 + (int)row) / 4;

    return (col % 2 ? -value : value) + (float)col / 64;
}

static float masked_value(enum attn_site site)
{
    return site == ATTN_SITE_QK ? NAN : site == ATTN_SITE_ATTN_SCORES ? -INFINITY : 0;
}

float attn_made_up_value(enum attn_site site, int layer, int head, size_t row, size_t col)
{
    bool is_masked = col > row && site != ATTN_SITE_QK && attn_site_has_keys(site);

    return is_masked ? masked_value(site) : number_in(site, layer, head, row, col);
}

bool attn_made_up_run_shows(const struct attn_made_up_run *made, enum attn_site site, int layer,
                            int head, size_t row, size_t col)
{
    if (!attn_site_has_keys(site))
        return true;
    if (made->keeps && !made->keeps(layer, head, row, col))
        return false;
    return !made->is_causal || col <= row + made->ahead || (!made->keeps && site == ATTN_SITE_QK);
}

/* Rows first .. end-1, which see n_key keys. */
struct span {
    size_t first, end, n_key;
};

/* Cells for an event: [n_row, ld]; what is no cell of it is junk. */
struct cells {
    float *data;
    int32_t *keys; /* NULL: the event is dense */
    size_t *n_kept;
};

static struct cells make_cells(size_t n_row, size_t ld, bool is_sparse)
{
    struct cells cells = {.data = malloc(n_row * ld * sizeof *cells.data)};

    ck_assert_ptr_nonnull(cells.data);
    for (size_t i = 0; i < n_row * ld; i++)
        cells.data[i] = 1e30F;
    if (!is_sparse)
        return cells;
    cells.keys = malloc(n_row * ld * sizeof *cells.keys);
    cells.n_kept = calloc(n_row, sizeof *cells.n_kept);
    ck_assert(cells.keys && cells.n_kept);
    for (size_t i = 0; i < n_row * ld; i++)
        cells.keys[i] = INT32_MAX;
    return cells;
}

/* Row R of the event that begins at row0. */
static void fill_row(const struct attn_made_up_run *made, const struct attn_trace_event *event,
                     size_t r, const struct cells *cells)
{
    size_t row = event->row0 + r, at = r * event->ld;

    for (size_t col = 0; col < event->n_col; col++) {
        bool is_shown =
            attn_made_up_run_shows(made, event->at.site, event->at.layer, event->at.head, row, col);
        float number = number_in(event->at.site, event->at.layer, event->at.head, row, col);

        if (!cells->keys) {
            cells->data[at++] = is_shown              ? number
                                : made->stand_in != 0 ? made->stand_in
                                                      : masked_value(event->at.site);
        } else if (is_shown) {
            cells->data[at] = number;
            cells->keys[at++] = (int32_t)col;
            cells->n_kept[r]++;
        }
    }
}

/* The most cells that a row of the event holds. */
static size_t most_shown(const struct attn_made_up_run *made, const struct attn_trace_event *event)
{
    size_t most = 0;

    for (size_t r = 0; r < event->n_row; r++) {
        size_t n = 0;

        for (size_t col = 0; col < event->n_col; col++)
            n += attn_made_up_run_shows(made, event->at.site, event->at.layer, event->at.head,
                                        event->row0 + r, col);
        most = n > most ? n : most;
    }
    return most;
}

static enum attn_status tell_rows(const struct attn_made_up_run *made, struct attn_writer *writer,
                                  struct attn_trace_event event, struct attn_error *err)
{
    bool is_sparse = made->keeps && !made->is_dense && attn_site_has_keys(event.at.site);
    struct cells cells;
    enum attn_status status;

    if (is_sparse && made->room > 0)
        event.ld = most_shown(made, &event) + made->room;
    cells = make_cells(event.n_row, event.ld, is_sparse);
    for (size_t r = 0; r < event.n_row; r++)
        fill_row(made, &event, r, &cells);
    event.data = cells.data;
    event.keys = cells.keys;
    event.n_kept = cells.n_kept;
    status = attn_writer_event(writer, &event, err);
    free(cells.data);
    free(cells.keys);
    free(cells.n_kept);
    return status;
}

/* The rows of one site and head: an event for each run of selected rows, with room after each
 * row. */
static enum attn_status tell(const struct attn_made_up_run *made, struct attn_writer *writer,
                             struct attn_trace_event event, struct span span,
                             struct attn_error *err)
{
    bool is_key = attn_site_layout(event.at.site) == ATTN_LAYOUT_KEY;
    enum attn_status status = ATTN_OK;
    size_t next;

    event.ld = event.n_col + made->room;
    for (size_t row = span.first; row < span.end && status == ATTN_OK; row = next) {
        next = row + 1;
        if (!is_key && !attn_selection_has_query(made->selection, ATTN_STACK_ONLY, row))
            continue;
        while (next < span.end &&
               (is_key || attn_selection_has_query(made->selection, ATTN_STACK_ONLY, next)))
            next++;
        event.row0 = row, event.n_row = next - row;
        status = tell_rows(made, writer, event, err);
    }
    return status;
}

/* What rows of a layer are told: those of a source all in the first block or feed. */
static struct span span_in_layer(const struct attn_made_up_run *made, enum attn_site site,
                                 int layer, struct span span)
{
    bool is_cross = layer != ATTN_NO_LAYER && made->dims.is_cross && made->dims.is_cross[layer];

    if (is_cross)
        span.n_key = made->dims.n_source;
    if (is_cross && attn_site_layout(site) == ATTN_LAYOUT_KEY)
        span.end = span.first == 0 ? span.n_key : span.first;
    return span;
}

static enum attn_status tell_heads(const struct attn_made_up_run *made, struct attn_writer *writer,
                                   enum attn_site site, int layer, struct span span,
                                   struct attn_error *err)
{
    enum attn_site_layout layout = attn_site_layout(site);
    struct attn_trace_event event = {
        .at.site = site,
        .at.layer = layer,
        .at.head = ATTN_ALL_HEADS,
        .is_causal = made->is_causal && !made->is_dense,
        .ahead = made->ahead,
    };
    size_t n_head = layout == ATTN_LAYOUT_KEY ? made->dims.n_kv_head : made->dims.n_head;
    enum attn_status status = ATTN_OK;

    span = span_in_layer(made, site, layer, span);
    event.n_col = attn_site_has_keys(site) ? span.n_key : attn_site_width(site, &made->dims);
    if (!attn_site_has_heads(site))
        return tell(made, writer, event, span, err);
    for (size_t h = 0; h < n_head && status == ATTN_OK; h++) {
        event.at.head = (int)h;
        if (layout == ATTN_LAYOUT_KEY
                ? attn_selection_has_tensor_head(
                      made->selection,
                      &(struct attn_location){.layer = layer, .head = (int)h, .site = ATTN_SITE_K})
                : attn_selection_has_head(made->selection,
                                          &(struct attn_location){.layer = layer, .head = (int)h}))
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
            !attn_selection_wants_block(made->selection, site, of))
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

size_t attn_made_up_run_n_tensor(const struct attn_made_up_run *made)
{
    size_t n = 0;

    for (int site = 0; site < ATTN_N_SITE; site++)
        if (attn_sites_have(made->dims.sites, site))
            n += attn_site_is_in_layer((enum attn_site)site) ? made->dims.n_layer : 1;
    return n;
}
