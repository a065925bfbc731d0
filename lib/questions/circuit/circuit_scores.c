/*
 * circuit_scores.c - scores of edges (circuit.h). A backward pass gives the gradients of q, k, v
 * and mlp_pre, from which those of the readers' inputs follow: through a map and a norm, both
 * transposed. That of the input of experts is the gradient of resid_mid minus that of resid_post,
 * which gets the same stream without them. The inputs of a layer are kept until its last, then
 * multiplied by the deltas of all writers at once, in float32; sums over points are in double
 * precision. The products of a writer with all gradients after it are also kept by position.
 */
#include "circuit/circuit_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "trials/derivative.h"

#include <string.h>

struct scoring {
    struct attn_store *store; /* owns; has the arrays that are made here */
    struct attn_wiring *edges;
    double *scores; /* [n_reader, n_writer] */
    double weight;  /* of the current backward pass */
    /* [n_layer, n, d] the streams at the current point, before heads and before MLPs */
    float *streams[2];
    /* [n_layer, n, H * Ev] and [n_writer, n, d] z at the current point, and the deltas after
     * the norm that follows the heads there; NULL: there is no such norm */
    float *z, *flat;
    size_t layer; /* the layer of the gradients, n_layer for those of the logits */
    /* [H + 2 G + 1, n, d] gradients of the inputs of its readers */
    float *gradients;
    float *post;          /* [n, d] the gradient of resid_post of a layer with experts */
    float *products;      /* [n_writer, H + 2 G + 1] */
    float *total;         /* [n, d] the sum of the gradients after a writer; NULL: no places */
    double *places;       /* [n_writer, n] of struct attn_wire_scores */
    float *embeddings[3]; /* [n, De] of the base, of the source, of the current point */
    struct attn_derivative *derivative; /* owns */
};

/* Keeps the streams of a feed (attn_trace_fn). */
static enum attn_status on_feed(void *user, const struct attn_trace_event *event,
                                struct attn_error *err)
{
    const struct scoring *s = user;
    const struct attn_wiring *edges = s->edges;
    const bool is_z = event->at.site == ATTN_SITE_Z;
    const size_t width = is_z ? edges->config->n_head * event->n_col : edges->d;
    const size_t row0 = attn_location_index(&event->at) * edges->n + event->row0;
    float *rows = is_z ? s->z + (size_t)event->at.head * event->n_col
                       : s->streams[event->at.site == ATTN_SITE_RESID_MID];

    (void)err;
    for (size_t i = 0; i < event->n_row; i++)
        memcpy(rows + (row0 + i) * width, event->data + i * event->ld, event->n_col * sizeof *rows);
    return ATTN_OK;
}

/* Returns the number of readers of the current layer, and the first of them. */
static size_t find_readers(const struct scoring *s, const struct attn_wire_node **first)
{
    const struct attn_config *config = s->edges->config;
    const size_t n = config->n_head + 2 * config->n_kv_head + 1;

    *first = s->edges->readers + s->layer * n;
    return s->layer == config->n_layer ? 1 : n;
}

/* Adds to the places of writers FIRST to LAST - 1, which all gradients in the total come after. */
static void add_places(const struct scoring *s, size_t first, size_t last)
{
    const size_t n = s->edges->n, d = s->edges->d;
    const float *deltas = s->flat ? s->flat : s->edges->deltas;

    for (size_t i = first * n; i < last * n; i++) {
        const float *total = s->total + (i % n) * d;
        double sum = 0;

        for (size_t k = 0; k < d; k++)
            sum += (double)deltas[i * d + k] * (double)total[k];
        s->places[i] += s->weight * sum;
    }
}

/* Adds the gradients of the N readers from FIRST on of the current layer to the total. */
static void add_total(const struct scoring *s, size_t first, size_t n)
{
    const size_t size = s->edges->n * s->edges->d;

    for (size_t i = first * size; i < (first + n) * size; i++)
        s->total[i % size] += s->gradients[i];
}

/* Adds to the places of the writers of the current layer, the last first. */
static void place_layer(const struct scoring *s, const struct attn_wire_node *readers, size_t n)
{
    const size_t first = readers[0].n_read, mlp = first + s->edges->config->n_head;
    const bool reads_heads = readers[n - 1].n_read == mlp;

    if (s->layer == s->edges->config->n_layer) {
        memset(s->total, 0, s->edges->n * s->edges->d * sizeof *s->total);
        add_total(s, 0, 1);
        return;
    }
    add_places(s, mlp, mlp + 1);
    if (reads_heads)
        add_total(s, n - 1, 1);
    add_places(s, first, mlp);
    add_total(s, 0, reads_heads ? n - 1 : n);
    if (s->layer == 0)
        add_places(s, 0, 1);
}

/* Adds the scores of the edges to the readers of the current layer. */
static enum attn_status finish_layer(struct scoring *s, struct attn_error *err)
{
    const struct attn_wire_node *readers;
    const size_t n = find_readers(s, &readers), n_writer = s->edges->n_writer;
    const size_t n_read = readers[n - 1].n_read, size = s->edges->n * s->edges->d;
    double *scores = s->scores + (size_t)(readers - s->edges->readers) * n_writer;
    const struct attn_linear map = {.weight = {.data = s->gradients,
                                               .dtype = ATTN_DTYPE_F32,
                                               .n_row = size,
                                               .n_col = n,
                                               .row_stride = 1,
                                               .col_stride = size,
                                               .group = n}};

    ATTN_TRY(attn_wiring_run((struct attn_linear_args){.linear = &map,
                                                       .x = s->flat ? s->flat : s->edges->deltas,
                                                       .ldx = size,
                                                       .n_row = n_read,
                                                       .y = s->products,
                                                       .ldy = n,
                                                       .last_col = n},
                             attn_host_pool(attn_asked_host(s->edges->base), 1e9), err));
    for (size_t r = 0; r < n; r++)
        for (size_t w = 0; w < readers[r].n_read; w++)
            scores[r * n_writer + w] += s->weight * (double)s->products[w * n + r];
    if (s->total)
        place_layer(s, readers, n);
    memset(s->gradients, 0, n * size * sizeof *s->gradients);
    return ATTN_OK;
}

/* Copies the rows of EVENT to ROWS [n_row, D]. */
static void copy_rows(const struct attn_trace_event *event, size_t d, float *rows)
{
    for (size_t i = 0; i < event->n_row; i++)
        memcpy(rows + i * d, event->data + i * event->ld, d * sizeof *rows);
}

/* Adds the gradient of a reader's input (attn_trace_fn). */
static enum attn_status on_gradient(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err)
{
    struct scoring *s = user;
    const size_t d = s->edges->d, n_layer = s->edges->config->n_layer;
    const struct attn_wire_node *reader = attn_wiring_reader_at(s->edges, &event->at), *readers;
    const bool is_mid =
        reader->kind == ATTN_WIRE_NODE_MLP && !s->edges->config->has_parallel_residual;
    const bool is_of_experts = s->post && event->at.site == ATTN_SITE_RESID_MID_GRAD;

    if (s->post && event->at.site == ATTN_SITE_RESID_POST_GRAD)
        copy_rows(event, d, s->post + event->row0 * d);
    if (reader->kind == ATTN_WIRE_NODE_LOGITS && attn_location_index(&event->at) + 1 < n_layer)
        return ATTN_OK;
    if (reader->layer != s->layer) {
        ATTN_TRY(finish_layer(s, err));
        s->layer = reader->layer;
    }
    find_readers(s, &readers);
    float *to = s->gradients + ((size_t)(reader - readers) * s->edges->n + event->row0) * d;

    if (reader->kind == ATTN_WIRE_NODE_LOGITS || is_of_experts) {
        copy_rows(event, d, to); /* it is the gradient of the stream */
        for (size_t i = 0; is_of_experts && i < event->n_row * d; i++)
            to[i] -= s->post[event->row0 * d + i];
        return ATTN_OK;
    }
    return attn_wiring_back(s->edges, reader, event,
                            s->streams[is_mid] + (reader->layer * s->edges->n + event->row0) * d,
                            to, err);
}

/* Sets FLAT [n_writer, n, d], which may be the deltas, to the deltas after the norm that follows
 * the heads, by its derivative at the sums. */
static enum attn_status flatten(const struct attn_wiring *edges, float *flat,
                                struct attn_error *err)
{
    const size_t size = edges->n * edges->d, rows[] = {0, edges->n};
    enum attn_status status = ATTN_OK;
    double *delta;

    ATTN_TRY(ATTN_ALLOC(delta, size, err));
    for (size_t w = 0; status == ATTN_OK && w < edges->n_writer; w++) {
        status = attn_wiring_delta(edges, w, ATTN_WIRE_TANGENT, rows, delta, err);
        for (size_t i = 0; status == ATTN_OK && i < size; i++)
            flat[w * size + i] = (float)delta[i];
    }
    attn_free(delta);
    return status;
}

static enum attn_status run_backward(struct scoring *s, double weight, struct attn_error *err)
{
    const size_t n_z = s->edges->n * s->edges->config->n_head * s->edges->config->d_value;

    s->weight = weight;
    s->layer = s->edges->config->n_layer;
    for (size_t layer = 0; s->flat && layer < s->layer; layer++)
        ATTN_TRY(attn_wiring_set_sums(s->edges, layer, s->z + layer * n_z, err));
    if (s->flat)
        ATTN_TRY(flatten(s->edges, s->flat, err));
    ATTN_TRY(attn_derivative_backward(s->derivative, err));
    return finish_layer(s, err);
}

static enum attn_status allocate(struct scoring *s, struct attn_error *err)
{
    const struct attn_config *config = s->edges->config;
    const size_t n = s->edges->n, size = n * s->edges->d;
    const size_t n_reader = config->n_head + 2 * config->n_kv_head + 1;
    struct attn_store **store = &s->store;

    for (int i = 0; i < 2; i++)
        ATTN_TRY(ATTN_STORE_ALLOC(store, s->streams[i], attn_size_mul(config->n_layer, size), err));
    for (int i = 0; i < 3; i++)
        ATTN_TRY(ATTN_STORE_ALLOC(store, s->embeddings[i], attn_size_mul(n, config->d_embed), err));
    if (s->edges->sums) {
        ATTN_TRY(ATTN_STORE_ALLOC(store, s->flat, attn_size_mul(s->edges->n_writer, size), err));
        ATTN_TRY(ATTN_STORE_ALLOC(
            store, s->z, attn_size_mul(config->n_layer, n * config->n_head * config->d_value),
            err));
    } else {
        ATTN_TRY(flatten(s->edges, s->edges->deltas, err));
    }
    if (config->n_expert > 0)
        ATTN_TRY(ATTN_STORE_ALLOC(store, s->post, size, err));
    if (s->places)
        ATTN_TRY(ATTN_STORE_ALLOC(store, s->total, size, err));
    ATTN_TRY(ATTN_STORE_ALLOC(store, s->gradients, attn_size_mul(n_reader, size), err));
    return ATTN_STORE_ALLOC(store, s->products, attn_size_mul(s->edges->n_writer, n_reader), err);
}

static enum attn_status build(struct scoring *s, const struct attn_answer *answer, size_t n_point,
                              size_t kept_bytes, struct attn_error *err)
{
    const struct attn_run *run = s->edges->base;
    struct attn_derivative_options options = {
        .gradients = {.sites = ATTN_SITES(ATTN_SITE_Q_GRAD, ATTN_SITE_K_GRAD, ATTN_SITE_V_GRAD,
                                          ATTN_SITE_RESID_POST_GRAD),
                      .on_event = on_gradient,
                      .user = s},
        .watched = {.sites = ATTN_SITES(ATTN_SITE_RESID_PRE), .on_event = on_feed, .user = s},
        .n_run = n_point > 0 ? n_point : 1,
        .skips_zeros = true,
        .kept_bytes = kept_bytes};

    attn_sites_add(&options.gradients.sites, s->edges->config->n_expert > 0
                                                 ? ATTN_SITE_RESID_MID_GRAD
                                                 : ATTN_SITE_MLP_PRE_GRAD);
    if (s->edges->config->n_expert == 0 && s->edges->config->has_gated_mlp)
        attn_sites_add(&options.gradients.sites, ATTN_SITE_MLP_PRE_LINEAR_GRAD);
    if (!s->edges->config->has_parallel_residual)
        attn_sites_add(&options.watched.sites, ATTN_SITE_RESID_MID);
    if (s->edges->sums)
        attn_sites_add(&options.watched.sites, ATTN_SITE_Z);
    ATTN_TRY(attn_derivative_check_ids(run, err));
    ATTN_TRY(attn_derivative_check_ids(s->edges->source, err));
    ATTN_TRY(attn_error_at(allocate(s, err), ATTN_STAGE_MODEL, err));
    ATTN_TRY(attn_derivative_embed(run, s->embeddings[0], err));
    ATTN_TRY(attn_derivative_embed(s->edges->source, s->embeddings[1], err));
    return attn_derivative_create(run, answer, &options, &s->derivative, err);
}

/* Feeds the base, then the points, and adds the gradients of the points, or of the base. */
static enum attn_status run_all(struct scoring *s, const struct attn_wire_scores *asked,
                                struct attn_reply *base, struct attn_error *err)
{
    const size_t n_point = asked->n_point, n = s->edges->n * s->edges->config->d_embed;
    double value;

    ATTN_TRY(attn_derivative_feed(s->derivative, s->embeddings[0], &value, err));
    *base = *attn_derivative_reply(s->derivative);
    if (n_point == 0)
        return run_backward(s, 1, err);
    for (size_t i = 0; i < n_point; i++) {
        double weight = 1 / (double)n_point;

        if (asked->is_riemann)
            attn_derivative_mix((double)(i + !asked->has_clean_source) / (double)n_point,
                                s->embeddings[0], s->embeddings[1], n, s->embeddings[2]);
        else
            weight = attn_derivative_place(i, n_point, s->embeddings[0], s->embeddings[1], n,
                                           s->embeddings[2]);

        ATTN_TRY(attn_derivative_feed(s->derivative, s->embeddings[2], &value, err));
        ATTN_TRY(run_backward(s, weight, err));
    }
    return ATTN_OK;
}

enum attn_status attn_wiring_score(struct attn_wiring *edges, const struct attn_wire_scores *asked,
                                   struct attn_reply *base, double *scores, struct attn_error *err)
{
    struct scoring s = {.edges = edges, .scores = scores, .places = asked->places};
    enum attn_status status;

    memset(scores, 0, edges->n_reader * edges->n_writer * sizeof *scores);
    status = build(&s, asked->answer, asked->n_point, asked->kept_bytes, err);
    ATTN_THEN(status, run_all(&s, asked, base, err));
    attn_derivative_free(s.derivative);
    attn_store_release(&s.store);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}
