/* explain.c - see explain.h: which row it is, what the trace tells of it, and whether it adds up. */
#include "explain.h"

#include "blackboard.h"
#include "command.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option explain_rows[] = {
    {.name = "explain",
     .heading = "Output",
     .kind = OPTION_FLAG,
     .help = "show the arithmetic of one row, step by step; the selection must leave one head "
             "and one query"},
};

const struct option_group explain_options = OPTION_GROUP(explain_rows);

/* Relative to what is added up: float32 sums of many terms, against the same in double. */
static const double tolerance = 1e-5;

static const enum attn_site sites[] = {
    ATTN_SITE_RESID_PRE, ATTN_SITE_Q,  ATTN_SITE_K,
    ATTN_SITE_V,         ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES,
    ATTN_SITE_PATTERN,   ATTN_SITE_Z,  ATTN_SITE_PATTERN_DROPPED, /* where there is dropout */
};

int explain_check(bool is_wanted, bool is_standard_used)
{
    if (is_wanted && is_standard_used)
        return report_problem(EXIT_USAGE, "write the data into a file",
                              "--explain prints on standard output, which holds data");
    return EXIT_DONE;
}

/* --- Which row --------------------------------------------------------------------------------- */

/* The only kept layer, head and query. */
static int find_row(struct explained *row, const struct attn_selection *selection)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    size_t n_head = 0, n_query = attn_selection_n_query(selection);
    for (size_t layer = 0; layer < dims->n_layer; layer++) {
        for (size_t head = 0; head < dims->n_head; head++) {
            if (!attn_selection_has_head(selection, (int)layer, (int)head))
                continue;
            row->layer = (int)layer;
            row->head = (int)head;
            n_head++;
        }
    }
    if (n_head != 1 || n_query != 1)
        return report_problem(
            EXIT_USAGE, "--heads 0.2 --queries -1 chooses head 2 of layer 0 and the last query",
            "'--explain' shows one row, found %zu head%s and %zu quer%s selected", n_head,
            n_head == 1 ? "" : "s", n_query, n_query == 1 ? "y" : "ies");
    while (!attn_selection_has_query(selection, row->query))
        row->query++;
    return EXIT_DONE;
}

static int check_kind(const struct explain *explain)
{
    const struct attn_attention *attention = &explain->subject.attention[explain->row.layer];
    if (attention->kind == ATTN_ATTENTION_LINEAR || attention->kind == ATTN_ATTENTION_LOWRANK)
        return report_problem(EXIT_USAGE, NULL,
                              "'--explain' shows how a softmax over keys comes about, which linear "
                              "and low-rank attention do not have");
    for (size_t i = 0; i < explain->subject.n_edit; i++)
        if (explain->subject.edits[i].layer == explain->row.layer &&
            explain->subject.edits[i].head == explain->row.head)
            return report_problem(EXIT_USAGE, NULL,
                                  "'--explain' shows head %d.%d, which is ablated",
                                  explain->row.layer, explain->row.head);
    return EXIT_DONE;
}

/* The selection of the run, with the sites of the page. */
static enum attn_status widen(struct explain *explain, const struct attn_selection *selection,
                              struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    uint64_t wanted = attn_selection_sites(selection);
    char head[32], query[32];
    for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
        wanted |= ATTN_SITE_BIT(sites[i]) & dims->sites;
    snprintf(head, sizeof(head), "%d.%d", explain->row.layer, explain->row.head);
    snprintf(query, sizeof(query), "%zu", explain->row.query);
    enum attn_status status = attn_selection_create(dims, &explain->selection, err);
    if (status == ATTN_OK)
        status = attn_selection_set_sites(explain->selection, wanted, err);
    if (status == ATTN_OK)
        status = attn_selection_set_heads(explain->selection, head, err);
    if (status == ATTN_OK)
        status = attn_selection_set_queries(explain->selection, query, err);
    return status;
}

/* --- What the trace tells ---------------------------------------------------------------------- */

static int allocate(struct explained *row)
{
    float **const cells[] = {&row->qk, &row->scores, &row->pattern, &row->weights};
    row->x = calloc(row->d_model + 1, sizeof(float)); /* attention on arrays has sizes of 0 */
    row->q = calloc(row->d_head, sizeof(float));
    row->z = calloc(row->d_value + 1, sizeof(float));
    row->k = calloc(row->n_key, row->d_head * sizeof(float));
    row->v = calloc(row->n_key, (row->d_value + 1) * sizeof(float));
    row->keys = calloc(row->n_key, sizeof(*row->keys));
    row->is_visible = calloc(row->n_key, sizeof(*row->is_visible));
    bool has_all = row->x && row->q && row->z && row->k && row->v && row->keys && row->is_visible;
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        *cells[i] = calloc(row->n_key, sizeof(float));
        has_all = has_all && *cells[i];
    }
    return has_all ? EXIT_DONE : report_no_memory();
}

static void keep_rows(float *to, const struct attn_trace_event *event, size_t first)
{
    for (size_t r = 0; r < event->n_row; r++)
        memcpy(to + (first + r) * event->n_col, event->data + r * event->ld,
               event->n_col * sizeof(float));
}

/* What a trace of arrays does not tell, since it is given. */
static void take_arrays(struct explained *row, const struct attn_attend_args *arrays)
{
    const size_t query = (size_t)row->head * arrays->n_query + row->query;
    const size_t key = (size_t)row->kv_head * arrays->n_key;
    row->has_products = arrays->q;
    row->has_values = arrays->v;
    if (arrays->q) {
        memcpy(row->q, arrays->q + query * row->d_head, row->d_head * sizeof(float));
        memcpy(row->k, arrays->k + key * row->d_head, row->n_key * row->d_head * sizeof(float));
    }
    if (arrays->v)
        memcpy(row->v, arrays->v + key * row->d_value, row->n_key * row->d_value * sizeof(float));
}

/* Cells of an event's first row that count. */
static size_t count_cells(const struct attn_trace_event *event)
{
    const size_t n_causal = event->row0 + event->ahead + 1;
    if (event->keys)
        return event->n_kept[0];
    return event->is_causal && n_causal < event->n_col ? n_causal : event->n_col;
}

/* The row of a matrix, by key for now: not all matrices hold the same cells. */
static void keep_cells(float *to, const struct attn_trace_event *event)
{
    const size_t n = count_cells(event);
    for (size_t i = 0; i < n; i++)
        to[event->keys ? (size_t)event->keys[i] : i] = event->data[i];
}

static void keep_pattern(struct explained *row, const struct attn_trace_event *event)
{
    row->n_visible = count_cells(event);
    for (size_t i = 0; i < row->n_visible; i++)
        row->is_visible[event->keys ? (size_t)event->keys[i] : i] = true;
    keep_cells(row->pattern, event);
    memcpy(row->weights, row->pattern, row->n_key * sizeof(float));
}

static void keep(struct explained *row, const struct attn_trace_event *event)
{
    switch (event->site) {
    case ATTN_SITE_RESID_PRE:
        keep_rows(row->x, event, 0);
        break;
    case ATTN_SITE_Q:
        keep_rows(row->q, event, 0);
        break;
    case ATTN_SITE_K:
        keep_rows(row->k, event, event->row0);
        break;
    case ATTN_SITE_V:
        keep_rows(row->v, event, event->row0);
        break;
    case ATTN_SITE_Z:
        keep_rows(row->z, event, 0);
        break;
    case ATTN_SITE_QK:
        keep_cells(row->qk, event);
        break;
    case ATTN_SITE_ATTN_SCORES:
        keep_cells(row->scores, event);
        break;
    case ATTN_SITE_PATTERN:
        keep_pattern(row, event);
        break;
    case ATTN_SITE_PATTERN_DROPPED:
        keep_cells(row->weights, event);
        break;
    default:
        break;
    }
}

static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct explain *explain = user;
    if (event->layer == explain->row.layer)
        keep(&explain->row, event);
    if (!attn_selection_wants(explain->next.selection, event->site, event->layer))
        return ATTN_OK;
    return explain->next.on_event(explain->next.user, event, err);
}

int explain_watch(struct explain *explain, const struct explain_subject *subject,
                  struct attn_trace *trace)
{
    const struct attn_dims *dims = attn_selection_dims(trace->selection);
    struct explained *row = &explain->row;
    struct attn_error err = {0};
    explain->subject = *subject;
    explain->is_wanted = true;
    explain->next = *trace;
    int code = find_row(row, trace->selection);
    if (code == EXIT_DONE)
        code = check_kind(explain);
    if (code != EXIT_DONE)
        return code;
    row->kv_head = row->head / (int)(dims->n_head / dims->n_kv_head);
    row->d_model = dims->d_model;
    row->d_head = dims->d_head;
    row->d_value = dims->d_value;
    row->n_key = attn_site_n_key(dims, row->layer);
    if (widen(explain, trace->selection, &err) != ATTN_OK)
        return report(&err, EXIT_USAGE);
    *trace = (struct attn_trace){explain->selection, on_event, explain};
    row->has_products = row->has_values = true;
    code = allocate(row);
    if (code == EXIT_DONE && subject->arrays)
        take_arrays(row, subject->arrays);
    return code;
}

/* --- Whether it adds up ------------------------------------------------------------------------ */

/* Whether SUM, of terms that come to SIZE without their signs, is what the run has FOUND. */
static bool is_same(double sum, double size, float found)
{
    if (isnan(found) || isinf(found)) /* arrays may hold such */
        return isnan(found) ? isnan(sum) : sum == (double)found;
    return fabs(sum - (double)found) <= tolerance * fmax(1, size);
}

/* q.k of a key, or the cosine; in *size what its terms come to without their signs. */
static double fit_of(const struct explained *row, size_t key, enum attn_similarity similarity,
                     double *size)
{
    const float *q = row->q, *k = row->k + key * row->d_head;
    double sum = 0, q2 = 0, k2 = 0;
    *size = 0;
    for (size_t a = 0; a < row->d_head; a++) {
        double term = (double)q[a] * (double)k[a];
        sum += term;
        *size += fabs(term);
        q2 += (double)q[a] * (double)q[a];
        k2 += (double)k[a] * (double)k[a];
    }
    if (similarity == ATTN_SIMILARITY_DOT)
        return sum;
    *size = 1;
    return q2 > 0 && k2 > 0 ? sum / sqrt(q2) / sqrt(k2) : 0;
}

/*
 * From one number a key to one a cell: all keys when the mask comes after the softmax, else those
 * that it leaves. Of hidden keys no trace tells q.k.
 */
static void gather(struct explained *row, const struct attn_attention *attention)
{
    for (size_t key = 0; key < row->n_key; key++) {
        double size;
        if (!row->is_visible[key] && attention->masking == ATTN_MASKING_INF)
            continue;
        const size_t cell = row->n_cell++; /* not behind the key */
        row->keys[cell] = key;
        row->qk[cell] = row->is_visible[key] || !row->has_products
                            ? row->qk[key]
                            : (float)fit_of(row, key, attention->similarity, &size);
        row->scores[cell] = row->scores[key];
        row->pattern[cell] = row->pattern[key];
        row->weights[cell] = row->weights[key];
        row->is_visible[cell] = row->is_visible[key];
    }
    for (size_t cell = 0; cell < row->n_cell; cell++)
        if (row->scores[cell] != -INFINITY)
            return;
    row->n_cell = row->n_visible = 0; /* scores were given that hide every key */
}

static bool is_score_right(const struct explained *row, size_t i,
                           const struct attn_attention *attention)
{
    double size;
    double fit = fit_of(row, row->keys[i], attention->similarity, &size);
    double divisor = attention->is_scaled ? sqrt((double)row->d_head) + attention->eps : 1;
    double score = (double)row->qk[i] * attention->factor / divisor;
    return (!row->has_products || is_same(fit, size, row->qk[i])) &&
           is_same(score, fabs(score), row->scores[i]);
}

static bool are_weights_right(const struct explained *row, enum attn_masking masking)
{
    double largest = -INFINITY, sum = 0, visible = 0;
    for (size_t i = 0; i < row->n_cell; i++)
        largest = fmax(largest, (double)row->scores[i]);
    for (size_t i = 0; i < row->n_cell; i++) {
        sum += exp((double)row->scores[i] - largest);
        visible += row->is_visible[i] ? exp((double)row->scores[i] - largest) : 0;
    }
    if (masking == ATTN_MASKING_RENORMALIZE && visible > 0)
        sum = visible;
    for (size_t i = 0; i < row->n_cell; i++) {
        double weight = row->is_visible[i] ? exp((double)row->scores[i] - largest) / sum : 0;
        if (!is_same(weight, 1, row->pattern[i]))
            return false;
    }
    return true;
}

static bool is_context_right(const struct explained *row)
{
    for (size_t c = 0; c < row->d_value; c++) {
        double sum = 0, size = 0;
        for (size_t i = 0; i < row->n_cell; i++) {
            double term = (double)row->weights[i] * (double)row->v[row->keys[i] * row->d_value + c];
            sum += term;
            size += fabs(term);
        }
        if (!is_same(sum, size, row->z[c]))
            return false;
    }
    return true;
}

static int check_sums(const struct explain *explain)
{
    const struct explained *row = &explain->row;
    const struct attn_attention *attention = &explain->subject.attention[row->layer];
    const char *wrong = NULL;
    for (size_t i = 0; i < row->n_cell; i++)
        if (!is_score_right(row, i, attention))
            wrong = "scores";
    if (!wrong && !are_weights_right(row, attention->masking))
        wrong = "weights";
    if (!wrong && row->has_values && !is_context_right(row))
        wrong = "values of z";
    if (wrong)
        return report_problem(
            EXIT_CHECK, NULL,
            "the steps of '--explain' come to other %s than the run, in layer %d, "
            "head %d, query %zu",
            wrong, row->layer, row->head, row->query);
    return EXIT_DONE;
}

int explain_print(struct explain *explain, struct attn_sink *out)
{
    if (!explain->is_wanted)
        return EXIT_DONE;
    gather(&explain->row, &explain->subject.attention[explain->row.layer]);
    int code = check_sums(explain);
    return code == EXIT_DONE ? blackboard_print(&explain->subject, &explain->row, out) : code;
}

void explain_release(struct explain *explain)
{
    struct explained *row = &explain->row;
    float *const arrays[] = {row->x,      row->q,       row->k,       row->v, row->qk,
                             row->scores, row->pattern, row->weights, row->z};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        free(arrays[i]);
    free(row->keys);
    free(row->is_visible);
    attn_selection_free(explain->selection);
    *explain = (struct explain){0};
}
