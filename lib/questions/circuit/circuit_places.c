/* circuit_places.c - where the parts of a circuit work and look, and the paths through it. */
#include "circuit/circuit_internal.h"

#include "base/memory.h"
#include "measures/head_kind.h"
#include "measures/run_measures.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

/* --- Places ----------------------------------------------------------------------------------- */

/* The pass over the clean text. */
struct looking {
    const struct attn_wiring *edges;
    struct attn_circuit_place *places; /* [n_writer] */
    struct attn_metric_settings settings;
    struct attn_parks *parks[2];   /* own */
    struct attn_head_mixes *mixes; /* owns */
    struct attn_session **session; /* borrowed; receives that of the pass; or NULL */
};

static enum attn_status on_parks(void *user, struct attn_error *err)
{
    struct looking *looking = user;

    (void)err;
    looking->settings.is_parked = attn_parks_find(looking->parks[0]);
    return ATTN_OK;
}

/* Sets the strongest key of ROW, of a query, that is no park; if all others are masked, PLACE has
 * none. */
static void find_key(const struct looking *looking, struct attn_row row,
                     struct attn_circuit_place *place)
{
    struct attn_cells cells;

    while (attn_row_next(&row, &cells))
        for (size_t i = 0; i < cells.n; i++)
            if (!looking->settings.is_parked[cells.first + i] &&
                !((double)cells.values[i] <= place->weight)) {
                place->weight = (double)cells.values[i];
                place->key = cells.first + i;
            }
}

static enum attn_status on_event(void *user, const struct attn_trace_event *event,
                                 struct attn_error *err)
{
    struct looking *looking = user;
    const size_t h = looking->edges->config->n_head;

    (void)err;
    attn_head_mixes_add(looking->mixes, event);
    if (event->at.site != ATTN_SITE_PATTERN)
        return ATTN_OK;
    struct attn_circuit_place *place =
        &looking->places[1 + attn_location_index(&event->at) * (h + 1) + (size_t)event->at.head];

    if (place->position >= event->row0 && place->position < event->row0 + event->n_row)
        find_key(looking, attn_event_row(event, place->position - event->row0), place);
    return ATTN_OK;
}

/* Finds keys and kinds of all heads in RUN, the clean text. */
static enum attn_status look(struct looking *looking, const struct attn_run *run,
                             struct attn_error *err)
{
    const struct attn_wiring *edges = looking->edges;
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    struct attn_selection *all = NULL;
    struct attn_watch watch = {.is_silent = true,
                               .on_event = on_event,
                               .user = looking,
                               .parks = looking->parks,
                               .on_parks = on_parks,
                               .session = looking->session};
    enum attn_status status;

    looking->settings = attn_run_metric_settings(run);
    ATTN_TRY(attn_selection_create(dims, &all, err));
    status = attn_selection_set_sites(all, ATTN_SITES(ATTN_SITE_PATTERN, ATTN_SITE_RESID_PRE), err);
    watch.selection = all;
    ATTN_THEN(status, attn_head_mixes_create(&looking->settings, all, &looking->mixes, err));
    ATTN_THEN(status, attn_head_mixes_take_types(looking->mixes, run->model, NULL, err));
    ATTN_THEN(status, attn_watch(run, &watch, err));
    for (size_t w = 1; status == ATTN_OK && w < edges->n_writer; w++) {
        struct attn_location at = attn_layer_at(dims, ATTN_SITE_PATTERN, edges->writers[w].layer);

        at.head = edges->writers[w].head;
        if (at.head >= 0)
            looking->places[w].kind = attn_head_mixes_type(looking->mixes, &at).kind;
    }
    attn_selection_free(all);
    return status;
}

enum attn_status attn_circuit_find_places(const struct attn_wiring *edges, const double *sums,
                                          const struct attn_run *run, struct attn_session **session,
                                          struct attn_circuit_place *places, struct attn_error *err)
{
    struct looking looking = {.edges = edges, .places = places, .session = session};
    enum attn_status status;

    for (size_t w = 0; w < edges->n_writer; w++) {
        double most = 0;

        places[w] = (struct attn_circuit_place){.position = sums ? 0 : places[w].position,
                                                .weight = (double)NAN};
        for (size_t p = 0; sums && p < edges->n; p++) {
            const double sum = sums[w * edges->n + p];

            places[w].sum += sum;
            if (fabs(sum) <= most)
                continue;
            most = fabs(sum);
            places[w].position = p;
        }
    }
    status = look(&looking, run, err);
    attn_head_mixes_free(looking.mixes);
    for (int i = 0; i < 2; i++)
        attn_parks_free(looking.parks[i]);
    return status;
}

/* --- Paths ------------------------------------------------------------------------------------ */

/* The strongest ways on from a writer to the logits, and to it from the input. */
struct way {
    double on, back;     /* the largest product of scores to the logits; from the input */
    size_t next, before; /* the writer after it, n_writer for the logits; the writer before it */
    size_t then;         /* scratch */
    bool is_listed;      /* on a path so far */
};

struct ways {
    const struct attn_wiring *edges;
    const double *scores;        /* [n_reader, n_writer] */
    const unsigned char *chosen; /* [n_reader, n_writer] */
    struct way *of;              /* [n_writer] owns */
};

/* Returns the largest |score| of the edges from writer FROM to readers of writer TO, or the logits
 * if TO is n_writer; 0: no edge. */
static double step(const struct ways *ways, size_t from, size_t to)
{
    const struct attn_wiring *edges = ways->edges;
    const size_t h = edges->config->n_head, g = edges->config->n_kv_head;
    const struct attn_wire_node *node = to < edges->n_writer ? &edges->writers[to] : NULL;
    const size_t first = node ? node->layer * (h + 2 * g + 1) : edges->n_reader - 1;
    const size_t head = node && node->head >= 0 ? (size_t)node->head : 0, group = head / (h / g);
    const size_t of_head[] = {first + head, first + h + group, first + h + g + group};
    const size_t of_mlp[] = {node ? first + h + 2 * g : first};
    const bool is_head = node && node->kind == ATTN_WIRE_NODE_HEAD;
    double most = 0;

    for (size_t i = 0; i < (is_head ? 3 : 1); i++) {
        const size_t edge = (is_head ? of_head[i] : of_mlp[i]) * edges->n_writer + from;

        if (ways->chosen[edge])
            most = fmax(most, fabs(ways->scores[edge]));
    }
    return most;
}

/* Finds the strongest ways. Writers are in the order in which they are computed. */
static enum attn_status find_ways(struct ways *ways, struct attn_error *err)
{
    const size_t n = ways->edges->n_writer;

    ATTN_TRY(ATTN_ALLOC(ways->of, n, err));
    for (size_t w = n; w-- > 0;)
        for (size_t to = w + 1; to <= n; to++) {
            const double product = step(ways, w, to) * (to < n ? ways->of[to].on : 1);

            if (product > ways->of[w].on) {
                ways->of[w].on = product;
                ways->of[w].next = to;
            }
        }
    ways->of[0].back = 1;
    for (size_t w = 1; w < n; w++)
        for (size_t from = 0; from < w; from++) {
            const double product = step(ways, from, w) * ways->of[from].back;

            if (product > ways->of[w].back) {
                ways->of[w].back = product;
                ways->of[w].before = from;
            }
        }
    return ATTN_OK;
}

/* Appends the name of writer W, of the input WORDS[0], and an arrow. */
static void append_part(const struct ways *ways, size_t w, const char *const words[2],
                        struct attn_buffer *text)
{
    char name[ATTN_WIRE_NODE_NAME_SIZE];

    attn_wire_node_name(&ways->edges->writers[w], name);
    attn_buffer_append_string(text, w == 0 ? words[0] : name);
    attn_buffer_append_string(text, " -> ");
    ways->of[w].is_listed = true;
}

/* Appends the strongest path through writer W, from the input to the logits, WORDS[1]. */
static void append_path(const struct ways *ways, size_t w, const char *const words[2],
                        struct attn_buffer *text)
{
    for (size_t at = w; at != 0; at = ways->of[at].before)
        ways->of[ways->of[at].before].then = at;
    for (size_t at = 0; at != w; at = ways->of[at].then)
        append_part(ways, at, words, text);
    for (size_t at = w; at < ways->edges->n_writer; at = ways->of[at].next)
        append_part(ways, at, words, text);
    attn_buffer_append_string(text, words[1]);
}

/* Returns the writer of no path so far with the strongest path through it; n_writer: no writer is
 * left. */
static size_t find_next(const struct ways *ways)
{
    const size_t n = ways->edges->n_writer;
    size_t best = n;
    double most = 0;

    for (size_t w = 1; w < n; w++)
        if (!ways->of[w].is_listed && ways->of[w].on * ways->of[w].back > most) {
            most = ways->of[w].on * ways->of[w].back;
            best = w;
        }
    return best;
}

enum attn_status attn_circuit_paths(const struct attn_wiring *edges, const double *scores,
                                    const unsigned char *chosen, const char *const words[2],
                                    struct attn_buffer *text, struct attn_error *err)
{
    enum { MOST = 10 };
    const size_t n = edges->n_writer;
    struct ways ways = {.edges = edges, .scores = scores, .chosen = chosen};
    enum attn_status status = find_ways(&ways, err);

    for (size_t i = 0; status == ATTN_OK && i < MOST && find_next(&ways) < n; i++) {
        attn_buffer_append_string(text, i > 0 ? "\n" : "");
        append_path(&ways, find_next(&ways), words, text);
    }
    attn_free(ways.of);
    return status == ATTN_OK ? attn_buffer_check(text, err) : status;
}
