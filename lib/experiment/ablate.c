/*
 * ablate.c - see ablate.h. Every part is a list of edits, so a set of parts is one, too: what is
 * tried is always a set. Weights become uniform by products of queries and keys that are all 0:
 * what is masked stays masked, whatever the kind of attention.
 */
#include "experiment/ablate.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "experiment/frame.h"
#include "experiment/trial.h"
#include "trace/site_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SITES = 2, MOST_COLUMNS = 9 };

/* One part of the model. */
struct part {
    int layer, index; /* index: head or neuron, or -1 */
    double change;    /* its own */
};

/* What stands instead of one site. */
struct material {
    enum attn_site site; /* qk where weights become uniform */
    float *rows;         /* [n_layer] as a capture holds them: [H, T, Ev] of z, else [T, n] */
    double *sums;        /* [n_layer, n_col] of all rows, while a mean is made */
    size_t n_row;        /* of them */
    size_t n_col;        /* of all heads together */
};

struct ablation {
    struct attn_frame frame;
    const struct attn_ablate_args *args;
    struct attn_answer answer;
    struct attn_trials trials;
    enum attn_site sites[MOST_SITES]; /* that parts change */
    size_t n_site;
    struct material material[MOST_SITES]; /* of each; of those that become zero without rows */
    struct material head_material;        /* of the heads that controls choose */
    struct part *parts;                   /* [n_part] */
    size_t n_part;
    size_t *order; /* [n_layer * n_head] of the heads that controls choose */
    struct attn_random random;
};

/* --- What is asked for ------------------------------------------------------------------------ */

static const char *part_name(enum attn_ablate_parts parts, bool is_row)
{
    static const char *const names[][2] = {
#define PARTS_NAMES(id, number, name, row) [ATTN_ABLATE_##id] = {name, row},
        ATTN_ABLATE_PARTS_MAP(PARTS_NAMES)
#undef PARTS_NAMES
    };

    return names[parts][is_row];
}

static void find_sites(struct ablation *ablation)
{
    static const enum attn_site sites[][MOST_SITES] = {
        [ATTN_ABLATE_HEADS] = {ATTN_SITE_Z},
        [ATTN_ABLATE_ATTN] = {ATTN_SITE_ATTN_OUT},
        [ATTN_ABLATE_MLP] = {ATTN_SITE_MLP_OUT},
        [ATTN_ABLATE_LAYERS] = {ATTN_SITE_ATTN_OUT, ATTN_SITE_MLP_OUT},
        [ATTN_ABLATE_NEURONS] = {ATTN_SITE_MLP_POST},
    };

    memcpy(ablation->sites, sites[ablation->args->parts], sizeof ablation->sites);
    if (ablation->args->with == ATTN_ABLATE_WITH_UNIFORM)
        ablation->sites[0] = ATTN_SITE_QK;
    ablation->n_site =
        ablation->args->parts == ATTN_ABLATE_LAYERS && ablation->frame.config->d_mlp > 0 ? 2 : 1;
}

static enum attn_status check(const struct ablation *ablation, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_quote name = attn_quote_string(attn_model_name(ablation->frame.run->model));
    const bool needs_mlp = args->parts == ATTN_ABLATE_MLP || args->parts == ATTN_ABLATE_NEURONS;
    const bool has_heads = args->parts != ATTN_ABLATE_MLP && args->parts != ATTN_ABLATE_NEURONS;

    if (needs_mlp && ablation->frame.config->d_mlp == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no MLP", name.text);
    if (args->parts == ATTN_ABLATE_NEURONS &&
        (args->layer < 0 || (size_t)args->layer >= ablation->frame.config->n_layer))
        return attn_error_set(err, ATTN_INVALID, "'%s' has no layer %d, expected 0 to %zu",
                              name.text, args->layer, ablation->frame.config->n_layer - 1);
    if (args->with == ATTN_ABLATE_WITH_UNIFORM && args->parts != ATTN_ABLATE_HEADS &&
        args->parts != ATTN_ABLATE_ATTN)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' have no weights that could be uniform, expected heads or attn",
                              part_name(args->parts, false));
    if (args->with == ATTN_ABLATE_WITH_RESAMPLE && args->n_reference == 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "`with resample` needs `references`, whose rows replace those of the text");
    if (args->n_control > 0 && !has_heads)
        return attn_error_set(err, ATTN_INVALID,
                              "controls are choices of as many heads, and '%s' have none",
                              part_name(args->parts, false));
    return ATTN_OK;
}

/* The parts in the order of the table. */
static enum attn_status list_parts(struct ablation *ablation, struct attn_error *err)
{
    struct attn_frame *frame = &ablation->frame;
    const enum attn_ablate_parts parts = ablation->args->parts;
    const bool is_of_one = parts == ATTN_ABLATE_NEURONS;
    const size_t n_layer = is_of_one ? 1 : frame->config->n_layer;
    const size_t n_each = parts == ATTN_ABLATE_HEADS ? frame->config->n_head
                          : is_of_one                ? frame->config->d_mlp
                                                     : 1;

    ablation->n_part = n_layer * n_each;
    ablation->order =
        attn_frame_own(frame, attn_alloc(frame->config->n_layer * frame->config->n_head,
                                         sizeof *ablation->order, err));
    ablation->parts =
        attn_frame_own(frame, attn_alloc(ablation->n_part, sizeof *ablation->parts, err));
    ATTN_TRY(attn_frame_memory(frame));
    for (size_t i = 0; i < ablation->n_part; i++) {
        ablation->parts[i].layer = is_of_one ? ablation->args->layer : (int)(i / n_each);
        ablation->parts[i].index = parts == ATTN_ABLATE_HEADS || is_of_one ? (int)(i % n_each) : -1;
    }
    return ATTN_OK;
}

/* --- What stands instead ---------------------------------------------------------------------- */

static bool needs_rows(const struct ablation *ablation)
{
    return ablation->args->with == ATTN_ABLATE_WITH_MEAN ||
           ablation->args->with == ATTN_ABLATE_WITH_RESAMPLE;
}

/* Whether SITE comes head by head, and an edit names one. */
static bool is_of_heads(enum attn_site site)
{
    return site == ATTN_SITE_Z || site == ATTN_SITE_QK;
}

static enum attn_status allocate_material(struct ablation *ablation, enum attn_site site,
                                          struct material *material, struct attn_error *err)
{
    struct attn_frame *frame = &ablation->frame;
    const struct attn_dims *dims = attn_selection_dims(frame->run->selection);
    const size_t n_head = attn_site_layout(site) == ATTN_LAYOUT_QUERY ? dims->n_head : 1;
    const size_t n_col = n_head * attn_site_width(site, dims);

    *material = (struct material){.site = site, .n_col = n_col};
    if (!needs_rows(ablation))
        return ATTN_OK;
    material->rows = attn_frame_own(
        frame, attn_alloc(dims->n_layer, dims->n_position * n_col * sizeof(float), err));
    material->sums = attn_frame_own(frame, attn_alloc(dims->n_layer, n_col * sizeof(double), err));
    return attn_frame_memory(frame);
}

/* The rows of LAYER, of N positions. */
static float *rows_of(const struct material *material, size_t layer, size_t n)
{
    return material->rows + layer * n * material->n_col;
}

/* A run that gives material, and the text that is changed. */
struct source {
    struct material *items[MOST_SITES + 1];
    size_t n;
    size_t n_position; /* of the text that is changed */
    bool is_mean;
};

/* An attn_trace_fn: adds rows to the sums, or keeps them. */
static enum attn_status take_rows(void *user, const struct attn_trace_event *event,
                                  struct attn_error *err)
{
    const struct source *source = user;
    const size_t head = event->head == ATTN_ALL_HEADS ? 0 : (size_t)event->head;

    (void)err;
    for (size_t i = 0; i < source->n; i++) {
        struct material *material = source->items[i];

        if (material->site != event->site)
            continue;
        if (event->layer == 0 && head == 0)
            material->n_row += event->n_row;
        for (size_t r = 0; r < event->n_row; r++) {
            const float *x = event->data + r * event->ld;
            const size_t row = event->row0 + r, n = source->n_position;
            const size_t layer = (size_t)event->layer;
            double *sums = material->sums + layer * material->n_col + head * event->n_col;

            if (!source->is_mean && row < n)
                memcpy(rows_of(material, layer, n) + (head * n + row) * event->n_col, x,
                       event->n_col * sizeof *x);
            for (size_t k = 0; source->is_mean && k < event->n_col; k++)
                sums[k] += (double)x[k];
        }
    }
    return ATTN_OK;
}

/* Runs over RUN, with a trace of SELECTION for SOURCE. */
static enum attn_status trace_source(const struct attn_run *run, struct source *source,
                                     struct attn_selection *selection, struct attn_error *err)
{
    const struct attn_trace trace = {selection, take_rows, source};
    struct attn_trial trial = attn_trial_of(run);
    struct attn_session *session = NULL;
    enum attn_status status;
    attn_site_set sites = 0;

    for (size_t i = 0; i < source->n; i++)
        sites |= ATTN_SITE_BIT(source->items[i]->site);
    ATTN_TRY(attn_selection_set_sites(selection, sites, err));
    trial.trace = &trace;
    trial.has_logits = false;
    status = attn_trial_run(&trial, &session, err);
    attn_session_free(session);
    return status;
}

static enum attn_status run_source(const struct attn_run *run, struct source *source,
                                   struct attn_error *err)
{
    struct attn_selection *selection = NULL;
    enum attn_status status;

    ATTN_TRY(attn_selection_create(attn_selection_dims(run->selection), &selection, err));
    status = trace_source(run, source, selection, err);
    attn_selection_free(selection);
    return status;
}

/* Runs over reference I; *is_short: it has fewer rows than are to be replaced, and gives none. */
static enum attn_status run_reference(struct ablation *ablation, size_t i, struct source *source,
                                      bool *is_short, struct attn_error *err)
{
    struct attn_frame *frame = &ablation->frame;
    struct attn_run *run;
    enum attn_status status = ATTN_OK;

    frame->request.input = ablation->args->references[i];
    ATTN_TRY(attn_run_prepare(frame->host, &frame->request, &run, err));
    *is_short = !source->is_mean && run->text.n < source->n_position;
    if (!*is_short)
        status = run_source(run, source, err);
    attn_run_free(run);
    return status;
}

/* Runs over a reference that has as many rows as the text: the one drawn, or the next after it. */
static enum attn_status run_drawn(struct ablation *ablation, struct source *source,
                                  struct attn_error *err)
{
    const size_t n = ablation->args->n_reference;
    const size_t first = (size_t)(attn_random_double(&ablation->random) * (double)n);
    bool is_short = true;

    for (size_t i = 0; is_short && i < n; i++)
        ATTN_TRY(run_reference(ablation, (first + i) % n, source, &is_short, err));
    if (!is_short)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "no text of the references has as many tokens as the text, %zu",
                   source->n_position);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

/* Rows of the mean, instead of all. */
static void spread_mean(const struct ablation *ablation, struct material *material)
{
    const size_t n_head =
        attn_site_layout(material->site) == ATTN_LAYOUT_QUERY ? ablation->frame.config->n_head : 1;
    const size_t width = material->n_col / n_head, n = ablation->frame.run->text.n;

    for (size_t layer = 0; layer < ablation->frame.config->n_layer; layer++)
        for (size_t i = 0; i < n_head * n; i++)
            for (size_t k = 0; k < width; k++)
                rows_of(material, layer, n)[i * width + k] =
                    (float)(material->sums[layer * material->n_col + i / n * width + k] /
                            (double)material->n_row);
}

static enum attn_status make_material(struct ablation *ablation, struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    struct source source = {.n_position = ablation->frame.run->text.n,
                            .is_mean = args->with == ATTN_ABLATE_WITH_MEAN};
    bool is_short;

    for (size_t i = 0; i < ablation->n_site; i++) {
        ATTN_TRY(allocate_material(ablation, ablation->sites[i], &ablation->material[i], err));
        source.items[source.n++] = &ablation->material[i];
    }
    if (args->n_control > 0 && !is_of_heads(ablation->sites[0])) {
        ATTN_TRY(allocate_material(ablation, ATTN_SITE_Z, &ablation->head_material, err));
        source.items[source.n++] = &ablation->head_material;
    }
    if (!needs_rows(ablation))
        return ATTN_OK;
    if (!source.is_mean)
        return run_drawn(ablation, &source, err);
    if (args->n_reference == 0)
        ATTN_TRY(run_source(ablation->frame.run, &source, err));
    for (size_t i = 0; i < args->n_reference; i++)
        ATTN_TRY(run_reference(ablation, i, &source, &is_short, err));
    for (size_t i = 0; i < source.n; i++)
        spread_mean(ablation, source.items[i]);
    return ATTN_OK;
}

/* --- Sets of parts ---------------------------------------------------------------------------- */

/* The edit that puts MATERIAL instead of a part. */
static struct attn_edit edit_of(const struct ablation *ablation, const struct part *part,
                                const struct material *material)
{
    const size_t n = ablation->frame.run->text.n,
                 width = attn_site_width(material->site,
                                         attn_selection_dims(ablation->frame.run->selection));
    const bool is_neuron = material->site == ATTN_SITE_MLP_POST;
    struct attn_edit edit = ATTN_EDIT_DEFAULT;

    edit.site = material->site;
    edit.layer = part->layer;
    edit.op = ATTN_EDIT_ZERO;
    if (is_of_heads(material->site))
        edit.head = part->index; /* -1: all */
    if (is_neuron) {
        edit.col0 = (size_t)part->index;
        edit.col1 = edit.col0 + 1;
    }
    if (!material->rows)
        return edit;
    edit.op = ATTN_EDIT_REPLACE;
    edit.row1 = n;
    edit.col1 = is_neuron ? edit.col1 : width;
    edit.ld = width;
    edit.data = rows_of(material, (size_t)part->layer, n) + edit.col0;
    if (material->site == ATTN_SITE_Z)
        edit.data += (size_t)part->index * n * width;
    return edit;
}

/* Sets of parts that are tried, and what came of them. */
struct sets {
    struct attn_trial_change *changes;   /* [n] owns */
    struct attn_trial_outcome *outcomes; /* [n] owns */
    struct attn_edit *edits;             /* owns; of all */
    size_t n;
};

static enum attn_status allocate_sets(struct sets *sets, size_t n, size_t n_edit,
                                      struct attn_error *err)
{
    sets->n = n;
    sets->changes = attn_alloc(n, sizeof *sets->changes, err);
    sets->outcomes = attn_alloc(n, sizeof *sets->outcomes, err);
    sets->edits = attn_alloc(n_edit, sizeof *sets->edits, err);
    return sets->changes && sets->outcomes && sets->edits ? ATTN_OK : ATTN_NO_MEMORY;
}

static void release_sets(struct sets *sets)
{
    attn_free(sets->changes);
    attn_free(sets->outcomes);
    attn_free(sets->edits);
}

/* Each part by itself, or the first 1, 2, ... of them. */
static enum attn_status try_parts(struct ablation *ablation, bool is_cumulative, struct sets *sets,
                                  struct attn_error *err)
{
    const size_t n = ablation->n_part, n_site = ablation->n_site;

    ATTN_TRY(allocate_sets(sets, n, n * n_site, err));
    for (size_t i = 0; i < n * n_site; i++) /* a set of the parts i .. i+m-1 are neighbours here */
        sets->edits[i] =
            edit_of(ablation, &ablation->parts[i / n_site], &ablation->material[i % n_site]);
    for (size_t i = 0; i < n; i++)
        sets->changes[i] = (struct attn_trial_change){
            sets->edits + (is_cumulative ? 0 : i * n_site), (is_cumulative ? i + 1 : 1) * n_site};
    return attn_trials_perform(&ablation->trials, sets->changes, n, sets->outcomes, err);
}

static int by_change(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    const int order = attn_compare_numbers(fabs(x->change), fabs(y->change));

    if (order != 0)
        return order;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The part with the smallest change of its own comes first. */
static enum attn_status sort_parts(struct ablation *ablation, struct attn_error *err)
{
    struct sets sets = {0};
    const enum attn_status status = try_parts(ablation, false, &sets, err);

    for (size_t i = 0; status == ATTN_OK && i < ablation->n_part; i++)
        ablation->parts[i].change = sets.outcomes[i].reply.value - ablation->trials.base.value;
    if (status == ATTN_OK)
        qsort(ablation->parts, ablation->n_part, sizeof *ablation->parts, by_change);
    release_sets(&sets);
    return status;
}

/* --- Controls --------------------------------------------------------------------------------- */

/* Mean and standard deviation of the change. */
struct control {
    double mean, sd;
};

/* Tries random choices of N_HEAD heads. */
static enum attn_status try_choices(struct ablation *ablation, size_t n_head, struct sets *sets,
                                    struct attn_error *err)
{
    const size_t n_each = ablation->frame.config->n_head, n = ablation->args->n_control;
    const struct material *material =
        is_of_heads(ablation->sites[0]) ? &ablation->material[0] : &ablation->head_material;
    size_t *order = ablation->order;

    ATTN_TRY(allocate_sets(sets, n, n * n_head, err));
    for (size_t i = 0; i < n; i++) {
        attn_random_permutation(&ablation->random, order, n_each * ablation->frame.config->n_layer);
        for (size_t k = 0; k < n_head; k++) {
            const struct part head = {(int)(order[k] / n_each), (int)(order[k] % n_each), 0};

            sets->edits[i * n_head + k] = edit_of(ablation, &head, material);
        }
        sets->changes[i] = (struct attn_trial_change){sets->edits + i * n_head, n_head};
    }
    return attn_trials_perform(&ablation->trials, sets->changes, n, sets->outcomes, err);
}

static enum attn_status try_control(struct ablation *ablation, size_t n_head,
                                    struct control *control, struct attn_error *err)
{
    const size_t n = ablation->args->n_control;
    struct sets sets = {0};
    double sum = 0, squares = 0;
    const enum attn_status status = try_choices(ablation, n_head, &sets, err);

    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        const double change = sets.outcomes[i].reply.value - ablation->trials.base.value;

        sum += change;
        squares += change * change;
    }
    control->mean = sum / (double)n;
    control->sd = n > 1 ? sqrt(fmax(0, (squares - sum * control->mean) / (double)(n - 1))) : 0;
    release_sets(&sets);
    return status;
}

/* --- The table -------------------------------------------------------------------------------- */

static void columns(const void *state, struct attn_columns *columns)
{
    static const struct attn_column all[MOST_COLUMNS] = {
        ATTN_COLUMN("part", TEXT),
        ATTN_COLUMN("layer", INTEGER),
        ATTN_COLUMN("head", INTEGER),
        ATTN_COLUMN_REAL("value", 6, NULL, SIGNED),
        ATTN_COLUMN_REAL("change", 6, NULL, SIGNED),
        ATTN_COLUMN_REAL("kl", 6, "nats", POSITIVE),
        {.name = "same_first", .type = ATTN_VALUE_BOOLEAN, .range = ATTN_RANGE_SHARE},
        ATTN_COLUMN_REAL("control", 6, NULL, SIGNED),
        ATTN_COLUMN_REAL("control_sd", 6, NULL, POSITIVE),
    };
    const struct ablation *ablation = state;

    attn_columns_add(columns, all, ablation->args->n_control > 0 ? MOST_COLUMNS : MOST_COLUMNS - 2);
    if (ablation->args->parts == ATTN_ABLATE_NEURONS)
        columns->items[2].name = "neuron";
}

/* PART NULL: the base. CONTROL NULL: there is none. */
static enum attn_status append(struct ablation *ablation, const struct part *part,
                               const struct attn_reply *reply, const struct control *control,
                               struct attn_error *err)
{
    const char *name = part ? part_name(ablation->args->parts, true) : "base";
    struct attn_cell row[MOST_COLUMNS] = {attn_cell_text(name, strlen(name))};

    if (part)
        row[1] = attn_cell_integer(part->layer);
    if (part && part->index >= 0)
        row[2] = attn_cell_integer(part->index);
    row[3] = attn_cell_real(reply->value);
    row[4] = attn_cell_real(reply->value - ablation->trials.base.value);
    row[5] = attn_cell_real(reply->kl);
    row[6] = attn_cell_boolean(reply->first == ablation->trials.base.first);
    if (control) {
        row[7] = attn_cell_real(control->mean);
        row[8] = attn_cell_real(control->sd);
    }
    return attn_frame_append(&ablation->frame, row, err);
}

static enum attn_status append_parts(struct ablation *ablation, const struct sets *sets,
                                     struct attn_error *err)
{
    const struct attn_ablate_args *args = ablation->args;
    const struct attn_config *config = ablation->frame.config;
    const size_t n_each = args->parts == ATTN_ABLATE_HEADS ? 1 : config->n_head;
    const size_t n_all = config->n_layer * config->n_head;
    struct control control = {0};

    ATTN_TRY(append(ablation, NULL, &ablation->trials.base, NULL, err));
    for (size_t i = 0; i < sets->n; i++) {
        const size_t n_head = (args->is_cumulative ? i + 1 : 1) * n_each;

        if (args->n_control > 0 && (i == 0 || args->is_cumulative))
            ATTN_TRY(try_control(ablation, n_head < n_all ? n_head : n_all, &control, err));
        ATTN_TRY(append(ablation, &ablation->parts[i], &sets->outcomes[i].reply,
                        args->n_control > 0 ? &control : NULL, err));
    }
    return ATTN_OK;
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status check_args(const void *given, struct attn_error *err)
{
    const struct attn_ablate_args *args = given;

    if (!attn_is_choice(args->parts, ATTN_ABLATE_NEURONS + 1, "parts", err) ||
        !attn_is_choice(args->with, ATTN_ABLATE_WITH_UNIFORM + 1, "with", err) ||
        (args->n_reference > 0 && !attn_is_given(args->references, "references", err)))
        return ATTN_INVALID;
    if (args->n_text > 0 && (args->is_cumulative || args->n_control > 0))
        return attn_error_set(err, ATTN_INVALID,
                              "`is_cumulative` and `n_control` need one text, not many");
    return ATTN_OK;
}

static enum attn_status prepare(void *state, struct attn_error *err)
{
    struct ablation *ablation = state;
    struct attn_frame *frame = &ablation->frame;

    ablation->args = frame->args;
    ATTN_TRY(attn_trial_check_host(frame->host, err));
    attn_frame_choose_nothing(&frame->request);
    ATTN_TRY(attn_frame_prepare_run(frame, err));
    find_sites(ablation);
    attn_random_seed(&ablation->random, ablation->args->seed);
    ATTN_TRY(attn_error_at(check(ablation, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_answer_find(frame->run, &ablation->args->answer, &ablation->answer, err));
    ATTN_TRY(attn_trials_start(frame->run, &ablation->answer, ablation->sites[0], &ablation->trials,
                               err));
    ATTN_TRY(make_material(ablation, err));
    return list_parts(ablation, err);
}

static enum attn_status ask_parts(struct ablation *ablation, struct sets *sets,
                                  struct attn_error *err)
{
    const bool is_cumulative = ablation->args->is_cumulative;
    const size_t n = ablation->n_part, n_control = ablation->args->n_control;
    const enum attn_site site =
        ablation->sites[0] == ATTN_SITE_QK ? ATTN_SITE_PATTERN : ablation->sites[0];
    struct attn_ablate_sum *sum = ablation->frame.sum;

    /* Those so far, each part, which is_cumulative tries by itself before, and controls. */
    ablation->trials.n_expected =
        ablation->trials.n_feed + (is_cumulative ? 2 * n + n * n_control : n + n_control);
    if (is_cumulative)
        ATTN_TRY(sort_parts(ablation, err));
    ATTN_TRY(try_parts(ablation, is_cumulative, sets, err));
    ATTN_TRY(append_parts(ablation, sets, err));
    sum->n_row += sets->outcomes[0].n_row;
    sum->n_feed += ablation->trials.n_feed;
    sum->sites = ablation->n_site > 1 ? "attn_out and mlp_out" : attn_site_name(site);
    return ATTN_OK;
}

static enum attn_status ask(void *state, struct attn_error *err)
{
    struct sets sets = {0};
    const enum attn_status status = ask_parts(state, &sets, err);

    release_sets(&sets);
    return status;
}

static void release(void *state)
{
    struct ablation *ablation = state;

    attn_trials_release(&ablation->trials);
}

static const struct attn_experiment experiment = {
    .name = "ablate",
    .state_size = sizeof(struct ablation),
    .sum_size = sizeof(struct attn_ablate_sum),
    .texts = offsetof(struct attn_ablate_args, texts),
    .n_text = offsetof(struct attn_ablate_args, n_text),
    .check = check_args,
    .prepare = prepare,
    .columns = columns,
    .ask = ask,
    .release = release,
};

enum attn_status attn_ablate(struct attn_host *host, const struct attn_request *request,
                             const struct attn_ablate_args *given, struct attn_table **table,
                             struct attn_ablate_sum *sum, struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    const struct attn_inquiry inquiry = {host, request, given, &args, table, sum};

    return attn_experiment_perform(&experiment, &inquiry, err);
}
