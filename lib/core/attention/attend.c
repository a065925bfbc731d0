/*
 * attend.c - see attend.h.
 *
 * Key/value heads are processed a few at a time: as many as fit into 64 MiB together with the
 * queries that they serve, but at least one. So memory does not grow with the number of heads.
 */
#include "attention/attend.h"

#include "attention/attention_internal.h"
#include "attention/heads.h"
#include "attention/keys.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <string.h>

enum { GROUP_BYTES = 64 << 20 };

/* The one layer of arrays counts as cross-attention, because its keys are not the positions of its
 * queries. */
static const bool is_cross = true;

struct attend {
    const struct attn_attend_args *args;
    struct attn_attention attention;
    struct attn_head_shape shape;
    struct attn_gemm_engine gemm;
    struct attn_engines engines;
    struct attn_random random;
    struct attn_site_set watched; /* the watched matrix sites */
    bool has_z;                   /* z is watched */
    enum attn_site checked_site; /* the site whose rows n_not_finite counts; ATTN_N_SITE: no site */
    size_t n_kv_at_once;         /* number of key/value heads that are processed together */
    int n_worker;

    struct attn_arena arena; /* owns the fields below */
    struct attn_heads_memory memory;
    struct attn_kv *kv; /* [n_kv_at_once] */
    float *z;           /* [n_kv_at_once * group, T, Ev] */
    float *unit_q;      /* [n_kv_at_once * group, T, E] for cosine similarity */
    float *unit_k;      /* [S, E] unit keys */

    enum attn_status status; /* the first failure */
    struct attn_error *err;
};

struct attn_dims attn_attend_dims(const struct attn_attend_args *args)
{
    if (!args)
        return (struct attn_dims){0};
    struct attn_dims dims = {
        .n_layer = 1,
        .n_head = args->n_head,
        .n_kv_head = args->n_kv_head,
        .d_head = args->d_head,
        .d_value = args->d_value,
        .n_position = args->n_query,
        .n_source = args->n_key,
        .is_cross = &is_cross,
    };

    if (args->v)
        attn_sites_add(&dims.sites, ATTN_SITE_Z);
    attn_attention_set_dims(&args->attention, &dims);
    return dims;
}

/* --- Checks -------------------------------------------------------------------------------- */

/* Checks that q and k, or scores, and a trace are given. */
static enum attn_status check_given(const struct attn_attend_args *args, struct attn_error *err)
{
    if (args->scores && (args->q || args->k))
        return attn_error_set(err, ATTN_INVALID,
                              "there are both 'scores' and '%s', expected scores, or q and k",
                              args->q ? "q" : "k");
    if ((!args->scores &&
         (!attn_is_given(args->q, "q", err) || !attn_is_given(args->k, "k", err))) ||
        !attn_is_given(args->trace, "trace", err) || !attn_trace_is_given(args->trace, err) ||
        !attn_is_choice(args->gemm, ATTN_GEMM_PORTABLE + 1, "gemm", err) ||
        !attn_is_choice(args->isa, ATTN_ISA_BEST + 1, "isa", err) ||
        !attn_is_choice(args->compute, ATTN_N_COMPUTE, "compute", err))
        return ATTN_INVALID;
    return ATTN_OK;
}

static enum attn_status check_sizes(const struct attn_attend_args *args, struct attn_error *err)
{
    if (args->n_head == 0 || args->n_query == 0 || args->n_key == 0 || args->d_head == 0 ||
        args->n_key > INT32_MAX || (args->v && args->d_value == 0))
        return attn_error_set(
            err, ATTN_INVALID,
            "%zu heads, %zu queries and %zu keys of width %zu, expected 1 or more "
            "of each",
            args->n_head, args->n_query, args->n_key, args->d_head);
    if (args->n_kv_head == 0 || args->n_head % args->n_kv_head != 0)
        return attn_error_set(err, ATTN_INVALID,
                              "%zu query heads cannot share %zu key/value heads evenly",
                              args->n_head, args->n_kv_head);
    if (args->attention.mask == ATTN_MASK_CAUSAL && args->n_query > args->n_key)
        return attn_error_set(err, ATTN_INVALID,
                              "%zu queries of %zu keys cannot be causal, expected no more queries "
                              "than keys",
                              args->n_query, args->n_key);
    return ATTN_OK;
}

static enum attn_status check(const struct attn_attend_args *args, struct attn_error *err)
{
    const struct attn_attention *attention = &args->attention;
    const enum attn_attention_kind kind = attention->kind;
    const bool is_blockwise = attention->algorithm == ATTN_ALGORITHM_BLOCKWISE;
    const size_t n_head = args->n_head, n_query = args->n_query, n_key = args->n_key;
    const struct attn_dims *own;
    struct attn_dims dims;

    ATTN_TRY(check_given(args, err));
    ATTN_TRY(check_sizes(args, err));
    ATTN_TRY(attn_attention_check(attention, false, err));
    ATTN_TRY(attn_attention_check_keys(attention, n_key, err));
    ATTN_TRY(attn_mask_matrix_check(&attention->matrix, "mask", n_head, n_query, n_key, err));
    ATTN_TRY(attn_mask_matrix_check(&attention->dropout_mask, "dropout mask", n_head, n_query,
                                    n_key, err));
    if (args->scores &&
        (kind == ATTN_ATTENTION_LINEAR || kind == ATTN_ATTENTION_LOWRANK || is_blockwise))
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' attention is made from queries and keys, not from scores",
                              is_blockwise ? "blockwise" : attn_attention_kind_name(kind));
    dims = attn_attend_dims(args);
    own = attn_selection_dims(args->trace->selection);
    /* The selection must have the sizes of the arrays: consumers of events allocate by them. */
    if (own->n_layer != dims.n_layer || own->n_head != n_head || own->n_kv_head != dims.n_kv_head ||
        own->n_position != n_query || own->n_source != n_key || own->d_head != dims.d_head ||
        (own->d_value != dims.d_value && attn_sites_have(dims.sites, ATTN_SITE_Z)))
        return attn_error_set(err, ATTN_INVALID,
                              "the selection was made for %zu heads, %zu queries and %zu keys, or "
                              "for other widths, expected the %zu, %zu and %zu of the arrays",
                              own->n_head, own->n_position, own->n_source, n_head, n_query, n_key);
    if (!attn_sites_are_empty(
            attn_sites_without(attn_selection_sites(args->trace->selection), dims.sites)))
        return attn_error_set(err, ATTN_INVALID, "'%s' attention lacks a site that is watched",
                              attn_attention_kind_name(kind));
    return ATTN_OK;
}

/* --- Memory -------------------------------------------------------------------------------- */

static size_t group_of(const struct attn_attend_args *args)
{
    return args->n_head / args->n_kv_head;
}

static void plan(struct attend *a, struct attn_arena *arena)
{
    const struct attn_attend_args *args = a->args;
    const size_t n_head = a->n_kv_at_once * group_of(args);
    const bool is_cosine = a->attention.similarity == ATTN_SIMILARITY_COSINE;
    const struct attn_heads_sizes sizes = {.shape = a->shape,
                                           .n_head = n_head,
                                           .n_kv_head = a->n_kv_at_once,
                                           .n_query = args->n_query,
                                           .n_key = args->n_key,
                                           .n_worker = a->n_worker};
    struct attn_heads_needs needs = {0};

    attn_heads_needs_include(&needs, &sizes, &a->attention, a->watched, n_head);
    attn_heads_plan(&a->memory, arena, &sizes, &needs);
    a->kv = attn_kv_plan(arena, &a->shape, a->n_kv_at_once,
                         attn_heads_state_size(&a->attention, &a->shape));
    a->z =
        attn_arena_take(arena, a->has_z ? n_head * args->n_query : 0, args->d_value * sizeof *a->z);
    a->unit_q = attn_arena_take(arena, is_cosine ? n_head * args->n_query : 0,
                                args->d_head * sizeof *a->unit_q);
    a->unit_k =
        attn_arena_take(arena, is_cosine ? args->n_key : 0, args->d_head * sizeof *a->unit_k);
}

/* --- Callbacks of the heads ------------------------------------------------------------------- */

static bool needs_head(const void *context, int head)
{
    const struct attend *a = context;

    return attn_selection_has_head(a->args->trace->selection,
                                   &(struct attn_location){.head = head});
}

static bool needs_rows(const void *context, size_t row0, size_t n_row)
{
    const struct attend *a = context;

    for (size_t row = row0; row < row0 + n_row; row++)
        if (attn_selection_has_query(a->args->trace->selection, ATTN_STACK_ONLY, row))
            return true;
    return false;
}

static bool is_stopped(void *context)
{
    struct attend *a = context;

    if (a->status == ATTN_OK && attn_is_canceled(a->args->cancel))
        a->status = attn_error_set(a->err, ATTN_CANCELED, "canceled");
    return a->status != ATTN_OK;
}

/* Returns the number of rows of EVENT that contain NaN or infinity. Masked scores, which are -inf,
 * do not count. */
static size_t count_not_finite(const struct attn_kernels *kernels,
                               const struct attn_trace_event *event)
{
    size_t n_row = 0;

    for (size_t r = 0; r < event->n_row; r++) {
        const float *row = event->data + r * event->ld;
        const size_t n = event->keys ? event->n_kept[r] : event->n_col;
        size_t j = 0;

        if (event->at.site != ATTN_SITE_ATTN_SCORES) {
            n_row += !kernels->is_finite(row, n);
            continue;
        }
        while (j < n && row[j] < INFINITY)
            j++;
        n_row += j < n;
    }
    return n_row;
}

static void emit(void *context, const struct attn_trace_event *event)
{
    struct attend *a = context;
    const struct attn_trace *trace = a->args->trace;
    const bool is_checked = a->args->n_not_finite && event->at.site == a->checked_site;
    struct attn_trace_event part;
    size_t row = 0;

    while (!is_stopped(a) && attn_trace_next_part(trace->selection, event, &row, &part)) {
        if (is_checked)
            *a->args->n_not_finite += count_not_finite(a->gemm.kernels, &part);
        a->status =
            attn_call_status(trace->on_event(trace->user, &part, a->err), "on_event", a->err);
    }
}

/* --- A few key/value heads ------------------------------------------------------------------- */

static void append_keys(struct attend *a, const struct attn_heads *heads, size_t first)
{
    const struct attn_attend_args *args = a->args;
    const size_t d = args->d_head, n_key = args->n_key;

    for (size_t i = 0; i < heads->n_kv_head; i++) {
        struct attn_kv_rows rows = {.ldk = d, .ldv = args->d_value, .n = n_key};

        if (args->k)
            rows.k = args->k + (first + i) * n_key * d;
        if (a->has_z)
            rows.v = args->v + (first + i) * n_key * args->d_value;
        if (rows.k && a->attention.similarity == ATTN_SIMILARITY_COSINE) {
            memcpy(a->unit_k, rows.k, n_key * d * sizeof(float));
            attn_rows_normalize(a->unit_k, d, n_key, d);
            rows.k = a->unit_k;
        }
        attn_heads_append_kv(heads, i, 0, &rows);
    }
}

static void emit_z(struct attend *a, size_t first_head, size_t n_head)
{
    const struct attn_attend_args *args = a->args;

    for (size_t h = 0; h < n_head && a->has_z; h++) {
        const struct attn_trace_event event = {
            .at.site = ATTN_SITE_Z,
            .at.head = (int)(first_head + h),
            .n_row = args->n_query,
            .n_col = args->d_value,
            .ld = args->d_value,
            .data = a->z + h * args->n_query * args->d_value,
        };

        if (needs_head(a, event.at.head))
            emit(a, &event);
    }
}

/* Processes N key/value heads from FIRST on, and the heads that they serve. */
static void run_kv_heads(struct attend *a, size_t first, size_t n)
{
    const struct attn_attend_args *args = a->args;
    const size_t group = group_of(args), first_head = first * group, n_head = n * group;
    const float *q = args->q ? args->q + first_head * args->n_query * args->d_head : NULL;
    const size_t n_cell = args->n_query * args->n_key;
    const double work = (double)(n_head * (args->d_head + args->d_value)) * (double)n_cell;
    const bool is_causal = a->attention.mask == ATTN_MASK_CAUSAL;
    const bool is_given = a->attention.dropout_mask.cells;
    const struct attn_dropout dropout = {.given = is_given ? &a->attention.dropout_mask : NULL,
                                         .bits = a->memory.dropout,
                                         .first_head = first_head,
                                         .n_query = args->n_query,
                                         .n_key = args->n_key,
                                         .factor = 1.0F / (float)(1 - a->attention.dropout)};
    struct attn_heads heads = {
        .feed = {.attention = &a->attention,
                 .shape = &a->shape,
                 .random_layer = args->random_layer,
                 .n_row = args->n_query,
                 .n_key = args->n_key,
                 .ahead = is_causal ? args->n_key - args->n_query : 0,
                 .ldz = args->d_value,
                 .dropout = a->attention.dropout > 0 || is_given ? &dropout : NULL},
        .engines = &a->engines,
        .memory = &a->memory,
        .caller = {needs_head, needs_rows, is_stopped, emit, a},
        .pool = work >= ATTN_SHARED_WORK ? args->pool : NULL,
        .n_worker = a->n_worker,
        .cancel = args->cancel,
        .selection = args->trace->selection,
        .watched = a->watched,
        .first_head = first_head,
        .n_head = n_head,
        .n_kv_head = n,
        .q = q,
        .q_step = args->n_query * args->d_head,
        .given = args->scores ? args->scores + first_head * n_cell : NULL,
        .kv = a->kv,
        .z = a->has_z ? a->z : NULL,
        .z_step = args->n_query * args->d_value,
    };

    if (q && a->attention.similarity == ATTN_SIMILARITY_COSINE) {
        memcpy(a->unit_q, q, n_head * args->n_query * args->d_head * sizeof *q);
        attn_rows_normalize(a->unit_q, args->d_head, n_head * args->n_query, args->d_head);
        heads.q = a->unit_q;
    }
    append_keys(a, &heads, first);
    if (a->attention.dropout > 0 && !is_given)
        attn_dropout_draw(&a->random, a->attention.dropout, n_head * n_cell, a->memory.dropout);
    attn_heads_run(&heads);
    emit_z(a, first_head, n_head);
}

static void prepare(struct attend *a)
{
    /* A NaN of an earlier step also shows in later ones. So rows are checked at the first of these
     * sites that is watched; smaller tensors come first. */
    static const enum attn_site checked[] = {
        ATTN_SITE_Z,  ATTN_SITE_PATTERN,     ATTN_SITE_PATTERN_LOWRANK, ATTN_SITE_PATTERN_DROPPED,
        ATTN_SITE_QK, ATTN_SITE_ATTN_SCORES,
    };
    enum { N_CHECKED = sizeof checked / sizeof *checked };
    const struct attn_attend_args *args = a->args;
    const struct attn_selection *selection = args->trace->selection;
    const bool is_mixed = a->attention.kind == ATTN_ATTENTION_LOWRANK;
    const size_t n_mixed =
        is_mixed ? a->attention.count : 0; /* number of mixed keys that low-rank attention reads */
    /* Number of key/value heads that fit together, and the floats that each needs. */
    double n, each;
    struct attn_location at = {.site = ATTN_SITE_Z};
    size_t i = 0;

    attn_attention_resolve_stride(&a->attention, args->n_key);
    a->shape = (struct attn_head_shape){.d_head = args->d_head,
                                        .d_value = args->v ? args->d_value : 1,
                                        .n_max = n_mixed > args->n_key ? n_mixed : args->n_key,
                                        .ldq = args->d_head,
                                        .is_bf16 = args->compute == ATTN_COMPUTE_BF16};
    a->watched = attn_heads_watched_sites(selection, at);
    a->has_z = attn_selection_wants(selection, &at);
    for (; i < N_CHECKED; i++) {
        at.site = checked[i];
        if (attn_selection_wants(selection, &at))
            break;
    }
    a->checked_site = i < N_CHECKED ? checked[i] : ATTN_N_SITE;
    if (args->n_not_finite)
        *args->n_not_finite = 0;
    a->n_worker = args->pool ? attn_pool_n_thread(args->pool) : 1;
    /* Each needs packed keys and values, and for the heads that it serves, queries and z. */
    each = (double)(attn_kv_keys_size(&a->shape) + attn_kv_values_size(&a->shape)) +
           (double)group_of(args) * (double)args->n_query * (double)(args->d_head + args->d_value);
    n = GROUP_BYTES / (sizeof(float) * each);
    a->n_kv_at_once = n >= (double)args->n_kv_head ? args->n_kv_head : n < 1 ? 1 : (size_t)n;
    attn_random_seed(&a->random, a->attention.dropout_seed);
    for (uint64_t drawn = 0; drawn < args->n_drawn; drawn++)
        attn_random_bernoulli(&a->random, 1 - a->attention.dropout);
}

static enum attn_status compute(const struct attn_attend_args *args, struct attn_error *err)
{
    struct attend a = {.args = args, .attention = args->attention, .err = err};
    const double work = (double)args->n_head * (double)args->n_query * (double)args->n_key *
                        (double)(args->d_head + args->d_value);

    ATTN_TRY(check(args, err));
    a.gemm = attn_gemm_engine_start_for(args->compute, args->gemm, args->isa, work);
    if (a.gemm.lacks_memory)
        return attn_error_no_memory(err);
    prepare(&a);
    plan(&a, &a.arena);
    ATTN_TRY(attn_arena_allocate(&a.arena, err));
    plan(&a, &a.arena);
    a.shape.is_bf16 = attn_gemm_rounds_attention(&a.gemm, args->compute);
    attn_kv_clear(a.kv, &a.shape, a.n_kv_at_once);
    attn_engines_plan(&a.engines, &a.gemm, &a.shape, &a.attention, 1, args->n_query);
    for (size_t g = 0; g < args->n_kv_head && !is_stopped(&a); g += a.n_kv_at_once) {
        const size_t rest = args->n_kv_head - g;

        run_kv_heads(&a, g, rest < a.n_kv_at_once ? rest : a.n_kv_at_once);
    }
    attn_arena_release(&a.arena);
    return a.status;
}

enum attn_status attn_attend(const struct attn_attend_args *given, struct attn_error *err)
{
    struct attn_attend_args args = ATTN_ATTEND_ARGS_DEFAULT;

    ATTN_TRY(attn_options_read(given, &args, err));
    return compute(&args, err);
}
