/* patch_runs.c - the parts of a patching procedure, its clean and its corrupted run, and the runs
 * with patches. */
#include "circuit/patch_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "gradient/backward.h"
#include "input/position.h"
#include "run/item_extra.h"
#include "run/run_pass.h"
#include "towers/pixels_internal.h"
#include "trace/capture.h"
#include "trace/places_extra.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* --- Parts ------------------------------------------------------------------------------------ */

/* Returns true if the rows of PART are those of the source, not of the text. */
static bool is_of_source(const struct attn_patching *patch, const struct attn_patch_part *part)
{
    return part->of.at.stack == ATTN_STACK_ENCODER ||
           (attn_site_layout(patch->site) == ATTN_LAYOUT_KEY &&
            attn_location_is_cross(attn_asked_dims(patch->base), &part->of.at));
}

bool attn_patch_is_to_noise(const struct attn_patch_args *args)
{
    return args->direction == ATTN_PATCH_DIRECTION_AUTO
               ? args->path != NULL
               : args->direction == ATTN_PATCH_DIRECTION_NOISE;
}

size_t attn_patch_unit(const struct attn_patch_part *part)
{
    return part->of.neuron >= 0    ? (size_t)part->of.neuron
           : part->of.at.head >= 0 ? (size_t)part->of.at.head
                                   : 0;
}

bool attn_patch_has_encoder(const struct attn_patching *patch)
{
    return attn_asked_model(patch->base)->encoder && patch->is_by_head && !patch->is_by_row &&
           !attn_number_list_is_given(&patch->queries) &&
           attn_input_is_given(&patch->args->corrupted_source);
}

bool attn_patch_has_row(const struct attn_patching *patch, const struct attn_patch_part *part,
                        size_t row)
{
    if (is_of_source(patch, part))
        return !patch->source_rows || patch->source_rows[row] != 0;
    if (patch->places.n > 0)
        return patch->places.is_of_place[part->of.row * attn_asked_n(patch->base) + row] != 0;
    if (patch->is_by_row && part->of.row != row)
        return false;
    return !patch->rows || patch->rows[row] != 0;
}

enum attn_status attn_patch_list_parts(struct attn_patching *patch, struct attn_error *err)
{
    const struct attn_location *of = attn_patch_has_encoder(patch)
                                         ? ATTN_ALL_OF(ONLY, patch->site)
                                         : ATTN_ALL_OF(DECODER, patch->site);
    const size_t n_row = patch->places.n > 0 ? patch->places.n
                         : patch->is_by_row  ? attn_asked_n(patch->base)
                                             : 0;
    struct attn_parts listed = {.n = 0};
    struct attn_selection *selection;
    enum attn_status status;

    ATTN_TRY(attn_selection_create(attn_asked_dims(patch->base), &selection, err));
    status = attn_selection_set_sites(selection, ATTN_SITES(patch->site), err);
    if (status == ATTN_OK)
        status = attn_error_in(attn_selection_choose_heads(
                                   selection, &(struct attn_head_list){.text = patch->heads}, err),
                               "heads", err);
    status = attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    ATTN_THEN(status, attn_parts_list(selection, of, n_row, &listed, err));
    patch->parts = attn_frame_alloc(&patch->frame, listed.n, sizeof *patch->parts);
    ATTN_THEN(status, attn_frame_memory(&patch->frame, err));
    for (size_t i = 0; status == ATTN_OK && i < listed.n; i++) {
        const struct attn_patch_part part = {.of = listed.items[i],
                                             .trial = patch->is_estimated ? ATTN_PART_UNTRIED
                                                                          : ATTN_PART_TRIED};

        /* a position outside the queries is not a part */
        if (!patch->is_by_row || patch->places.n > 0 ||
            attn_patch_has_row(patch, &part, part.of.row))
            patch->parts[patch->n_part++] = part;
    }
    attn_selection_free(selection);
    attn_free(listed.items);
    if (status == ATTN_OK && patch->n_part == 0 && patch->heads)
        status = attn_refuse(err, ATTN_STAGE_OPTIONS,
                             "'%s' names heads of the encoder, and both runs have the same source",
                             attn_quote_string(patch->heads).text);
    return status;
}

enum attn_status attn_patch_check_difference(struct attn_patching *patch, struct attn_error *err)
{
    const double value = patch->source_reply.value, whole = value - patch->base_reply.value;
    const struct attn_answer *answer = &patch->answer;

    /* exact patches may show NaN, but an estimate cannot be divided by NaN */
    patch->can_restore =
        !(fabs(whole) < ATTN_PATCH_SMALLEST_DIFFERENCE) && !(patch->is_estimated && isnan(whole));
    if (patch->can_restore || patch->frame.item)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' is %.6g of both %s: there is no difference to restore",
                   attn_answer_metric_name(answer->metric), value,
                   answer->of.text->pixels ? "pictures" : "texts");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

/* --- The two runs ----------------------------------------------------------------------------- */

/* Formats the tokens of RUN for a message: "5 tokens: 'The', ' keys'". */
static void list_tokens(const struct attn_run *run, char *out, size_t size)
{
    const struct attn_sequence *text = attn_asked_text(run);
    size_t used = 0;

    attn_fixed_text_append(out, size, &used, "%zu token%s", text->n, text->n == 1 ? "" : "s");
    for (size_t i = 0; text->tokens.bytes && i < text->n; i++) {
        const struct attn_quote token = attn_quote(text->tokens.bytes[i], text->tokens.sizes[i]);

        attn_fixed_text_append(out, size, &used, "%s'%s'", i > 0 ? ", " : ": ", token.text);
    }
}

/* Checks that both runs have equal numbers of tokens, of source rows, and of patches of a
 * picture. */
static enum attn_status check_lengths(const struct attn_frame *frame, struct attn_error *err)
{
    const struct attn_image_grid *of_clean = &attn_asked_text(frame->run)->grid,
                                 *of_corrupted =
                                     &attn_asked_text(frame->other)->grid; /* 0 x 0 for texts */
    const size_t n_source = attn_asked_source(frame->run)->n;
    char clean[320], corrupted[320];

    if (n_source != attn_asked_source(frame->other)->n)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "the source of the clean text has %zu rows, that of "
                           "the corrupted one %zu; expected as many",
                           n_source, attn_asked_source(frame->other)->n);
    if (of_clean->n_row != of_corrupted->n_row || of_clean->n_col != of_corrupted->n_col)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "the clean picture has %zu x %zu patches, the "
                           "corrupted one %zu x %zu; expected as many",
                           of_clean->n_row, of_clean->n_col, of_corrupted->n_row,
                           of_corrupted->n_col);
    if (attn_asked_n(frame->run) == attn_asked_n(frame->other))
        return ATTN_OK;
    list_tokens(frame->run, clean, sizeof clean);
    list_tokens(frame->other, corrupted, sizeof corrupted);
    return attn_refuse(err, ATTN_STAGE_INPUT,
                       "the clean text has %s; the corrupted one has %s; expected as "
                       "many",
                       clean, corrupted);
}

/* Returns the place named NAME among N places, or NULL. */
static struct attn_item_place *find_place(struct attn_item_place *places, size_t n,
                                          const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(places[i].name, name) == 0)
            return &places[i];
    return NULL;
}

/* Resolves the given places in the clean text, then those of the item. A place of the item replaces
 * the given place of the same name. */
static enum attn_status find_places(struct attn_patching *patch, struct attn_error *err)
{
    struct attn_frame *frame = &patch->frame;
    struct attn_patch_places *places = &patch->places;
    const struct attn_item *item = frame->item;
    const size_t n = patch->args->n_place, n_token = attn_asked_n(frame->run);
    const size_t n_most = n + (item ? item->n_place : 0);

    places->list = attn_frame_alloc(frame, n_most, sizeof *places->list);
    places->is_of_place = attn_frame_alloc(frame, n_most, n_token);
    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < n; i++)
        places->list[places->n++] = patch->args->places[i];
    for (size_t i = 0; item && i < item->n_place; i++) {
        struct attn_item_place *place = find_place(places->list, n, item->places[i].name);

        if (!place)
            place = &places->list[places->n++];
        *place = item->places[i];
    }
    for (size_t i = 0; i < places->n; i++)
        ATTN_TRY(
            attn_error_in(attn_positions_find(attn_asked_text(frame->run), &places->list[i].spec,
                                              places->is_of_place + i * n_token, err),
                          places->list[i].name, err));
    return ATTN_OK;
}

/* Resolves the queries. For k and v they are keys, in layers with a source keys of the source; for
 * other sites they are positions of the clean text. */
static enum attn_status find_rows(struct attn_patching *patch, struct attn_error *err)
{
    const struct attn_run *run = patch->frame.run;
    struct attn_keys keys = {.config = attn_model_config(attn_asked_model(run)),
                             .text = attn_asked_text(run),
                             .source = attn_asked_source(run)};
    enum attn_status status;

    if (!attn_number_list_is_given(&patch->queries))
        return ATTN_OK;
    patch->rows = attn_frame_alloc(&patch->frame, attn_asked_n(run), 1);
    patch->source_rows = attn_frame_alloc(&patch->frame, attn_asked_source(run)->n + 1, 1);
    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    keys.of_text = patch->rows;
    keys.of_source = patch->source_rows;
    status = attn_site_layout(patch->site) == ATTN_LAYOUT_KEY
                 ? attn_positions_find_keys(&keys, &patch->queries, err)
                 : attn_positions_find(attn_asked_text(run), &patch->queries, patch->rows, err);
    return attn_error_in(status, "queries", err);
}

/* Whether RUN has an edit of SITE in some layer. */
static bool has_edit_of(const struct attn_run *run, enum attn_site site)
{
    size_t n;
    const struct attn_edit *edits = attn_run_edits(run, ATTN_STACK_DECODER, &n);
    bool has_one = false;

    for (size_t i = 0; i < n; i++)
        has_one |= edits[i].at.site == site;
    return has_one;
}

/* Checks that estimates are computed where layers attend to a source. */
static enum attn_status check_source(const struct attn_patching *patch, struct attn_error *err)
{
    const struct attn_run *run = patch->frame.run;
    const struct attn_edit *edits;
    const char *name = attn_site_name(patch->site);
    size_t n;

    if (attn_asked_source(run)->n == 0)
        return ATTN_OK;
    if (patch->site == ATTN_SITE_Q || patch->site == ATTN_SITE_PATTERN ||
        attn_site_layout(patch->site) == ATTN_LAYOUT_KEY)
        return attn_error_set(err, ATTN_INVALID,
                              "estimates for '%s' are those of keys of one text, and layers of "
                              "'%s' attend to a source: expected z or a site without heads",
                              name, attn_quote_string(attn_model_name(attn_asked_model(run))).text);
    edits = attn_run_edits(run, ATTN_STACK_ENCODER, &n);
    for (size_t i = 0; i < n; i++)
        if (edits[i].data)
            return attn_error_set(err, ATTN_INVALID,
                                  "estimates over two sources, and an edit of the encoder has "
                                  "values of one of them: expected one that zeroes or scales");
    return ATTN_OK;
}

enum attn_status attn_patch_check_gradients(const struct attn_patching *patch,
                                            struct attn_error *err)
{
    const struct attn_run *run = patch->frame.run;

    ATTN_TRY(attn_backward_check(attn_asked_model(run), attn_run_attention(run),
                                 ATTN_BACKWARD_PLAIN, err));
    if (!attn_sites_have(attn_asked_dims(run)->sites, patch->site))
        return attn_error_set(err, ATTN_INVALID, "'%s' has no '%s'",
                              attn_quote_string(attn_model_name(attn_asked_model(run))).text,
                              attn_site_name(patch->site));
    ATTN_TRY(check_source(patch, err));
    if (patch->site == ATTN_SITE_K && /* its estimates make the softmax again */
        (has_edit_of(run, ATTN_SITE_QK) || has_edit_of(run, ATTN_SITE_ATTN_SCORES)))
        return attn_error_set(
            err, ATTN_INVALID,
            "estimates for '%s' make the softmax again, and its scores have edits",
            attn_site_name(patch->site));
    return attn_answer_check_goal(&patch->answer, err);
}

enum attn_status attn_patch_prepare(struct attn_patching *patch, struct attn_error *err)
{
    struct attn_frame *frame = &patch->frame;
    const struct attn_input clean = frame->request.input;

    ATTN_TRY(attn_frame_find_answer(frame, &patch->args->answer, &patch->answer, err));
    if (patch->is_estimated)
        ATTN_TRY(attn_error_at(attn_patch_check_gradients(patch, err), ATTN_STAGE_OPTIONS, err));
    frame->request.input = patch->args->corrupted;
    if (frame->item)
        attn_item_see(frame->item, attn_host_model(frame->host), &clean, &frame->request.input);
    attn_input_share_prompt(&clean, &frame->request.input);
    if (attn_input_is_given(&patch->args->corrupted_source))
        frame->request.source = patch->args->corrupted_source;
    ATTN_TRY(attn_run_open(attn_asked_host(frame->run), frame->run, &frame->request, &frame->other,
                           err));
    ATTN_TRY(check_lengths(frame, err));
    if (!patch->is_by_head)
        ATTN_TRY(find_places(patch, err));
    patch->base = attn_patch_is_to_noise(patch->args) ? frame->run : frame->other;
    patch->source = attn_patch_is_to_noise(patch->args) ? frame->other : frame->run;
    patch->answer.of = attn_run_answer_scope(patch->base);
    return find_rows(patch, err);
}

double attn_patch_share(const struct attn_patching *patch, double value)
{
    const double base = patch->base_reply.value;

    return (value - base) / (patch->source_reply.value - base) + 0.0;
}

/* --- Exact patches ---------------------------------------------------------------------------- */

void attn_patch_report_base(struct attn_patching *patch)
{
    const bool is_base = attn_patch_is_to_noise(patch->args);

    attn_frame_report_base(&patch->frame, &patch->answer,
                           is_base ? &patch->base_reply : &patch->source_reply);
    if (patch->frame.answer && !is_base)
        patch->frame.answer->row = "source";
}

enum attn_status attn_patch_read_source(struct attn_patching *patch, struct attn_error *err)
{
    struct attn_frame *frame = &patch->frame;
    struct attn_answer answer = patch->answer;
    struct attn_reading reading = {.base = frame->trials.logits,
                                   .base_total = frame->trials.base.total,
                                   .replies = &patch->source_reply};

    answer.of = attn_run_answer_scope(patch->source);
    reading.logits = attn_frame_alloc(frame, attn_answer_n_logit(&answer), sizeof *reading.logits);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_answer_read(&answer, frame->session, &reading, err));
    patch->base_reply = frame->trials.base;
    attn_session_free(frame->session); /* freed before the trials, which need as much memory */
    frame->session = NULL;
    return attn_patch_check_difference(patch, err);
}

/* Runs the source, records the site of the parts that will be patched and, unless the estimate did
 * so, reads the reply of the source. */
static enum attn_status watch_source(struct attn_patching *patch, struct attn_error *err)
{
    struct attn_frame *frame = &patch->frame;
    struct attn_edit *edits = attn_frame_alloc(frame, patch->n_tried, sizeof *edits);
    const struct attn_watch watch = {.of = attn_patch_has_encoder(patch) ? ATTN_WATCH_BOTH
                                                                         : ATTN_WATCH_TEXT,
                                     .edits = edits,
                                     .n_edit = patch->n_tried,
                                     .is_silent = true,
                                     .capture = &frame->capture,
                                     .session = patch->is_estimated ? NULL : &frame->session};

    ATTN_TRY(attn_frame_memory(frame, err));
    for (size_t i = 0; i < patch->n_tried; i++)
        attn_part_place(&patch->tried[i]->of, attn_asked_dims(patch->base), &edits[i]);
    ATTN_TRY(attn_watch(patch->source, &watch, err));
    return patch->is_estimated ? ATTN_OK : attn_patch_read_source(patch, err);
}

/* Returns an edit that replaces rows FIRST .. END-1 of PART by the recorded rows of the source. */
static struct attn_edit make_edit(const struct attn_patching *patch,
                                  const struct attn_patch_part *part, size_t first, size_t end)
{
    const struct attn_location *at = &part->of.at;
    const struct attn_dims *dims = at->stack == ATTN_STACK_ENCODER
                                       ? attn_asked_stack_dims(patch->base, at->stack)
                                       : attn_asked_dims(patch->base);
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    attn_part_place(&part->of, dims, &edit);
    edit.op = ATTN_EDIT_REPLACE;
    edit.row0 = first;
    edit.row1 = end;
    edit.ld = attn_location_n_column(dims, at);
    edit.col1 = edit.col1 < edit.ld ? edit.col1 : edit.ld;
    edit.data = edit.at.head == ATTN_ALL_HEADS ? attn_capture_tensor(patch->frame.capture, &edit.at)
                                               : attn_capture_head(patch->frame.capture, at);
    edit.data += first * edit.ld + edit.col0;
    return edit;
}

/* Appends an edit for each run of consecutive rows of tried part I (attn_part_edit_fn). */
static enum attn_status add_edits(void *user, size_t i, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    const struct attn_patching *patch = user;
    struct attn_patch_part *part = patch->tried[i];
    const size_t n_row =
        is_of_source(patch, part) ? attn_asked_source(patch->base)->n : attn_asked_n(patch->base);

    for (size_t first = 0, end; first < n_row; first = end) {
        end = first + 1;
        if (!attn_patch_has_row(patch, part, first))
            continue;
        while (end < n_row && attn_patch_has_row(patch, part, end))
            end++;
        const struct attn_edit edit = make_edit(patch, part, first, end);

        ATTN_TRY(attn_part_edits_add(edits, &edit, err));
    }
    part->has_effect = edits->n > edits->first;
    return ATTN_OK;
}

/* Lists the parts that are marked for patching. */
static enum attn_status list_tried(struct attn_patching *patch, struct attn_error *err)
{
    patch->tried = attn_frame_alloc(&patch->frame, patch->n_part, sizeof(void *));
    ATTN_TRY(attn_frame_memory(&patch->frame, err));
    for (size_t i = 0; i < patch->n_part; i++)
        if (patch->parts[i].trial != ATTN_PART_UNTRIED)
            patch->tried[patch->n_tried++] = &patch->parts[i];
    return ATTN_OK;
}

enum attn_status attn_patch_try(struct attn_patching *patch, struct attn_error *err)
{
    struct attn_frame *frame = &patch->frame;
    struct attn_patch_sum *sum = frame->sum;
    struct attn_trial_outcome *outcomes;

    ATTN_TRY(list_tried(patch, err));
    ATTN_TRY(attn_trials_start(patch->base, &patch->answer, patch->site, &frame->trials, err));
    ATTN_TRY(watch_source(patch, err));
    outcomes = attn_frame_alloc(frame, patch->n_tried, sizeof *outcomes);
    ATTN_TRY(attn_frame_memory(frame, err));
    ATTN_TRY(attn_parts_try(&frame->trials, patch->n_tried, add_edits, patch, outcomes, err));
    for (size_t i = 0; i < patch->n_tried; i++) {
        struct attn_patch_part *part = patch->tried[i];

        part->right = outcomes[i].reply.right;
        part->value = outcomes[i].reply.value;
        part->effect = part->has_effect ? attn_patch_share(patch, part->value) : 0;
    }
    sum->n_row = patch->n_tried > 0 ? outcomes[0].n_row : 0;
    return ATTN_OK;
}
