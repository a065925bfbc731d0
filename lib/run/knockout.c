/* knockout.c - see knockout.h. */
#include "run/knockout.h"

#include "attention/keys.h"
#include "base/escape.h"
#include "base/memory.h"
#include "run/position.h"

#include <string.h>

/* A knockout as it was read. */
struct knockout {
    const char *spec;              /* as it was written */
    char *text;                    /* owns; a copy that is cut into its parts */
    unsigned char *queries, *keys; /* [T] own; whether a position is meant */
    struct attn_selection *heads;  /* owns */
};

struct job {
    struct attn_run *run;
    const struct attn_dims *dims;
    struct knockout *items; /* [n] owns */
    size_t n;
    unsigned char *cut;      /* [T] owns; keys that one row loses */
    int32_t *kept;           /* [T] owns; keys that it has */
    size_t n_edit, capacity; /* of the run's edits */
};

/* --- Reading ---------------------------------------------------------------------------------- */

/* The first C of TEXT outside of double quotes, or NULL. */
static char *find_outside(char *text, char c)
{
    bool is_quoted = false;

    for (; *text != '\0'; text++) {
        is_quoted = is_quoted != (*text == '"');
        if (*text == c && !is_quoted)
            return text;
    }
    return NULL;
}

static enum attn_status report_form(const struct knockout *knockout, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID,
                   "'%s' is no knockout, expected QUERIES>KEYS or "
                   "QUERIES>KEYS@HEADS",
                   attn_quote_string(knockout->spec).text);
    attn_error_hint(err, "'it>cat@2.*' keeps the heads of layer 2 at 'it' from looking at 'cat'");
    return ATTN_INVALID;
}

static enum attn_status read_knockout(const struct job *job, struct knockout *knockout,
                                      struct attn_error *err)
{
    const size_t n = job->dims->n_position;
    char *arrow, *at;
    enum attn_status status;

    knockout->text = attn_strndup(knockout->spec, strlen(knockout->spec), err);
    knockout->queries = attn_alloc(n, 1, err);
    knockout->keys = attn_alloc(n, 1, err);
    if (knockout->text == NULL || knockout->queries == NULL || knockout->keys == NULL)
        return ATTN_NO_MEMORY;
    arrow = find_outside(knockout->text, '>');
    if (arrow == NULL || arrow == knockout->text || arrow[1] == '\0')
        return report_form(knockout, err);
    *arrow = '\0';
    at = find_outside(arrow + 1, '@');
    if (at != NULL)
        *at = '\0';
    status = attn_run_find_positions(job->run, knockout->text, knockout->queries, err);
    if (status == ATTN_OK)
        status = attn_run_find_positions(job->run, arrow + 1, knockout->keys, err);
    if (status == ATTN_OK)
        status = attn_selection_create(job->dims, &knockout->heads, err);
    if (status == ATTN_OK && at != NULL)
        status = attn_selection_set_heads(knockout->heads, at + 1, err);
    return status;
}

/* --- Edits ------------------------------------------------------------------------------------ */

static enum attn_status append_edit(struct job *job, const struct attn_edit *edit,
                                    struct attn_error *err)
{
    void *block = job->run->edits;
    enum attn_status status =
        attn_grow(&block, &job->capacity, job->run->n_edit + 1, sizeof *job->run->edits, err);

    job->run->edits = block;
    if (status == ATTN_OK)
        job->run->edits[job->run->n_edit++] = *edit;
    return status;
}

/* Marks the keys that QUERY of a head loses. Returns whether there are any. */
static bool find_cut(const struct job *job, int layer, int head, size_t query)
{
    bool is_cut = false;

    memset(job->cut, 0, job->dims->n_position);
    for (size_t i = 0; i < job->n; i++) {
        const struct knockout *knockout = &job->items[i];

        if (!knockout->queries[query] || !attn_selection_has_head(knockout->heads, layer, head))
            continue;
        is_cut = true;
        for (size_t key = 0; key < job->dims->n_position; key++)
            job->cut[key] |= knockout->keys[key];
    }
    return is_cut;
}

/* Whether the row has keys left. */
static enum attn_status check_row(const struct job *job, int layer, int head, size_t query,
                                  struct attn_error *err)
{
    struct attn_attention attention = job->run->attention.layers[layer];
    const size_t n = job->dims->n_position;
    const struct attn_key_row row = {layer, head, query, query, n};
    size_t n_kept, n_left = 0;

    if (attention.kind == ATTN_ATTENTION_LINEAR || attention.kind == ATTN_ATTENTION_LOWRANK)
        return ATTN_OK; /* the session says that they cannot be edited */
    attn_attention_resolve_stride(&attention, n);
    n_kept = attn_keys_list(&attention, &row, job->kept);
    for (size_t i = 0; i < n_kept; i++)
        n_left += !job->cut[job->kept[i]];
    if (n_left > 0 || n_kept == 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "the knockout leaves query %zu of head %d.%d no key to look at", query,
                          layer, head);
}

/* An edit for each run of neighbours among the keys that are cut. */
static enum attn_status edit_row(struct job *job, int layer, int head, size_t query,
                                 struct attn_error *err)
{
    const size_t n = job->dims->n_position;
    enum attn_status status = check_row(job, layer, head, query, err);

    for (size_t first = 0, end; status == ATTN_OK && first < n; first = end) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;

        end = first + 1;
        if (!job->cut[first])
            continue;
        while (end < n && job->cut[end])
            end++;
        edit.site = ATTN_SITE_ATTN_SCORES;
        edit.layer = layer;
        edit.head = head;
        edit.row0 = query;
        edit.row1 = query + 1;
        edit.col0 = first;
        edit.col1 = end;
        edit.op = ATTN_EDIT_MASK;
        status = append_edit(job, &edit, err);
    }
    return status;
}

static enum attn_status edit_layer(struct job *job, int layer, struct attn_error *err)
{
    const int n_head = (int)job->dims->n_head;
    enum attn_status status = ATTN_OK;

    for (int head = 0; head < n_head; head++)
        for (size_t query = 0; status == ATTN_OK && query < job->dims->n_position; query++)
            if (find_cut(job, layer, head, query))
                status = edit_row(job, layer, head, query, err);
    return status;
}

static enum attn_status add(struct job *job, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(job->run->model);
    const char *const *specs = job->run->request.knockouts;
    enum attn_status status = ATTN_OK;

    job->items = attn_alloc(job->n, sizeof *job->items, err);
    job->cut = attn_alloc(job->dims->n_position, 1, err);
    job->kept = attn_alloc(job->dims->n_position, sizeof *job->kept, err);
    if (job->items == NULL || job->cut == NULL || job->kept == NULL)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; status == ATTN_OK && i < job->n; i++) {
        job->items[i].spec = specs[i];
        status = read_knockout(job, &job->items[i], err);
    }
    for (int layer = 0; status == ATTN_OK && layer < (int)config->n_layer; layer++)
        if (!config->is_cross[layer])
            status = edit_layer(job, layer, err);
    return status;
}

enum attn_status attn_run_add_knockouts(struct attn_run *run, struct attn_error *err)
{
    struct job job = {.run = run,
                      .dims = attn_selection_dims(run->selection),
                      .n = run->request.n_knockout,
                      .capacity = run->n_edit};
    enum attn_status status;

    if (job.n == 0)
        return ATTN_OK;
    status = add(&job, err);
    for (size_t i = 0; job.items != NULL && i < job.n; i++) {
        attn_free(job.items[i].text);
        attn_free(job.items[i].queries);
        attn_free(job.items[i].keys);
        attn_selection_free(job.items[i].heads);
    }
    attn_free(job.items);
    attn_free(job.cut);
    attn_free(job.kept);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}
