/*
 * wiring.h - edges between the parts of a decoder: what a part writes into the residual stream, and
 * what one later part reads of it. Private to lib/questions.
 *
 *     struct attn_wiring wiring = {0};
 *     attn_wiring_list(config, &wiring, &err);
 *     attn_wiring_open(base, source, &session, &wiring, &err);     // runs both texts
 *     attn_wiring_delta(&wiring, writer, ATTN_WIRE_EXACT, rows, delta, &err);
 *     attn_wiring_edit(&wiring, &wiring.readers[i], function, user, &edits, &err);
 *     attn_wiring_release(&wiring);
 *
 * Writers are the input (resid_pre of layer 0), heads and MLPs. Readers are the queries of a head,
 * keys and values of a key head, MLPs, and the logits. A reader reads all writers before it, which
 * are the first ones of the list. Only the difference of two runs travels along an edge, so biases
 * are in no writer.
 */
#pragma once

#include "frame/parts.h"
#include "kernels/linear.h"
#include "trace/capture.h"

enum attn_wire_node_kind {
    ATTN_WIRE_NODE_INPUT,
    ATTN_WIRE_NODE_HEAD,
    ATTN_WIRE_NODE_MLP, /* a writer and a reader */
    ATTN_WIRE_NODE_Q,
    ATTN_WIRE_NODE_K,
    ATTN_WIRE_NODE_V,
    ATTN_WIRE_NODE_LOGITS
};

struct attn_wire_node {
    enum attn_wire_node_kind kind;
    size_t layer;  /* the number of layers for the logits */
    int head;      /* a key head for keys and values; -1: no head */
    size_t n_read; /* of a reader: the number of writers before it */
};

enum { ATTN_WIRE_NODE_NAME_SIZE = 32 };

struct attn_wiring {
    const struct attn_run *base, *source; /* borrowed; SOURCE has as many positions */
    const struct attn_config *config;     /* borrowed */
    size_t n, d;                          /* positions; width of the stream */
    struct attn_store *store;             /* owns; has the arrays */
    struct attn_wire_node *writers, *readers;
    size_t n_writer, n_reader, n_edge;
    struct attn_capture *kept; /* owns; the streams of the base, and what it writes */
    /* [n_writer, n, d] source minus base of what each writes, of heads before their scales
     * and the norm that follows them */
    float *deltas;
    float *sums; /* [n_layer, n, d] the base's input of the norm that follows the heads; NULL:
                    there is no such norm */
};

/* Writes the name of NODE: "input", "2.5", "2.mlp", "3.0.q", "logits". */
void attn_wire_node_name(const struct attn_wire_node *node, char name[ATTN_WIRE_NODE_NAME_SIZE]);

/* Checks that RUN is that of a decoder whose parts add to a stream, and has no edits. Errors have
 * the stage of options. */
enum attn_status attn_wiring_check(const struct attn_run *run, struct attn_error *err);

/* Lists the nodes of CONFIG. Release EDGES also after a failure. */
enum attn_status attn_wiring_list(const struct attn_config *config, struct attn_wiring *edges,
                                  struct attn_error *err);

/* Runs both texts, after the nodes were listed. SESSION, which the caller owns, receives the
 * session of the source. */
enum attn_status attn_wiring_open(const struct attn_run *base, const struct attn_run *source,
                                  struct attn_session **session, struct attn_wiring *edges,
                                  struct attn_error *err);
void attn_wiring_release(struct attn_wiring *edges);

/* How a change of the input of a norm goes through it. */
enum attn_wire_norm {
    ATTN_WIRE_EXACT,  /* the norm of the changed input, minus that of the base */
    ATTN_WIRE_FROZEN, /* the scale is that of the base */
    ATTN_WIRE_TANGENT /* the derivative in the base */
};

/* Sets DELTA [rows, d] to what WRITER adds to rows ROWS[0] to ROWS[1]-1 in the source, minus the
 * same in the base. */
enum attn_status attn_wiring_delta(const struct attn_wiring *edges, size_t writer,
                                   enum attn_wire_norm how, const size_t rows[2], double *delta,
                                   struct attn_error *err);

/* Takes DX [rows, d], a change of the sum of heads of LAYER, through what follows the heads. */
enum attn_status attn_wiring_after_heads(const struct attn_wiring *edges, size_t layer,
                                         enum attn_wire_norm how, const size_t rows[2], double *dx,
                                         struct attn_error *err);

/* Whether the tensor of READER is the stream that it reads, resid_mid: an MLP of experts has no
 * single map. After it resid_post gets back what was added. */
static inline bool attn_wiring_reads_stream(const struct attn_wiring *edges,
                                            const struct attn_wire_node *reader)
{
    return reader->kind == ATTN_WIRE_NODE_MLP && edges->config->n_expert > 0;
}

/* Returns the stream [n, d] that READER reads in the base; borrowed. */
const float *attn_wiring_stream(const struct attn_wiring *edges,
                                const struct attn_wire_node *reader);

/* The rows that a reader reads. */
struct attn_wire_input {
    const struct attn_wire_node *reader;
    enum attn_site site; /* the tensor that is edited */
    size_t n_row;
    const double *x;       /* [n_row, d] the stream */
    const double *scaling; /* [n_row, d] the stream by which the norm scales: x, or that of a run */
};

/* Sets VALUES [n_row, width] to what the reader makes of its input: the tensor of its site, which
 * replaces that of a run. */
enum attn_status attn_wiring_read(const struct attn_wiring *edges,
                                  const struct attn_wire_input *input, float *values,
                                  struct attn_error *err);

/* Sets the sums of LAYER to those of heads with Z [n, H*Ev], where the model has sums. */
enum attn_status attn_wiring_set_sums(struct attn_wiring *edges, size_t layer, const float *z,
                                      struct attn_error *err);

/* Runs the map of ARGS, which lack engine and scratch. POOL may be NULL. */
enum attn_status attn_wiring_run(struct attn_linear_args args, struct attn_pool *pool,
                                 struct attn_error *err);

/* Adds to DX [rows, d] the gradient of what READER reads, X [rows, d]. EVENT is the gradient of a
 * tensor that it makes of it by a map: q, k, v, mlp_pre or mlp_pre_linear. */
enum attn_status attn_wiring_back(const struct attn_wiring *edges,
                                  const struct attn_wire_node *reader,
                                  const struct attn_trace_event *event, const float *x, float *dx,
                                  struct attn_error *err);

/* Returns the reader that makes the tensor AT, or its gradient; of ln_final and resid_post, the
 * logits. */
const struct attn_wire_node *attn_wiring_reader_at(const struct attn_wiring *edges,
                                                   const struct attn_location *at);

/* Sets *OUTS, which the caller frees even after a failure, to W_O of all layers, for
 * attn_wiring_write. */
enum attn_status attn_wiring_decode(const struct attn_wiring *edges, float **outs,
                                    struct attn_error *err);

/* Sets rows of NOW [n_writer, n, d] to what the head or the MLP of EVENT, z or mlp_out with VALUES,
 * writes minus the same in the base, as deltas are. */
enum attn_status attn_wiring_write(const struct attn_wiring *edges, const float *outs,
                                   const struct attn_trace_event *event, const float *values,
                                   float *now, struct attn_error *err);

/* Appends an edit for each tensor of READER, by FUNCTION, which gets USER. */
enum attn_status attn_wiring_edit(const struct attn_wiring *edges,
                                  const struct attn_wire_node *reader, attn_edit_fn function,
                                  void *user, struct attn_part_edits *edits,
                                  struct attn_error *err);
