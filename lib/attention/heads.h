/*
 * heads.h - the attention of one layer, of any kind: its heads and rows over the pool, watched
 * matrices emitted in order. Sessions and attn_attend both run on it.
 *
 *     attn_heads_needs_include(&needs, &sizes, &attention[layer], watched, n_watched_head);
 *     attn_heads_plan(&memory, arena, &sizes, &needs);      // when measuring, and once more
 *     attn_engines_plan(&engines, &gemm, &shape, attention, n_layer, n_row);      // each feed
 *     attn_heads_append_kv(&heads, g, &rows);               // each key/value head of a layer
 *     n_edited += attn_heads_run(&heads);
 *
 * Work goes in waves: a list of heads and a range of rows whose watched matrices fit into the
 * memory for them. When all of a layer fits there is one wave and events come ordered by site, head
 * and row; otherwise each head has separate waves. Heads that are not watched are one wave that
 * stores no matrix.
 */
#ifndef ATTN_ATTENTION_HEADS_H
#define ATTN_ATTENTION_HEADS_H

#include "attention/engines_internal.h"
#include "trace/trace.h"

#include <signal.h>

/* The engines that evaluate a layer. */
enum attn_engine {
    ATTN_ENGINE_DENSE,
    ATTN_ENGINE_GATHER,
    ATTN_ENGINE_BLOCKWISE, /* z; watched matrices by the dense engine, apart from it */
    ATTN_ENGINE_LINEAR,    /* linear attention, its matrix on demand */
    ATTN_ENGINE_LOWRANK,   /* dense over projected keys and values */
    ATTN_N_ENGINE
};

enum attn_engine attn_attention_engine(const struct attn_attention *attention);

/* The microkernels of one feed. */
struct attn_engines {
    struct attn_dense dense, rounded; /* for float32, and for values rounded to bfloat16 */
    struct attn_gather gather;
    const struct attn_gemm_engine *gemm; /* borrowed */
};

/* Finds the engines that ATTENTION [n] needs, for a feed of N_ROW positions. */
void attn_engines_plan(struct attn_engines *engines, const struct attn_gemm_engine *gemm,
                       const struct attn_head_shape *shape, const struct attn_attention *attention,
                       size_t n, size_t n_row);

/* Sizes that decide the memory for a layer. */
struct attn_heads_sizes {
    struct attn_head_shape shape; /* attention of all layers that share the memory */
    size_t n_head, n_kv_head;
    size_t n_query, n_key; /* the largest numbers of each */
    int n_worker;
};

/* Memory of all layers with the same sizes; carved from an arena for the largest layer. */
struct attn_heads_memory {
    float *watched; /* [n_watched] watched matrices, and the lists of their cells */
    size_t n_watched;
    size_t *n_cells;   /* [n_head, n_query] cells of the watched rows, where they are listed */
    uint64_t *dropout; /* a bit for each weight of a layer */
    float *divisors;   /* [n_head, n_query] of linear attention's rows */
    float *features;   /* [n_kv_head][keys] packed phi(k), when its matrix is watched */
    float *maps;       /* E and F of low-rank attention, [2, R, S], */
    uint64_t map_seed; /* for these; map_rank 0: not yet drawn */
    size_t map_rank, map_key;
    float **scratch; /* [n_worker] */
    size_t *edited;  /* [n_worker] */
    int *heads;      /* [2, n_head] */
};

/* The memory that layers need. Initialize with zeros; _include enlarges it for another layer. */
struct attn_heads_needs {
    size_t n_scratch, n_watched, n_cells, n_dropout, n_divisor, n_feature, n_map;
};
void attn_heads_needs_include(struct attn_heads_needs *needs, const struct attn_heads_sizes *sizes,
                              const struct attn_attention *attention, attn_site_set watched,
                              size_t n_watched_head);
void attn_heads_plan(struct attn_heads_memory *memory, struct attn_arena *arena,
                     const struct attn_heads_sizes *sizes, const struct attn_heads_needs *needs);

/* Below this many multiply-adds the work is done before a second thread has woken up. */
enum { ATTN_SHARED_WORK = 200000 };

/* The matrix sites of LAYER that SELECTION wants; NULL wants none. */
attn_site_set attn_heads_watched_sites(const struct attn_selection *selection, int layer);

/* Floats of linear attention's state of one key/value head; 0: another kind. */
size_t attn_heads_state_size(const struct attn_attention *attention,
                             const struct attn_head_shape *shape);

/* The caller that runs a layer: lists the needed heads, and receives the watched tensors. */
struct attn_heads_caller {
    bool (*needs_head)(const void *context, int head);
    bool (*needs_rows)(const void *context, size_t row0, size_t n_row); /* z of some of them */
    bool (*is_stopped)(void *context);
    void (*emit)(void *context, const struct attn_trace_event *event);
    void *context;
};

/* The heads of one layer in one feed. */
struct attn_heads {
    struct attn_layer_feed feed;
    const struct attn_engines *engines;
    struct attn_heads_memory *memory;
    struct attn_heads_caller caller;
    struct attn_pool *pool; /* NULL: the caller's thread */
    int n_worker;
    const volatile sig_atomic_t *cancel;    /* NULL: never */
    const struct attn_selection *selection; /* watched heads and rows; NULL: none */
    attn_site_set watched;                  /* matrix sites */
    size_t first_head;                      /* the heads are first_head .. first_head+n_head-1 */
    size_t n_head, n_kv_head;               /* fields below count from the first of them */
    const float *q;                         /* row r of head h at q + h * q_step + r * shape->ldq */
    size_t q_step;
    const float *given; /* [n_head, n_row, n_key] scores instead of products; NULL */
    struct attn_kv *kv; /* [n_kv_head] */
    float *z;           /* row r of head h at z + h * z_step + r * ldz; NULL: it is not needed */
    size_t z_step;
    float *sink_weights; /* [n_row, n_head] of the sinks; NULL: not needed */
    bool takes_rows;     /* watched rows may come for all heads before the next rows come */
};

/* Packs keys and values of HEADS' key/value head G the way its engine reads them, on the thread of
 * WORKER. Rows with first = 0 begin a sequence. */
void attn_heads_append_kv(const struct attn_heads *heads, size_t g, int worker,
                          const struct attn_kv_rows *rows);

/* Runs it. Returns the number of rows that edits changed. */
size_t attn_heads_run(const struct attn_heads *heads);

/* x / |x| for each of N rows of D floats, 0 if |x| is 0: cosine similarity compares these. */
void attn_rows_normalize(float *x, size_t ld, size_t n, size_t d);

#endif
