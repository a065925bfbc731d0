/*
 * circuit_runs.c - selects circuits, and runs them (circuit.h). In the run of a circuit each reader
 * gets an input of its own: the stream of the corrupted run, plus what the writers of its edges
 * write now minus what they write there. Functions that edit q, k, v, mlp_pre and ln_final put in
 * what readers make of these, and others keep what z and mlp_out of the run write.
 */
#include "circuit/circuit_internal.h"

#include "base/memory.h"
#include "trace/places_extra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Selection -------------------------------------------------------------------------------- */

/* Marks the readers that WRITER computes from: of a head its query, key and value. */
static void mark_readers(const struct attn_wiring *edges, size_t writer, bool *is_marked)
{
    const struct attn_wire_node *node = &edges->writers[writer];
    const size_t h = edges->config->n_head, g = edges->config->n_kv_head;
    bool *layer = is_marked + node->layer * (h + 2 * g + 1);
    const size_t head = node->head < 0 ? 0 : (size_t)node->head;

    if (node->kind == ATTN_WIRE_NODE_MLP)
        layer[h + 2 * g] = true;
    if (node->kind != ATTN_WIRE_NODE_HEAD)
        return;
    layer[head] = layer[h + head / (h / g)] = layer[h + g + head / (h / g)] = true;
}

/* Whether WRITER has an input that is marked. */
static bool has_marked_reader(const struct attn_wiring *edges, size_t writer, const bool *is_marked)
{
    const struct attn_wire_node *node = &edges->writers[writer];
    const size_t h = edges->config->n_head, g = edges->config->n_kv_head;
    const bool *layer = is_marked + node->layer * (h + 2 * g + 1);
    const size_t head = node->head < 0 ? 0 : (size_t)node->head;

    return node->kind == ATTN_WIRE_NODE_INPUT ||
           (node->kind == ATTN_WIRE_NODE_MLP
                ? layer[h + 2 * g]
                : layer[head] || layer[h + head / (h / g)] || layer[h + g + head / (h / g)]);
}

/* Takes, from the logits on, always the first of RANKED [n] that ends in what is there. FLAGS are
 * those of readers that are there, of writers, and of edges that are taken. */
static void take_greedily(const struct attn_wiring *edges, const struct attn_ranked *ranked,
                          size_t n, bool *flags, size_t *order)
{
    bool *is_there = flags, *is_in = is_there + edges->n_reader,
         *is_taken = is_in + edges->n_writer;
    size_t n_taken = 0;

    is_there[edges->n_reader - 1] = is_in[0] = true; /* nothing comes before the input */
    for (size_t i = 0; i < n;) {
        const size_t reader = ranked[i].at / edges->n_writer;
        const size_t writer = ranked[i].at % edges->n_writer;
        const bool is_next = !is_taken[i] && is_there[reader], adds = is_next && !is_in[writer];

        if (is_next) {
            is_taken[i] = true;
            order[n_taken++] = ranked[i].at;
        }
        if (adds) {
            is_in[writer] = true;
            mark_readers(edges, writer, is_there);
        }
        i = adds ? 0 : i + 1; /* larger ones may end in it */
    }
    for (size_t i = 0; i < n; i++) /* edges of parts that nothing reads */
        if (!is_taken[i])
            order[n_taken++] = ranked[i].at;
}

enum attn_status attn_circuit_rank(const struct attn_wiring *edges, const double *scores,
                                   bool is_greedy, size_t *order, struct attn_error *err)
{
    struct attn_ranked *ranked = attn_alloc(edges->n_edge, sizeof *ranked, err);
    bool *flags = attn_alloc(edges->n_reader + edges->n_writer + edges->n_edge, sizeof *flags, err);
    size_t n = 0;

    for (size_t r = 0; ranked && flags && r < edges->n_reader; r++)
        for (size_t w = 0; w < edges->readers[r].n_read; w++) {
            const size_t edge = r * edges->n_writer + w;

            ranked[n++] = (struct attn_ranked){fabs(scores[edge]), edge};
        }
    if (ranked && flags) {
        qsort(ranked, n, sizeof *ranked, attn_ranked_compare);
        if (is_greedy)
            take_greedily(edges, ranked, n, flags, order);
        else
            for (size_t i = 0; i < n; i++)
                order[i] = ranked[i].at;
    }
    attn_free(ranked);
    attn_free(flags);
    return n > 0 ? ATTN_OK : ATTN_NO_MEMORY;
}

enum attn_status attn_circuit_prune(const struct attn_wiring *edges, unsigned char *chosen,
                                    size_t *n_kept, struct attn_error *err)
{
    const size_t n_reader = edges->n_reader, n_writer = edges->n_writer;
    bool *is_useful, *is_alive;
    size_t n_left = 0;

    ATTN_TRY(ATTN_ALLOC(is_useful, n_reader + n_writer, err));
    is_alive = is_useful + n_reader;

    for (size_t w = 0, r = 0; w < n_writer;
         w++) { /* forwards: is_useful marks readers of the input */
        is_alive[w] = has_marked_reader(edges, w, is_useful);
        for (r = 0; is_alive[w] && r < n_reader; r++)
            is_useful[r] = is_useful[r] || chosen[r * n_writer + w];
    }
    memset(is_useful, 0, n_reader);
    is_useful[n_reader - 1] = true;
    for (size_t w = n_writer; w-- > 0;) { /* backwards: readers of parts that the logits read */
        bool is_read = false;

        for (size_t r = 0; r < n_reader; r++)
            is_read = is_read || (is_useful[r] && chosen[r * n_writer + w]);
        if (is_read)
            mark_readers(edges, w, is_useful);
    }
    for (size_t i = 0; i < n_reader * n_writer; i++) {
        chosen[i] = chosen[i] && is_useful[i / n_writer] && is_alive[i % n_writer];
        n_left += chosen[i];
    }
    attn_free(is_useful);
    *n_kept = n_left;
    return ATTN_OK;
}

/* --- Runs ------------------------------------------------------------------------------------- */

/* What all circuits share. */
struct running {
    const struct attn_wiring *edges; /* the base is the corrupted run */
    float *outs;                     /* owns; attn_wiring_decode */
    struct one_circuit *circuits;    /* [n] owns */
};

/* A circuit that runs. */
struct one_circuit {
    const struct running *all;
    const unsigned char *chosen; /* [n_reader, n_writer] */
    float *now; /* [n_writer, n, d] owns while it runs; what writers write minus the same in the
                   base */
};

/* Sets X [rows, d] to the input of READER in ONE. DX [rows, d] is scratch. */
static enum attn_status make_input(const struct one_circuit *one,
                                   const struct attn_wire_node *reader, const size_t rows[2],
                                   double *x, double *dx, struct attn_error *err)
{
    const struct attn_wiring *edges = one->all->edges;
    const size_t d = edges->d, n = (rows[1] - rows[0]) * d;
    const float *stream = attn_wiring_stream(edges, reader) + rows[0] * d;
    const unsigned char *chosen = one->chosen + (size_t)(reader - edges->readers) * edges->n_writer;
    bool has_heads = false;

    for (size_t i = 0; i < n; i++)
        x[i] = (double)stream[i];
    for (size_t w = 0; w < reader->n_read; w++) {
        const struct attn_wire_node *node = &edges->writers[w];
        const bool is_head = node->kind == ATTN_WIRE_NODE_HEAD;
        const float *now = one->now + (w * edges->n + rows[0]) * d;
        double *to = is_head ? dx : x;

        for (size_t i = 0; is_head && !has_heads && chosen[w] && i < n; i++)
            dx[i] = 0;
        has_heads = has_heads || (is_head && chosen[w]);
        for (size_t i = 0; chosen[w] && i < n; i++)
            to[i] += (double)now[i];
        if (!has_heads || !is_head || node->head + 1 < (int)edges->config->n_head)
            continue;
        ATTN_TRY(attn_wiring_after_heads(edges, node->layer, ATTN_WIRE_EXACT, rows, dx, err));
        for (size_t i = 0; i < n; i++)
            x[i] += dx[i];
        has_heads = false;
    }
    return ATTN_OK;
}

/* Allocates what ONE writes, in which the input stands from the beginning. */
static enum attn_status begin(struct one_circuit *one, struct attn_error *err)
{
    const struct attn_wiring *edges = one->all->edges;
    const size_t size = edges->n * edges->d;

    if (one->now)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(one->now, attn_size_mul(edges->n_writer, size), err));
    memcpy(one->now, edges->deltas, size * sizeof *one->now);
    return ATTN_OK;
}

/* Sets the tensor of a reader to what it makes of its own input (attn_edit_fn). */
static enum attn_status on_reader(void *user, const struct attn_trace_event *event, float *values,
                                  struct attn_error *err)
{
    struct one_circuit *one = user;
    const struct attn_wiring *edges = one->all->edges;
    const struct attn_wire_node *reader = attn_wiring_reader_at(edges, &event->at);
    const size_t n = event->n_row * edges->d;
    const size_t rows[] = {event->row0, event->row0 + event->n_row};
    double *x;
    enum attn_status status;

    ATTN_TRY(begin(one, err));
    ATTN_TRY(ATTN_ALLOC(x, 2 * n, err));
    status = make_input(one, reader, rows, x, x + n, err);
    ATTN_THEN(status, attn_wiring_read(edges,
                                       &(struct attn_wire_input){.reader = reader,
                                                                 .site = event->at.site,
                                                                 .n_row = event->n_row,
                                                                 .x = x,
                                                                 .scaling = x},
                                       values, err));
    attn_free(x);
    if (reader->kind != ATTN_WIRE_NODE_LOGITS)
        return status;
    attn_free(one->now); /* the end of the run */
    one->now = NULL;
    return status;
}

/* Keeps what a head or an MLP writes (attn_edit_fn). */
static enum attn_status on_writer(void *user, const struct attn_trace_event *event, float *values,
                                  struct attn_error *err)
{
    struct one_circuit *one = user;

    ATTN_TRY(begin(one, err));
    return attn_wiring_write(one->all->edges, one->all->outs, event, values, one->now, err);
}

/* Appends the edits of circuit I (attn_part_edit_fn). */
static enum attn_status add_edits(void *user, size_t i, struct attn_part_edits *edits,
                                  struct attn_error *err)
{
    const struct running *all = user;
    const struct attn_wiring *edges = all->edges;
    const bool has_experts = edges->config->n_expert > 0; /* they read resid_mid */
    const enum attn_site sites[] = {ATTN_SITE_Q,
                                    ATTN_SITE_K,
                                    ATTN_SITE_V,
                                    ATTN_SITE_Z,
                                    has_experts ? ATTN_SITE_RESID_MID : ATTN_SITE_MLP_PRE,
                                    ATTN_SITE_MLP_OUT,
                                    ATTN_SITE_MLP_PRE_LINEAR};
    const size_t n_site =
        sizeof sites / sizeof *sites - (has_experts || !edges->config->has_gated_mlp ? 1 : 0);

    for (size_t k = 0; k < edges->config->n_layer * n_site; k++) {
        struct attn_edit edit = ATTN_EDIT_DEFAULT;
        const enum attn_site site = sites[k % n_site];

        edit.at = attn_layer_at(attn_asked_dims(edges->base), site, k / n_site);
        edit.at.head = ATTN_ALL_HEADS;
        edit.op = ATTN_EDIT_FUNCTION;
        edit.function = site == ATTN_SITE_Z || site == ATTN_SITE_MLP_OUT ? on_writer : on_reader;
        edit.user = &all->circuits[i];
        ATTN_TRY(attn_part_edits_add(edits, &edit, err));
    }
    return attn_wiring_edit(edges, &edges->readers[edges->n_reader - 1], on_reader,
                            &all->circuits[i], edits, err);
}

enum attn_status attn_circuit_run(const struct attn_wiring *edges, struct attn_trials *trials,
                                  struct attn_circuit *circuits, size_t n, struct attn_error *err)
{
    struct running all = {.edges = edges};
    struct attn_trial_outcome *outcomes = attn_alloc(n, sizeof *outcomes, err);
    enum attn_status status = attn_wiring_decode(edges, &all.outs, err);

    all.circuits = attn_alloc(n, sizeof *all.circuits, err);
    if (!outcomes || !all.circuits)
        status = ATTN_NO_MEMORY;
    for (size_t i = 0; status == ATTN_OK && i < n; i++) {
        status = attn_circuit_prune(edges, circuits[i].chosen, &circuits[i].n_kept, err);
        all.circuits[i] = (struct one_circuit){.all = &all, .chosen = circuits[i].chosen};
    }
    ATTN_THEN(status, attn_parts_try(trials, n, add_edits, &all, outcomes, err));
    for (size_t i = 0; i < n; i++) {
        if (status == ATTN_OK)
            circuits[i].value = outcomes[i].reply.value;
        if (all.circuits)
            attn_free(all.circuits[i].now);
    }
    attn_free(all.outs);
    attn_free(all.circuits);
    attn_free(outcomes);
    return status;
}
