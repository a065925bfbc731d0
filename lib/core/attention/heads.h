/*
 * heads.h - runs the attention of one layer, of any kind: distributes heads and rows over the pool
 * and emits watched matrices in order. Used by sessions and by attn_attend.
 *
 *     attn_heads_needs_include(&needs, &sizes, &attention[layer], watched, n_watched_head);
 *     attn_heads_plan(&memory, arena, &sizes, &needs);  // when measuring, and once more
 *     attn_engines_plan(&engines, &gemm, &shape, attention, n_layer, n_row);  // for each feed
 *     attn_heads_append_kv(&heads, g, &rows);  // for each key/value head of a layer
 *     n_edited += attn_heads_run(&heads);
 *
 * Work is divided into waves. A wave is a list of heads and a range of rows whose watched matrices
 * fit into the memory for them. If a whole layer fits, there is one wave, and events are ordered by
 * site, head and row; otherwise each head has its own waves. Heads that are not watched form one
 * wave, which stores no matrix.
 */
#pragma once

#include "attention/engines_internal.h"
#include "trace/trace.h"

#include <signal.h>

/* The engine that computes a layer. */
enum attn_engine {
    ATTN_ENGINE_DENSE,
    ATTN_ENGINE_GATHER,
    ATTN_ENGINE_BLOCKWISE, /* for z; watched matrices are computed separately by the dense engine */
    ATTN_ENGINE_LINEAR,    /* linear attention; its matrix is computed on demand */
    ATTN_ENGINE_LOWRANK,   /* dense attention over mixed keys and values */
    ATTN_N_ENGINE
};

enum attn_engine attn_attention_engine(const struct attn_attention *attention);

/* The microkernels of one feed. */
struct attn_engines {
    struct attn_dense dense, rounded; /* for float32, and for values that are rounded to bfloat16 */
    struct attn_gather gather;
    const struct attn_gemm_engine *gemm; /* borrowed */
};

/* Plans the engines that the N layers of ATTENTION need, for a feed of N_ROW positions. */
void attn_engines_plan(struct attn_engines *engines, const struct attn_gemm_engine *gemm,
                       const struct attn_head_shape *shape, const struct attn_attention *attention,
                       size_t n, size_t n_row);

/* The sizes on which the memory for a layer depends. */
struct attn_heads_sizes {
    struct attn_head_shape shape; /* the same for all layers that share the memory */
    size_t n_head, n_kv_head;
    size_t n_query, n_key; /* the maximum of each */
    int n_worker;
};

/* Memory that all layers with the same sizes share. It is allocated from an arena, for the layer
 * that needs most. */
struct attn_heads_memory {
    float *watched; /* [n_watched] watched matrices, and the lists of their cells */
    size_t n_watched;
    /* [n_head, n_query] number of cells of each watched row, if cells are listed. */
    size_t *n_cells;
    uint64_t *dropout; /* one bit for each weight of a layer */
    float *divisors;   /* [n_head, n_query] divisors of the rows of linear attention */
    float *features;   /* [n_kv_head][keys] packed phi(k), if the matrix of linear attention is
                          watched */
    float *maps;       /* E and F of low-rank attention, [2, R, S] */
    /* They were drawn for this seed, and these sizes; map_rank 0: not drawn yet. */
    uint64_t map_seed;
    size_t map_rank, map_key;
    float **scratch; /* [n_worker] */
    size_t *edited;  /* [n_worker] */
    int *heads;      /* [2, n_head] two lists of heads */
};

/* The memory that layers need. Initialize with zeros. attn_heads_needs_include raises it to what
 * another layer needs. */
struct attn_heads_needs {
    size_t n_scratch, n_watched, n_cells, n_dropout, n_divisor, n_feature, n_map;
};
void attn_heads_needs_include(struct attn_heads_needs *needs, const struct attn_heads_sizes *sizes,
                              const struct attn_attention *attention, struct attn_site_set watched,
                              size_t n_watched_head);
void attn_heads_plan(struct attn_heads_memory *memory, struct attn_arena *arena,
                     const struct attn_heads_sizes *sizes, const struct attn_heads_needs *needs);

struct attn_heads;

/* How heads of a kind are computed that has an engine of its own (attention_internal.h). A function
 * that is NULL does nothing, but for `append`: without it keys and values are copied. */
struct attn_kind_engine {
    enum attn_engine engine;
    /* Returns the memory that a layer needs, without watched matrices. */
    struct attn_heads_needs (*needs)(const struct attn_heads_sizes *sizes,
                                     const struct attn_attention *attention, bool is_watched);
    size_t (*state_size)(const struct attn_head_shape *shape); /* attn_heads_state_size */
    /* Writes what replaces the keys and values ROWS of all positions to KV. */
    void (*append)(const struct attn_heads *heads, struct attn_kv *kv,
                   const struct attn_kv_rows *rows);
    void (*run_heads)(const struct attn_heads *heads); /* computes z of all heads, before waves */
    /* Computes the watched rows of a tile, whose z is there. NULL: the dense engine runs it. */
    void (*run_tile)(const struct attn_heads *heads, const struct attn_tile *tile, float *scratch);
};

/* Number of multiply-adds below which one thread finishes before a second one wakes up. */
enum { ATTN_SHARED_WORK = 200000 };

/* Returns the matrix sites that SELECTION selects in the layer of AT, whose site does not matter. A
 * NULL selection selects nothing. */
struct attn_site_set attn_heads_watched_sites(const struct attn_selection *selection,
                                              struct attn_location at);

/* Returns the floats of the state of linear attention for one key/value head; 0 for other kinds. */
size_t attn_heads_state_size(const struct attn_attention *attention,
                             const struct attn_head_shape *shape);

/* Callbacks of the caller that runs a layer: which heads and rows are needed, whether to stop, and
 * where the watched tensors go. */
struct attn_heads_caller {
    bool (*needs_head)(const void *context, int head);
    /* Whether z is needed for some of the rows. */
    bool (*needs_rows)(const void *context, size_t row0, size_t n_row);
    bool (*is_stopped)(void *context);
    void (*emit)(void *context, const struct attn_trace_event *event);
    void *context;
};

/* The heads of one layer in one feed, with their inputs and outputs. */
struct attn_heads {
    struct attn_layer_feed feed;
    const struct attn_engines *engines;
    struct attn_heads_memory *memory;
    struct attn_heads_caller caller;
    struct attn_pool *pool; /* NULL: the caller's thread */
    int n_worker;
    const volatile sig_atomic_t *cancel; /* NULL: cannot be canceled */
    /* The watched heads and rows; NULL: nothing is watched. */
    const struct attn_selection *selection;
    struct attn_site_set watched; /* the watched matrix sites */
    size_t first_head;            /* the heads are first_head to first_head+n_head-1 */
    size_t n_head, n_kv_head;     /* arrays below are indexed from first_head on */
    const float *q;               /* row r of head h at q + h * q_step + r * shape->ldq */
    size_t q_step;
    const float *given; /* [n_head, n_row, n_key] scores that replace the products; or NULL */
    struct attn_kv *kv; /* [n_kv_head] */
    float *z;           /* row r of head h is at z + h * z_step + r * ldz; NULL: z is not needed */
    size_t z_step;
    float *sink_weights; /* [n_row, n_head] weights of the sinks; NULL: not needed */
    bool takes_rows;     /* the trace accepts some rows of all heads before the next rows */
};

/* Packs keys and values of key/value head G in the layout that the engine reads, on the thread of
 * WORKER. Rows with first = 0 start a sequence. */
void attn_heads_append_kv(const struct attn_heads *heads, size_t g, int worker,
                          const struct attn_kv_rows *rows);

/* Runs the layer. Returns the number of rows that edits changed. */
size_t attn_heads_run(const struct attn_heads *heads);

/* Divides each of N rows of D floats by its length, for cosine similarity. A row of length 0
 * becomes 0. */
void attn_rows_normalize(float *x, size_t ld, size_t n, size_t d);
