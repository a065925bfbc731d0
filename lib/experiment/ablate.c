/*
 * ablate.c - see ablate.h. Every part is a list of edits, so a set of parts is one, too: what is
 * tried is always a set. Weights become uniform by products of queries and keys that are all 0:
 * what is masked stays masked, whatever the kind of attention.
 */
#include "experiment/ablate.h"

#include "base/given.h"
#include "experiment/ablate_texts.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "base/table_internal.h"
#include "experiment/inquiry.h"
#include "experiment/trials.h"
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

/* What stands in the place of one site. */
struct material {
    enum attn_site site; /* qk where weights become uniform */
    float **rows;        /* [n_layer] own; as a capture holds them: [H, T, Ev] of z, else [T, n] */
    double **sums;       /* [n_layer] own; of the columns of all rows, while a mean is made */
    size_t n_row;        /* of them */
    size_t n_col;        /* of all heads together */
};

struct job {
    const struct attn_ablate_args *args;
    struct attn_host *host;
    struct attn_request request;
    struct attn_run *run; /* owns */
    const struct attn_config *config;
    struct attn_answer answer;
    struct attn_trials trials;
    enum attn_site sites[MOST_SITES]; /* that parts change */
    size_t n_site;
    struct material material[MOST_SITES]; /* of each; of those that become zero without rows */
    struct material head_material;        /* of the heads that controls choose */
    struct part *parts;                   /* [n_part] owns */
    size_t n_part;
    struct attn_random random;
    struct attn_table *table; /* owns */
    size_t n_changed;         /* rows that the first part changed */
};

/* --- What is asked for ------------------------------------------------------------------------ */

static const char *part_name(enum attn_ablate_parts parts, bool is_row)
{
    static const char *const names[][2] = {
#define PARTS_NAMES(id, name, row) {name, row},
        ATTN_ABLATE_PARTS_MAP(PARTS_NAMES)
#undef PARTS_NAMES
    };

    return names[parts][is_row];
}

static void find_sites(struct job *job)
{
    static const enum attn_site sites[][MOST_SITES] = {
        [ATTN_ABLATE_HEADS] = {ATTN_SITE_Z},
        [ATTN_ABLATE_ATTN] = {ATTN_SITE_ATTN_OUT},
        [ATTN_ABLATE_MLP] = {ATTN_SITE_MLP_OUT},
        [ATTN_ABLATE_LAYERS] = {ATTN_SITE_ATTN_OUT, ATTN_SITE_MLP_OUT},
        [ATTN_ABLATE_NEURONS] = {ATTN_SITE_MLP_POST},
    };

    memcpy(job->sites, sites[job->args->parts], sizeof job->sites);
    if (job->args->with == ATTN_ABLATE_WITH_UNIFORM)
        job->sites[0] = ATTN_SITE_QK;
    job->n_site = job->args->parts == ATTN_ABLATE_LAYERS && job->config->d_mlp > 0 ? 2 : 1;
}

static enum attn_status check(const struct job *job, struct attn_error *err)
{
    const struct attn_ablate_args *args = job->args;
    const struct attn_quote name = attn_quote_string(attn_model_name(job->run->model));
    const bool needs_mlp = args->parts == ATTN_ABLATE_MLP || args->parts == ATTN_ABLATE_NEURONS;
    const bool has_heads = args->parts != ATTN_ABLATE_MLP && args->parts != ATTN_ABLATE_NEURONS;

    if (needs_mlp && job->config->d_mlp == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has no MLP", name.text);
    if (args->parts == ATTN_ABLATE_NEURONS &&
        (args->layer < 0 || (size_t)args->layer >= job->config->n_layer))
        return attn_error_set(err, ATTN_INVALID, "'%s' has no layer %d, expected 0 to %zu",
                              name.text, args->layer, job->config->n_layer - 1);
    if (args->with == ATTN_ABLATE_WITH_UNIFORM && args->parts != ATTN_ABLATE_HEADS &&
        args->parts != ATTN_ABLATE_ATTN)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' have no weights that could be uniform, expected heads or attn",
                              part_name(args->parts, false));
    if (args->with == ATTN_ABLATE_WITH_RESAMPLE && args->n_reference == 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "--with resample needs --reference, whose rows replace those of the text");
    if (args->n_control > 0 && !has_heads)
        return attn_error_set(err, ATTN_INVALID,
                              "controls are choices of as many heads, and '%s' have none",
                              part_name(args->parts, false));
    return ATTN_OK;
}

static enum attn_status prepare(struct job *job, struct attn_error *err)
{
    ATTN_TRY(attn_trial_check_host(job->host, err));
    attn_inquiry_choose_nothing(&job->request);
    ATTN_TRY(attn_run_prepare(job->host, &job->request, &job->run, err));
    job->config = attn_model_config(job->run->model);
    find_sites(job);
    attn_random_seed(&job->random, job->args->seed);
    ATTN_TRY(attn_error_at(check(job, err), ATTN_STAGE_OPTIONS, err));
    return attn_answer_find(job->run, &job->args->answer, &job->answer, err);
}

/* The parts in the order of the table. */
static enum attn_status list_parts(struct job *job, struct attn_error *err)
{
    const enum attn_ablate_parts parts = job->args->parts;
    const bool is_of_one = parts == ATTN_ABLATE_NEURONS;
    const size_t n_layer = is_of_one ? 1 : job->config->n_layer;
    const size_t n_each = parts == ATTN_ABLATE_HEADS ? job->config->n_head
                          : is_of_one                ? job->config->d_mlp
                                                     : 1;

    job->n_part = n_layer * n_each;
    job->parts = attn_alloc(job->n_part, sizeof *job->parts, err);
    if (!job->parts)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < job->n_part; i++) {
        job->parts[i].layer = is_of_one ? job->args->layer : (int)(i / n_each);
        job->parts[i].index = parts == ATTN_ABLATE_HEADS || is_of_one ? (int)(i % n_each) : -1;
    }
    return ATTN_OK;
}

/* --- What stands in their place --------------------------------------------------------------- */

static bool needs_rows(const struct job *job)
{
    return job->args->with == ATTN_ABLATE_WITH_MEAN || job->args->with == ATTN_ABLATE_WITH_RESAMPLE;
}

/* Whether SITE is told head by head, and an edit names one. */
static bool is_of_heads(enum attn_site site)
{
    return site == ATTN_SITE_Z || site == ATTN_SITE_QK;
}

static enum attn_status allocate_material(const struct job *job, enum attn_site site,
                                          struct material *material, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(job->run->selection);
    const size_t n_head = attn_site_layout(site) == ATTN_LAYOUT_QUERY ? dims->n_head : 1;

    *material = (struct material){.site = site, .n_col = n_head * attn_site_width(site, dims)};
    if (!needs_rows(job))
        return ATTN_OK;
    material->rows = attn_alloc(dims->n_layer, sizeof *material->rows, err);
    material->sums = attn_alloc(dims->n_layer, sizeof *material->sums, err);
    if (!material->rows || !material->sums)
        return ATTN_NO_MEMORY;
    for (size_t layer = 0; layer < dims->n_layer; layer++) {
        material->rows[layer] =
            attn_alloc(dims->n_position * material->n_col, sizeof **material->rows, err);
        material->sums[layer] = attn_alloc(material->n_col, sizeof **material->sums, err);
        if (!material->rows[layer] || !material->sums[layer])
            return ATTN_NO_MEMORY;
    }
    return ATTN_OK;
}

static void release_material(const struct job *job, struct material *material)
{
    for (size_t layer = 0; job->config && layer < job->config->n_layer; layer++) {
        if (material->rows)
            attn_free(material->rows[layer]);
        if (material->sums)
            attn_free(material->sums[layer]);
    }
    attn_free(material->rows);
    attn_free(material->sums);
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
            const size_t row = event->row0 + r;

            if (!source->is_mean && row < source->n_position)
                memcpy(material->rows[event->layer] +
                           (head * source->n_position + row) * event->n_col,
                       x, event->n_col * sizeof *x);
            for (size_t k = 0; source->is_mean && k < event->n_col; k++)
                material->sums[event->layer][head * event->n_col + k] += (double)x[k];
        }
    }
    return ATTN_OK;
}

/* Runs over RUN, which tells SOURCE of what it needs. */
static enum attn_status run_source(const struct attn_run *run, struct source *source,
                                   struct attn_error *err)
{
    struct attn_selection *selection = NULL;
    struct attn_session *session = NULL;
    struct attn_trial trial = attn_trial_of(run);
    struct attn_trace trace = {.on_event = take_rows, .user = source};
    uint64_t sites = 0;
    enum attn_status status =
        attn_selection_create(attn_selection_dims(run->selection), &selection, err);

    for (size_t i = 0; i < source->n; i++)
        sites |= ATTN_SITE_BIT(source->items[i]->site);
    if (status == ATTN_OK)
        status = attn_selection_set_sites(selection, sites, err);
    trace.selection = selection;
    trial.trace = &trace;
    trial.has_logits = false;
    if (status == ATTN_OK)
        status = attn_trial_run(&trial, &session, err);
    attn_session_free(session);
    attn_selection_free(selection);
    return status;
}

/* Runs over reference I; *is_short: it has fewer rows than are to be replaced, and gives none. */
static enum attn_status run_reference(struct job *job, size_t i, struct source *source,
                                      bool *is_short, struct attn_error *err)
{
    struct attn_run *run = NULL;
    enum attn_status status;

    job->request.input = job->args->references[i];
    status = attn_run_prepare(job->host, &job->request, &run, err);
    *is_short = status == ATTN_OK && !source->is_mean && run->text.n < source->n_position;
    if (status == ATTN_OK && !*is_short)
        status = run_source(run, source, err);
    attn_run_free(run);
    return status;
}

/* Runs over a reference that has as many rows as the text: the one drawn, or the next after it. */
static enum attn_status run_drawn(struct job *job, struct source *source, struct attn_error *err)
{
    const size_t n = job->args->n_reference;
    const size_t first = (size_t)(attn_random_double(&job->random) * (double)n);
    enum attn_status status = ATTN_OK;
    bool is_short = true;

    for (size_t i = 0; status == ATTN_OK && is_short && i < n; i++)
        status = run_reference(job, (first + i) % n, source, &is_short, err);
    if (status == ATTN_OK && is_short) {
        attn_error_set(err, ATTN_INVALID,
                       "no text of the references has as many tokens as the text, %zu",
                       source->n_position);
        status = attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
    }
    return status;
}

/* Rows of the mean, in the place of all. */
static void spread_mean(const struct job *job, struct material *material)
{
    const size_t n_head =
        attn_site_layout(material->site) == ATTN_LAYOUT_QUERY ? job->config->n_head : 1;
    const size_t width = material->n_col / n_head, n = job->run->text.n;

    for (size_t layer = 0; layer < job->config->n_layer; layer++)
        for (size_t i = 0; i < n_head * n; i++)
            for (size_t k = 0; k < width; k++)
                material->rows[layer][i * width + k] =
                    (float)(material->sums[layer][i / n * width + k] / (double)material->n_row);
}

static enum attn_status fill_material(struct job *job, struct source *source,
                                      struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    bool is_short;

    if (!source->is_mean)
        return run_drawn(job, source, err);
    if (job->args->n_reference == 0)
        status = run_source(job->run, source, err);
    for (size_t i = 0; status == ATTN_OK && i < job->args->n_reference; i++)
        status = run_reference(job, i, source, &is_short, err);
    for (size_t i = 0; status == ATTN_OK && i < source->n; i++)
        spread_mean(job, source->items[i]);
    return status;
}

static enum attn_status make_material(struct job *job, struct attn_error *err)
{
    struct source source = {.n_position = job->run->text.n,
                            .is_mean = job->args->with == ATTN_ABLATE_WITH_MEAN};
    const bool has_heads = is_of_heads(job->sites[0]);
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && i < job->n_site; i++) {
        status = allocate_material(job, job->sites[i], &job->material[i], err);
        source.items[source.n++] = &job->material[i];
    }
    if (status == ATTN_OK && job->args->n_control > 0 && !has_heads) {
        status = allocate_material(job, ATTN_SITE_Z, &job->head_material, err);
        source.items[source.n++] = &job->head_material;
    }
    if (status != ATTN_OK || !needs_rows(job))
        return status;
    return fill_material(job, &source, err);
}

/* --- Sets of parts ---------------------------------------------------------------------------- */

/* The edit that puts MATERIAL in the place of a part. */
static struct attn_edit edit_of(const struct job *job, const struct part *part,
                                const struct material *material)
{
    const size_t n = job->run->text.n,
                 width = attn_site_width(material->site, attn_selection_dims(job->run->selection));
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
    edit.data = material->rows[part->layer] + edit.col0;
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

/* The edits of all parts in their order. A set of the parts first .. first+n-1 are neighbours
 * there. */
static void edit_parts(const struct job *job, struct attn_edit *edits)
{
    for (size_t i = 0; i < job->n_part; i++)
        for (size_t k = 0; k < job->n_site; k++)
            edits[i * job->n_site + k] = edit_of(job, &job->parts[i], &job->material[k]);
}

/* Each part by itself, or the first 1, 2, ... of them. */
static enum attn_status try_parts(struct job *job, bool is_cumulative, struct sets *sets,
                                  struct attn_error *err)
{
    ATTN_TRY(allocate_sets(sets, job->n_part, job->n_part * job->n_site, err));
    edit_parts(job, sets->edits);
    for (size_t i = 0; i < sets->n; i++)
        sets->changes[i] =
            (struct attn_trial_change){sets->edits + (is_cumulative ? 0 : i * job->n_site),
                                       (is_cumulative ? i + 1 : 1) * job->n_site};
    return attn_trials_perform(&job->trials, sets->changes, sets->n, sets->outcomes, err);
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

/* The part with the least change of its own comes first. */
static enum attn_status sort_parts(struct job *job, struct attn_error *err)
{
    struct sets sets = {0};
    const enum attn_status status = try_parts(job, false, &sets, err);

    for (size_t i = 0; status == ATTN_OK && i < job->n_part; i++)
        job->parts[i].change = sets.outcomes[i].reply.value - job->trials.base.value;
    if (status == ATTN_OK)
        qsort(job->parts, job->n_part, sizeof *job->parts, by_change);
    release_sets(&sets);
    return status;
}

/* --- Controls --------------------------------------------------------------------------------- */

/* Mean and standard deviation of the change. */
struct control {
    double mean, sd;
};

/* Random choices of N_HEAD heads. */
static enum attn_status try_control(struct job *job, size_t n_head, struct control *control,
                                    struct attn_error *err)
{
    const size_t n_all = job->config->n_layer * job->config->n_head, n = job->args->n_control;
    const struct material *material =
        is_of_heads(job->sites[0]) ? &job->material[0] : &job->head_material;
    size_t *order = attn_alloc(n_all, sizeof *order, err);
    struct sets sets = {0};
    double sum = 0, squares = 0;
    enum attn_status status = order ? allocate_sets(&sets, n, n * n_head, err) : ATTN_NO_MEMORY;

    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        attn_random_permutation(&job->random, order, n_all);
        for (size_t k = 0; k < n_head; k++) {
            const struct part head = {(int)(order[k] / job->config->n_head),
                                      (int)(order[k] % job->config->n_head), 0};

            sets.edits[i * n_head + k] = edit_of(job, &head, material);
        }
        sets.changes[i] = (struct attn_trial_change){sets.edits + i * n_head, n_head};
    }
    if (status == ATTN_OK)
        status = attn_trials_perform(&job->trials, sets.changes, n, sets.outcomes, err);
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        const double change = sets.outcomes[i].reply.value - job->trials.base.value;

        sum += change;
        squares += change * change;
    }
    control->mean = sum / (double)n;
    control->sd = n > 1 ? sqrt(fmax(0, (squares - sum * control->mean) / (double)(n - 1))) : 0;
    release_sets(&sets);
    attn_free(order);
    return status;
}

/* --- The table -------------------------------------------------------------------------------- */

static enum attn_status create_table(struct job *job, struct attn_error *err)
{
#define REAL(label, of, numbers)                                                                   \
    {                                                                                              \
        .name = (label), .type = ATTN_VALUE_REAL, .unit = (of), .notation = ATTN_NOTATION_FIXED,   \
        .digits = 6, .range = (numbers)                                                            \
    }
    struct attn_column columns[MOST_COLUMNS] = {
        {.name = "part", .type = ATTN_VALUE_TEXT},
        {.name = "layer", .type = ATTN_VALUE_INTEGER},
        {.name = "head", .type = ATTN_VALUE_INTEGER},
        REAL("value", NULL, ATTN_RANGE_SIGNED),
        REAL("change", NULL, ATTN_RANGE_SIGNED),
        REAL("kl", "nats", ATTN_RANGE_POSITIVE),
        {.name = "same_first", .type = ATTN_VALUE_BOOLEAN, .range = ATTN_RANGE_SHARE},
        REAL("control", NULL, ATTN_RANGE_SIGNED),
        REAL("control_sd", NULL, ATTN_RANGE_POSITIVE),
    };
#undef REAL
    if (job->args->parts == ATTN_ABLATE_NEURONS)
        columns[2].name = "neuron";
    return attn_table_create("ablate", columns, job->args->n_control > 0 ? 9 : 7, &job->table, err);
}

/* PART NULL: the base. CONTROL NULL: there is none. */
static enum attn_status append(struct job *job, const struct part *part,
                               const struct attn_reply *reply, const struct control *control,
                               struct attn_error *err)
{
    const char *name = part ? part_name(job->args->parts, true) : "base";
    struct attn_cell row[MOST_COLUMNS] = {attn_cell_text(name, strlen(name))};

    if (part)
        row[1] = attn_cell_integer(part->layer);
    if (part && part->index >= 0)
        row[2] = attn_cell_integer(part->index);
    row[3] = attn_cell_real(reply->value);
    row[4] = attn_cell_real(reply->value - job->trials.base.value);
    row[5] = attn_cell_real(reply->kl);
    row[6] = attn_cell_boolean(reply->first == job->trials.base.first);
    if (control) {
        row[7] = attn_cell_real(control->mean);
        row[8] = attn_cell_real(control->sd);
    }
    return attn_table_append(job->table, row, job->args->n_control > 0 ? 9 : 7, err);
}

static enum attn_status append_parts(struct job *job, const struct sets *sets,
                                     struct attn_error *err)
{
    const size_t n_each = job->args->parts == ATTN_ABLATE_HEADS ? 1 : job->config->n_head;
    const size_t n_all = job->config->n_layer * job->config->n_head;
    struct control control = {0};
    enum attn_status status = append(job, NULL, &job->trials.base, NULL, err);

    for (size_t i = 0; status == ATTN_OK && i < sets->n; i++) {
        const size_t n_head = (job->args->is_cumulative ? i + 1 : 1) * n_each;

        if (job->args->n_control > 0 && (i == 0 || job->args->is_cumulative))
            status = try_control(job, n_head < n_all ? n_head : n_all, &control, err);
        if (status == ATTN_OK)
            status = append(job, &job->parts[i], &sets->outcomes[i].reply,
                            job->args->n_control > 0 ? &control : NULL, err);
    }
    return status;
}

/* Runs in all: those so far, each part, which --cumulative tries by itself before, and controls. */
static size_t count_runs(const struct job *job)
{
    const size_t n = job->n_part, n_control = job->args->n_control;

    return job->trials.n_feed + (job->args->is_cumulative ? 2 * n + n * n_control : n + n_control);
}

/* --- All of it -------------------------------------------------------------------------------- */

static enum attn_status ablate(struct job *job, struct attn_error *err)
{
    struct sets sets = {0};
    enum attn_status status =
        attn_trials_start(job->run, &job->answer, job->sites[0], &job->trials, err);

    if (status == ATTN_OK)
        status = make_material(job, err);
    if (status == ATTN_OK)
        status = list_parts(job, err);
    job->trials.n_expected = count_runs(job);
    if (status == ATTN_OK && job->args->is_cumulative)
        status = sort_parts(job, err);
    if (status == ATTN_OK)
        status = try_parts(job, job->args->is_cumulative, &sets, err);
    if (status == ATTN_OK)
        status = create_table(job, err);
    if (status == ATTN_OK)
        status = append_parts(job, &sets, err);
    if (status == ATTN_OK)
        job->n_changed = sets.outcomes[0].n_row;
    release_sets(&sets);
    return status;
}

static void sum_up(const struct job *job, struct attn_ablate_sum *sum)
{
    const enum attn_site site = job->sites[0] == ATTN_SITE_QK ? ATTN_SITE_PATTERN : job->sites[0];

    *sum = (struct attn_ablate_sum){.n_row = job->n_changed,
                                    .sites = job->n_site > 1 ? "attn_out and mlp_out"
                                                             : attn_site_name(site),
                                    .n_feed = job->trials.n_feed};
}

enum attn_status attn_ablate(struct attn_host *host, const struct attn_request *request,
                             const struct attn_ablate_args *given, struct attn_table **table,
                             struct attn_ablate_sum *sum, struct attn_error *err)
{
    if (!attn_is_given(host, "host", err) || !attn_is_given(request, "request", err) ||
        !attn_is_given(table, "table", err) || !attn_is_given(sum, "sum", err))
        return ATTN_INVALID;
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct job job = {.args = &args, .host = host, .request = ATTN_REQUEST_DEFAULT};
    const struct attn_inquiry inquiry = {given, request};
    enum attn_status status = attn_inquiry_read(&inquiry, &args, &job.request, err);

    if (status != ATTN_OK)
        return status;
    if (!attn_is_choice(args.parts, ATTN_ABLATE_NEURONS + 1, "parts", err) ||
        !attn_is_choice(args.with, ATTN_ABLATE_WITH_UNIFORM + 1, "with", err) ||
        (args.n_text > 0 && !attn_is_given(args.texts, "texts", err)) ||
        (args.n_reference > 0 && !attn_is_given(args.references, "references", err)))
        return ATTN_INVALID;
    if (args.n_text > 0)
        return attn_ablate_texts(host, request, &args, table, sum, err);
    status = prepare(&job, err);
    if (status == ATTN_OK)
        status = ablate(&job, err);
    if (status == ATTN_OK) {
        *table = job.table;
        job.table = NULL;
        sum_up(&job, sum);
    }
    for (size_t i = 0; i < MOST_SITES; i++)
        release_material(&job, &job.material[i]);
    release_material(&job, &job.head_material);
    attn_trials_release(&job.trials);
    attn_table_free(job.table);
    attn_free(job.parts);
    attn_run_free(job.run);
    return status;
}
