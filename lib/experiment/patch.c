/* patch.c - see patch.h. */
#include "experiment/patch.h"

#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "experiment/patch_internal.h"
#include "experiment/trial.h"
#include "run/position.h"
#include "trace/site_internal.h"

#include <math.h>
#include <string.h>

static const double smallest_difference = ATTN_PATCH_SMALLEST_DIFFERENCE;

enum {
    PART,
    LAYER,
    POSITION,
    PLACE,
    TOKEN,
    HEAD,
    KV_HEAD,
    VALUE,
    CHANGE,
    EFFECT,
    CONTROL,
    CONTROL_SD,
    N_COLUMN
};

enum { SOURCE_ROW = 1, FIRST_PIECE = 2 }; /* after the base */

static const struct attn_column columns[N_COLUMN] = {
    [PART] = ATTN_COLUMN("part", TEXT),
    [LAYER] = ATTN_COLUMN("layer", INTEGER),
    [POSITION] = ATTN_COLUMN("position", INTEGER),
    [PLACE] = ATTN_COLUMN("position", TEXT),
    [TOKEN] = ATTN_COLUMN("token", TEXT),
    [HEAD] = ATTN_COLUMN("head", INTEGER),
    [KV_HEAD] = ATTN_COLUMN("kv_head", INTEGER),
    [VALUE] = ATTN_COLUMN_REAL("value", 6, NULL, SIGNED),
    [CHANGE] = ATTN_COLUMN_REAL("change", 6, NULL, SIGNED),
    [EFFECT] = ATTN_COLUMN_REAL("effect", 6, NULL, SIGNED),
    [CONTROL] = ATTN_COLUMN_REAL("control", 6, NULL, SIGNED),
    [CONTROL_SD] = ATTN_COLUMN_REAL("control_sd", 6, NULL, POSITIVE),
};

struct patch {
    struct attn_frame frame; /* its run is that of the clean text, the other that of the corrupted
                                one, its capture that of the source */
    const struct attn_patch_args *args;
    struct attn_run *base, *source; /* of the two: that which is patched, that which gives */
    enum attn_site site;
    bool is_by_head;
    struct attn_answer answer; /* in the run that is patched */
    struct attn_reply source_reply;
    const char *queries;                          /* of a head; NULL: all */
    unsigned char *is_meant, *is_meant_of_source; /* [T], [S] the frame's; rows of a head */
    bool can_restore;                             /* the two differ enough for effects */
    struct attn_patch_places places;              /* those that are patched */
    size_t n_each;                                /* of a layer */
    struct attn_sets pieces;                      /* a set each */
};

/* --- What is asked for ------------------------------------------------------------------------ */

enum attn_status attn_patch_find_site(const char *given, bool is_estimated, enum attn_site *site,
                                      struct attn_error *err)
{
    static const char list[] = "resid_pre, resid_mid, resid_post, attn_out, mlp_out, q, k, v, z";
    static const char after[] = ", or where norms come after the sums normalized_resid_mid or "
                                "normalized_resid_post";
    static const enum attn_site sites[] = {ATTN_SITE_RESID_PRE,
                                           ATTN_SITE_RESID_MID,
                                           ATTN_SITE_RESID_POST,
                                           ATTN_SITE_ATTN_OUT,
                                           ATTN_SITE_MLP_OUT,
                                           ATTN_SITE_Q,
                                           ATTN_SITE_K,
                                           ATTN_SITE_V,
                                           ATTN_SITE_Z,
                                           ATTN_SITE_PATTERN,
                                           ATTN_SITE_NORMALIZED_RESID_MID,
                                           ATTN_SITE_NORMALIZED_RESID_POST,
                                           ATTN_SITE_MLP_POST};
    const size_t n = sizeof sites / sizeof *sites - (is_estimated ? 0 : 1);
    const char *name = given ? given : "resid_pre";

    for (size_t i = 0; i < n; i++)
        if (strcmp(attn_site_name(sites[i]), name) == 0) {
            *site = sites[i];
            return ATTN_OK;
        }
    if (strcmp(name, attn_site_name(ATTN_SITE_MLP_POST)) == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "neurons of 'mlp_post' are too many to patch each: they need "
                              "`estimate`");
    return attn_error_set(err, ATTN_INVALID, "'%s' cannot be patched, expected one of %s%s%s",
                          attn_quote_string(name).text, list,
                          is_estimated ? ", pattern or mlp_post" : " or pattern",
                          is_estimated ? "" : after);
}

/* "5 tokens: 'The', ' keys'" of RUN. */
static void list_tokens(const struct attn_run *run, char *out, size_t size)
{
    const struct attn_sequence *text = &run->text;
    size_t used = 0;

    attn_fixed_text_append(out, size, &used, "%zu token%s", text->n, text->n == 1 ? "" : "s");
    for (size_t i = 0; text->tokens.bytes && i < text->n; i++) {
        const struct attn_quote token = attn_quote(text->tokens.bytes[i], text->tokens.sizes[i]);

        attn_fixed_text_append(out, size, &used, "%s'%s'", i > 0 ? ", " : ": ", token.text);
    }
}

enum attn_status attn_patch_check_lengths(const struct attn_frame *frame, struct attn_error *err)
{
    const struct attn_image_grid *of_clean = &frame->run->text.grid,
                                 *of_corrupted = &frame->other->text.grid; /* zeros of texts */
    const size_t n_source = frame->run->source.n;
    char clean[320], corrupted[320];

    if (n_source != frame->other->source.n)
        return attn_error_at(attn_error_set(err, ATTN_INVALID,
                                            "the source of the clean text has %zu rows, that of "
                                            "the corrupted one %zu; expected as many",
                                            n_source, frame->other->source.n),
                             ATTN_STAGE_INPUT, err);
    if (of_clean->n_row != of_corrupted->n_row || of_clean->n_col != of_corrupted->n_col)
        return attn_error_at(attn_error_set(err, ATTN_INVALID,
                                            "the clean picture has %zu x %zu patches, the "
                                            "corrupted one %zu x %zu; expected as many",
                                            of_clean->n_row, of_clean->n_col, of_corrupted->n_row,
                                            of_corrupted->n_col),
                             ATTN_STAGE_INPUT, err);
    if (frame->run->text.n == frame->other->text.n)
        return ATTN_OK;
    list_tokens(frame->run, clean, sizeof clean);
    list_tokens(frame->other, corrupted, sizeof corrupted);
    attn_error_set(err, ATTN_INVALID,
                   "the clean text has %s; the corrupted one has %s; expected as "
                   "many",
                   clean, corrupted);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

static enum attn_status choose(void *state, struct attn_error *err)
{
    struct patch *patch = state;
    struct attn_request *request = &patch->frame.request;
    const char *queries = request->selection.queries;

    patch->args = patch->frame.args;
    ATTN_TRY(attn_patch_find_site(patch->args->site, false, &patch->site, err));
    patch->is_by_head = attn_site_layout(patch->site) != ATTN_LAYOUT_VECTOR;
    if (patch->args->n_control > 0 && !patch->is_by_head)
        return attn_error_set(
            err, ATTN_INVALID,
            "controls are choices of as many heads, and '%s' is patched by position",
            attn_site_name(patch->site));
    if (queries && !patch->is_by_head)
        return attn_error_set(
            err, ATTN_INVALID,
            "queries need a site with heads; '%s' is patched at each position in turn",
            attn_site_name(patch->site));
    if (patch->args->n_place > 0 && patch->is_by_head)
        return attn_error_set(err, ATTN_INVALID,
                              "`places` need a site without heads; '%s' is patched by head",
                              attn_site_name(patch->site));
    if (patch->frame.item && patch->frame.item->queries && patch->is_by_head)
        queries = patch->frame.item->queries;
    attn_frame_choose_nothing(request);
    patch->queries = queries;
    return ATTN_OK;
}

/* --- The two runs ----------------------------------------------------------------------------- */

/* The place called NAME among N; NULL: there is none. */
static struct attn_patch_place *find_place(struct attn_patch_place *places, size_t n,
                                           const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(places[i].name, name) == 0)
            return &places[i];
    return NULL;
}

enum attn_status attn_patch_find_places(struct attn_frame *frame,
                                        const struct attn_patch_place *given, size_t n,
                                        struct attn_patch_places *places, struct attn_error *err)
{
    const struct attn_item *item = frame->item;
    const size_t n_most = n + (item ? item->n_place : 0), n_token = frame->run->text.n;

    places->list = attn_frame_alloc(frame, n_most, sizeof *places->list);
    places->is_of_place = attn_frame_alloc(frame, n_most, n_token);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < n; i++)
        places->list[places->n++] = given[i];
    for (size_t i = 0; item && i < item->n_place; i++) {
        struct attn_patch_place *place = find_place(places->list, n, item->places[i].name);

        if (!place)
            place = &places->list[places->n++];
        *place = (struct attn_patch_place){item->places[i].name, item->places[i].spec};
    }
    for (size_t i = 0; i < places->n; i++)
        ATTN_TRY(attn_error_in(attn_run_find_positions(frame->run, places->list[i].spec,
                                                       places->is_of_place + i * n_token, err),
                               places->list[i].name, err));
    return ATTN_OK;
}

bool attn_patch_has_places(const struct attn_frame *frame, size_t n)
{
    return n > 0 || (frame->item && frame->item->n_place > 0);
}

/* Finds the rows of a head that are patched: of k and v keys, which are those of the source where a
 * layer attends to it; of other sites positions of the clean text. */
static enum attn_status find_rows(struct patch *patch, struct attn_error *err)
{
    const struct attn_run *run = patch->frame.run;
    const bool is_of_keys = attn_site_layout(patch->site) == ATTN_LAYOUT_KEY;
    enum attn_status status;

    patch->is_meant = attn_frame_alloc(&patch->frame, run->text.n, 1);
    patch->is_meant_of_source = attn_frame_alloc(&patch->frame, run->source.n + 1, 1);
    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    if (!patch->queries) {
        memset(patch->is_meant, 1, run->text.n);
        memset(patch->is_meant_of_source, 1, run->source.n);
        return ATTN_OK;
    }
    status = is_of_keys
                 ? attn_run_find_keys(
                       run, NULL, patch->queries,
                       (struct attn_key_flags){patch->is_meant, patch->is_meant_of_source}, err)
                 : attn_run_find_positions(run, patch->queries, patch->is_meant, err);
    return attn_error_in(status, "queries", err);
}

/* Runs the source, keeps the site and reads its answer. */
static enum attn_status read_source(struct patch *patch, struct attn_error *err)
{
    struct attn_frame *frame = &patch->frame;
    struct attn_trial trial = attn_trial_of(patch->source);
    struct attn_answer answer = patch->answer;
    struct attn_reading reading = {.base = frame->trials.logits,
                                   .base_total = frame->trials.base.total,
                                   .replies = &patch->source_reply};

    answer.run = patch->source;
    reading.logits = attn_frame_alloc(frame, frame->config->n_vocab, sizeof *reading.logits);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_frame_select(frame, ATTN_SITE_BIT(patch->site), err));
    ATTN_TRY(attn_capture_create(frame->selection, &frame->capture, err));
    trial.trace = attn_capture_trace(frame->capture);
    ATTN_TRY(attn_trial_run(&trial, &frame->session, err));
    ATTN_TRY(attn_answer_read(&answer, frame->session, &reading, err));
    attn_session_free(frame->session); /* before the trials, whose memory is as large */
    frame->session = NULL;
    return ATTN_OK;
}

enum attn_status attn_patch_refuse_difference(const struct attn_answer *answer, double value,
                                              struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' is %.6g of both %s: there is no difference to restore",
                   attn_answer_metric_name(answer->metric), value,
                   answer->run->text.pixels ? "pictures" : "texts");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct patch *patch = state;
    struct attn_frame *frame = &patch->frame;

    frame->request.input = patch->args->corrupted;
    if (attn_input_is_given(&patch->args->corrupted_source))
        frame->request.source = patch->args->corrupted_source;
    ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &frame->other, err));
    ATTN_TRY(attn_patch_check_lengths(frame, err));
    if (!patch->is_by_head)
        ATTN_TRY(attn_patch_find_places(frame, patch->args->places, patch->args->n_place,
                                        &patch->places, err));
    ATTN_TRY(find_rows(patch, err));
    patch->base = patch->args->is_to_noise ? frame->run : frame->other;
    patch->source = patch->args->is_to_noise ? frame->other : frame->run;
    ATTN_TRY(attn_frame_find_answer(frame, &patch->args->answer, &patch->answer, err));
    patch->answer.run = patch->base;
    ATTN_TRY(attn_trials_start(patch->base, &patch->answer, patch->site, &frame->trials, err));
    ATTN_TRY(read_source(patch, err));
    patch->can_restore =
        !(fabs(patch->source_reply.value - frame->trials.base.value) < smallest_difference);
    if (patch->can_restore || frame->item) /* over items the mean counts */
        return ATTN_OK;
    return attn_patch_refuse_difference(&patch->answer, patch->source_reply.value, err);
}

/* --- The pieces ------------------------------------------------------------------------------- */

struct attn_edit attn_patch_edit(const struct attn_frame *frame, enum attn_site site, int layer,
                                 int head)
{
    const struct attn_dims *dims = attn_selection_dims(frame->selection);
    const bool is_matrix = attn_site_layout(site) == ATTN_LAYOUT_MATRIX;
    const size_t n_key = frame->config->is_cross[layer] ? dims->n_source : dims->n_position;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.site = site;
    edit.layer = layer;
    edit.head = head >= 0 ? head : ATTN_ALL_HEADS;
    edit.col1 = is_matrix ? n_key : attn_site_width(site, dims);
    edit.op = ATTN_EDIT_REPLACE;
    edit.data = head >= 0 ? attn_capture_head(frame->capture, site, layer, head)
                          : attn_capture_tensor(frame->capture, site, layer);
    edit.ld = edit.col1;
    return edit;
}

void attn_patch_narrow(struct attn_edit *edit, size_t first, size_t end)
{
    edit->row0 = first;
    edit->row1 = end;
    edit->data += first * edit->ld;
}

/* Whether LAYER has rows of the source, and not of the text. */
static bool is_of_source(const struct patch *patch, int layer)
{
    return attn_site_layout(patch->site) == ATTN_LAYOUT_KEY && patch->frame.config->is_cross[layer];
}

/* Whether a ROW of LAYER is of the piece AT: of a head at the chosen positions, of a place, or of
 * one position. */
static bool has_row(const struct patch *patch, int layer, size_t at, size_t row)
{
    return is_of_source(patch, layer) ? patch->is_meant_of_source[row] != 0
           : patch->is_by_head        ? patch->is_meant[row] != 0
           : patch->places.n > 0 ? patch->places.is_of_place[at * patch->base->text.n + row] != 0
                                 : row == at;
}

/* Runs each piece, a set of edits: one for each run of neighbours among its rows. */
static enum attn_status try_pieces(struct patch *patch, struct attn_error *err)
{
    struct attn_frame *frame = &patch->frame;
    const bool is_of_keys = attn_site_layout(patch->site) == ATTN_LAYOUT_KEY;
    const size_t n_text = patch->base->text.n, n_source = patch->base->source.n;
    const size_t n_longest = n_text > n_source ? n_text : n_source;
    const size_t n_most = patch->is_by_head || patch->places.n > 0 ? n_longest : 1;
    const struct attn_sets *pieces = &patch->pieces;

    patch->n_each = patch->places.n > 0  ? patch->places.n
                    : !patch->is_by_head ? n_text
                    : is_of_keys         ? frame->config->n_kv_head
                                         : frame->config->n_head;
    attn_frame_take_sets(frame, &patch->pieces, patch->n_each * frame->config->n_layer, n_most);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < pieces->n; i++) {
        const int layer = (int)(i / patch->n_each);
        const size_t at = i % patch->n_each, n = is_of_source(patch, layer) ? n_source : n_text;
        struct attn_edit *edits = pieces->edits + i * n_most;
        size_t n_edit = 0;

        for (size_t first = 0, end; first < n; first = end) {
            end = first + 1;
            if (!has_row(patch, layer, at, first))
                continue;
            while (end < n && has_row(patch, layer, at, end))
                end++;
            edits[n_edit] =
                attn_patch_edit(frame, patch->site, layer, patch->is_by_head ? (int)at : -1);
            attn_patch_narrow(&edits[n_edit++], first, end);
        }
        pieces->changes[i] = (struct attn_trial_change){edits, n_edit};
    }
    return attn_frame_try_sets(frame, pieces, err);
}

/* Draws the controls that ARGS ask for, one head each of those in ROWS [n_row, N_COLUMN], whose
 * effects are found. */
static enum attn_status draw_controls(const struct attn_patch_args *args, struct attn_cell *rows,
                                      size_t n_row, struct attn_error *err)
{
    const size_t n = n_row - FIRST_PIECE;
    size_t *order = attn_alloc(n, sizeof *order, err);
    struct attn_moments effects = {.n = 0};
    struct attn_random random;

    if (!order)
        return ATTN_NO_MEMORY;
    attn_random_seed(&random, args->seed);
    for (size_t i = 0; i < args->n_control; i++) {
        attn_random_permutation(&random, order, n);
        attn_moments_add(&effects, rows[(FIRST_PIECE + order[0]) * N_COLUMN + EFFECT].real);
    }
    attn_free(order);
    for (size_t row = FIRST_PIECE; row < n_row; row++) {
        rows[row * N_COLUMN + CONTROL] = attn_cell_real(effects.mean);
        rows[row * N_COLUMN + CONTROL_SD] =
            attn_cell_real(effects.n > 1 ? attn_moments_sd(&effects) : 0);
    }
    return ATTN_OK;
}

/* Finds the effects in ROWS [n_row, N_COLUMN]: shares of the change of the source; never -0. */
static void find_effects(struct attn_cell *rows, size_t n_row)
{
    const double whole = rows[SOURCE_ROW * N_COLUMN + CHANGE].real;

    for (size_t row = 0; row < n_row && whole != 0; row++)
        if (rows[row * N_COLUMN + CHANGE].type == ATTN_VALUE_REAL)
            rows[row * N_COLUMN + EFFECT] =
                attn_cell_real(rows[row * N_COLUMN + CHANGE].real / whole + 0.0);
}

/* An attn_fold_derive_fn: ratios of means. A ratio of differences says nothing. */
static enum attn_status derive(const void *given, const struct attn_fold_means *means,
                               struct attn_error *err)
{
    const struct attn_patch_args *args = given;
    const double whole = means->rows[SOURCE_ROW * N_COLUMN + CHANGE].real;

    if (means->is_paired)
        return ATTN_OK;
    if (!means->is_resample && fabs(whole) < smallest_difference)
        return attn_error_set(err, ATTN_INVALID,
                              "the mean difference of clean and corrupted texts is %.3g: there is "
                              "no difference to restore",
                              whole);
    find_effects(means->rows, means->n_row);
    return args->n_control > 0 && !means->is_resample
               ? draw_controls(args, means->rows, means->n_row, err)
               : ATTN_OK;
}

/* --- The table -------------------------------------------------------------------------------- */

static uint64_t hidden(const void *state)
{
    const struct patch *patch = state;
    const struct attn_item *item = patch->frame.item;
    const bool has_places = attn_patch_has_places(&patch->frame, patch->args->n_place);
    const bool is_of_keys = attn_site_layout(patch->site) == ATTN_LAYOUT_KEY;
    const uint64_t places =
                       ATTN_COLUMN_BIT(POSITION) | ATTN_COLUMN_BIT(PLACE) | ATTN_COLUMN_BIT(TOKEN),
                   heads = ATTN_COLUMN_BIT(HEAD) | ATTN_COLUMN_BIT(KV_HEAD),
                   controls = ATTN_COLUMN_BIT(CONTROL) | ATTN_COLUMN_BIT(CONTROL_SD);

    return (patch->is_by_head ? places | ATTN_COLUMN_BIT(is_of_keys ? HEAD : KV_HEAD)
                              : heads | ATTN_COLUMN_BIT(has_places ? POSITION : PLACE)) |
           (patch->args->n_control > 0 ? 0 : controls) | (item ? 0 : ATTN_COLUMN_BIT(CHANGE));
}

/* ROW [N_COLUMN]: of a run that has VALUE. */
static void fill_row(const struct patch *patch, const char *part, double value,
                     struct attn_cell *row)
{
    for (size_t i = 0; i < N_COLUMN; i++)
        row[i] = attn_cell_missing();
    row[PART] = attn_cell_string(part);
    row[VALUE] = attn_cell_real(value);
    row[CHANGE] = attn_cell_real(value - patch->frame.trials.base.value);
}

/* ROW [N_COLUMN]: of piece number I. */
static void fill_piece(const struct patch *patch, size_t i, struct attn_cell *row)
{
    const size_t at = i % patch->n_each;

    fill_row(patch, attn_site_name(patch->site), patch->pieces.outcomes[i].reply.value, row);
    if (patch->pieces.changes[i].n_edit == 0) /* it has none of the rows */
        row[VALUE] = row[CHANGE] = attn_cell_missing();
    row[LAYER] = attn_cell_integer((int64_t)(i / patch->n_each));
    row[POSITION] = row[HEAD] = row[KV_HEAD] = attn_cell_integer((int64_t)at);
    if (patch->places.n > 0)
        row[PLACE] = attn_cell_string(patch->places.list[at].name);
    else if (!patch->is_by_head)
        row[TOKEN] = attn_cell_position(&patch->base->text.tokens, at);
}

/* Says what the clean run is, of an item. */
static void report_clean(struct patch *patch)
{
    struct attn_reply clean = patch->frame.trials.base;

    if (!patch->args->is_to_noise)
        clean = patch->source_reply;
    attn_frame_report_base(&patch->frame, &patch->answer, &clean);
    if (patch->frame.answer && !patch->args->is_to_noise)
        patch->frame.answer->row = "source";
}

static enum attn_status append_rows(struct patch *patch, struct attn_error *err)
{
    const double source = patch->source_reply.value;
    const size_t n_row = FIRST_PIECE + patch->pieces.n;
    struct attn_cell *rows = attn_frame_alloc(&patch->frame, n_row, N_COLUMN * sizeof *rows);

    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    fill_row(patch, "base", patch->frame.trials.base.value, rows);
    fill_row(patch, "source", source, rows + N_COLUMN);
    for (size_t i = 0; i < patch->pieces.n; i++)
        fill_piece(patch, i, rows + (FIRST_PIECE + i) * N_COLUMN);
    if (patch->can_restore) {
        find_effects(rows, n_row);
        if (patch->args->n_control > 0)
            ATTN_TRY(draw_controls(patch->args, rows, n_row, err));
    }
    for (size_t row = 0; row < n_row; row++)
        ATTN_TRY(attn_frame_append(&patch->frame, rows + row * N_COLUMN, err));
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct patch *patch = state;
    const double base = patch->frame.trials.base.value, source = patch->source_reply.value;
    const bool is_to_noise = patch->args->is_to_noise;

    ATTN_TRY(try_pieces(patch, err));
    ATTN_TRY(append_rows(patch, err));
    report_clean(patch);
    *(struct attn_patch_sum *)patch->frame.sum =
        (struct attn_patch_sum){.clean = is_to_noise ? base : source,
                                .corrupted = is_to_noise ? source : base,
                                .n_row = patch->pieces.outcomes[0].n_row,
                                .n_feed = patch->frame.trials.n_feed + 1};
    return ATTN_OK;
}

enum attn_status attn_patch_check_places(const struct attn_patch_place *given, size_t n,
                                         struct attn_error *err)
{
    if (n > 0 && !attn_is_given(given, "places", err))
        return ATTN_INVALID;
    for (size_t i = 0; i < n; i++) {
        if (!attn_is_given(given[i].name, "places", err) ||
            !attn_is_given(given[i].spec, "places", err))
            return ATTN_INVALID;
        for (size_t k = 0; k < i; k++)
            if (strcmp(given[i].name, given[k].name) == 0)
                return attn_error_set(err, ATTN_INVALID, "`places` has '%s' twice",
                                      attn_quote_string(given[i].name).text);
    }
    return ATTN_OK;
}

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_patch_args *args = given;

    return attn_patch_check_places(args->places, args->n_place, err);
}

static unsigned pairs(const void *args)
{
    (void)args;
    return ATTN_ITEM_BIT(CLEAN_CORRUPTED);
}

static enum attn_status take_item(void *args, struct attn_request *request,
                                  const struct attn_item *item, struct attn_error *err)
{
    struct attn_patch_args *given = args;

    (void)request;
    given->corrupted = item->other;
    if (attn_input_is_given(&item->corrupted_source))
        given->corrupted_source = item->corrupted_source;
    return attn_item_answer(item, &given->answer, err);
}

static const struct attn_experiment experiment = {
    .name = "patch",
    .columns = columns,
    .n_column = N_COLUMN,
    .needs_output = true,
    .state_size = sizeof(struct patch),
    .sum_size = sizeof(struct attn_patch_sum),
    .study = offsetof(struct attn_patch_args, study),
    .take_item = take_item,
    .answer = offsetof(struct attn_patch_args, answer),
    .of_request = ATTN_ITEM_KEY_BIT(QUERIES),
    .places = offsetof(struct attn_patch_args, places),
    .n_place = offsetof(struct attn_patch_args, n_place),
    .corrupted_source = offsetof(struct attn_patch_args, corrupted_source),
    .pairs = pairs,
    .derived = ATTN_COLUMN_BIT(EFFECT) | ATTN_COLUMN_BIT(CONTROL) | ATTN_COLUMN_BIT(CONTROL_SD),
    .bounded = ATTN_COLUMN_BIT(EFFECT),
    .names = ATTN_COLUMN_BIT(PLACE),
    .derive = derive,
    .hint = "`places` name positions of texts that differ in length",
    .check = check_args,
    .choose = choose,
    .prepare = prepare,
    .hidden = hidden,
    .ask = ask,
};

enum attn_status attn_patch(struct attn_host *host, const struct attn_request *request,
                            const struct attn_patch_args *given, struct attn_table **table,
                            struct attn_patch_sum *sum, struct attn_error *err)
{
    struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
    const struct attn_inquiry inquiry = {host, request, given, &args, table, sum};

    return attn_experiment_perform(&experiment, &inquiry, err);
}
