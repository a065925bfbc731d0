/* explain.c - see explain.h: which row it is, what the trace tells of it, and whether it adds up. */
#include "explain.h"

#include "blackboard.h"
#include "command.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Relative to what is added up: float32 sums of many terms, against the same in double. */
static const double tolerance = 1e-5;

static const enum attn_site sites[] = {
    ATTN_SITE_RESID_PRE, ATTN_SITE_Q,  ATTN_SITE_K,
    ATTN_SITE_V,         ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES,
    ATTN_SITE_PATTERN,   ATTN_SITE_Z,  ATTN_SITE_PATTERN_DROPPED, /* where there is dropout */
};

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
            EXIT_USAGE, "--heads 0.2 --queries -1 chooses head 2 of layer 0 and the last position",
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
    if (attention->masking != ATTN_MASKING_INF)
        return report_problem(EXIT_USAGE, NULL,
                              "'--explain' shows masking before the softmax, '--masking' asks for "
                              "another");
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
    row->x = calloc(row->d_model, sizeof(float));
    row->q = calloc(row->d_head, sizeof(float));
    row->z = calloc(row->d_value, sizeof(float));
    row->k = calloc(row->n_key, row->d_head * sizeof(float));
    row->v = calloc(row->n_key, row->d_value * sizeof(float));
    row->keys = calloc(row->n_key, sizeof(*row->keys));
    bool has_all = row->x && row->q && row->z && row->k && row->v && row->keys;
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

/* The row of a matrix: cells that count, and their keys, which are the same in all matrices. */
static void keep_cells(struct explained *row, float *to, const struct attn_trace_event *event)
{
    row->n_cell = event->n_col;
    if (event->keys)
        row->n_cell = event->n_kept[0];
    else if (event->is_causal && event->row0 + event->ahead + 1 < event->n_col)
        row->n_cell = event->row0 + event->ahead + 1;
    for (size_t i = 0; i < row->n_cell; i++)
        row->keys[i] = event->keys ? (size_t)event->keys[i] : i;
    memcpy(to, event->data, row->n_cell * sizeof(float));
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
        keep_cells(row, row->qk, event);
        break;
    case ATTN_SITE_ATTN_SCORES:
        keep_cells(row, row->scores, event);
        break;
    case ATTN_SITE_PATTERN:
        keep_cells(row, row->pattern, event);
        memcpy(row->weights, row->pattern, row->n_cell * sizeof(float));
        break;
    case ATTN_SITE_PATTERN_DROPPED:
        keep_cells(row, row->weights, event);
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
    return allocate(row);
}

/* --- Whether it adds up ------------------------------------------------------------------------ */

/* Whether SUM, of terms that come to SIZE without their signs, is what the run has FOUND. */
static bool is_same(double sum, double size, float found)
{
    return fabs(sum - (double)found) <= tolerance * fmax(1, size);
}

static bool is_score_right(const struct explained *row, size_t i,
                           const struct attn_attention *attention)
{
    const float *k = row->k + row->keys[i] * row->d_head;
    double sum = 0, size = 0, q2 = 0, k2 = 0;
    for (size_t a = 0; a < row->d_head; a++) {
        double term = (double)row->q[a] * (double)k[a];
        sum += term;
        size += fabs(term);
        q2 += (double)row->q[a] * (double)row->q[a];
        k2 += (double)k[a] * (double)k[a];
    }
    double length = attention->similarity == ATTN_SIMILARITY_COSINE ? sqrt(q2) * sqrt(k2) : 1;
    double divisor = attention->is_scaled ? sqrt((double)row->d_head) + attention->eps : 1;
    double score = (double)row->qk[i] * attention->factor / divisor;
    return is_same(length > 0 ? sum / length : 0, length > 0 ? size / length : 0, row->qk[i]) &&
           is_same(score, fabs(score), row->scores[i]);
}

static bool are_weights_right(const struct explained *row)
{
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < row->n_cell; i++)
        largest = fmax(largest, (double)row->scores[i]);
    for (size_t i = 0; i < row->n_cell; i++)
        sum += exp((double)row->scores[i] - largest);
    for (size_t i = 0; i < row->n_cell; i++)
        if (!is_same(exp((double)row->scores[i] - largest) / sum, 1, row->pattern[i]))
            return false;
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
    const char *wrong = NULL;
    for (size_t i = 0; i < row->n_cell; i++)
        if (!is_score_right(row, i, &explain->subject.attention[row->layer]))
            wrong = "scores";
    if (!wrong && !are_weights_right(row))
        wrong = "weights";
    if (!wrong && !is_context_right(row))
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
    attn_selection_free(explain->selection);
    *explain = (struct explain){0};
}
