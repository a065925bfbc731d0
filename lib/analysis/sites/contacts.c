/*
 * contacts.c - predicts which residues of a protein touch, from the patterns of all heads (Rao et
 * al. 2021, bioRxiv 2020.12.15.422761): a logistic regression whose weights are in the files of
 * ESM.
 *
 *     A_c = pattern of head c of all layers, 0 in rows and columns of <eos>, without the
 *           rows and columns of the first and the last token
 *     S = A_c + A_c^T
 *     F_c,ij = S_ij - (sum of row i) * (sum of column j) / (sum of S)
 *     contact_ij = sigmoid(b + sum over c of w_c F_c,ij)
 *
 * Patterns are added up while they come, so that no pattern has to be kept. The regression is
 * computed as
 *
 *     half = sum of w_c A_c; a_c = row sums of S; far = sum of (w_c / sum of a_c) a_c a_c^T
 *     contact = sigmoid(b + (half + half^T) - far)
 *
 * in double precision, with c ascending, and rounded once. A task is a range of columns of all rows
 * of an event, so that each sum has one order, whatever the number of threads, the instruction set
 * and the rows of an event are.
 */
#include "sites/derived_internal.h"

#include "base/elementary.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/status_internal.h"
#include "kernels/kernels.h"
#include "model/elements.h"
#include "model/model_internal.h"
#include "trace/trace_internal.h"

enum {
    CLS = 0,
    EOS = 2
}; /* ids in the alphabet of ESM; modeling_esm.py has the id of EOS as a constant */
enum { CHUNK = 128, ROWS_AT_ONCE = 64 };

struct attn_contacts {
    const struct attn_trace *asked_by;
    struct attn_pool *pool;
    struct attn_store *store;           /* owns; has the arrays */
    size_t n, n_head, n_layer, n_chunk; /* n: number of residues; n_head: heads of a layer */
    double bias;
    double *weights; /* [n_layer * n_head] */
    float *kept;     /* [n] 0 for residues that the attention mask leaves out, else 1 */
    bool has_dropped;
    const struct attn_kernels *kernels;
    double *half;    /* [n, n] */
    double *sums;    /* [n_layer * n_head, n] a_c; while rows still come, the sums of columns */
    double *factors; /* [n_layer * n_head] w_c / (sum of a_c) */
    /* [n, n_chunk] for the current head: the sum of each row, chunk by chunk. */
    double *parts;
    double *far; /* [n_thread, n] a row of `far` for each thread */
    float *row;  /* [n + 2] a row of a pattern whose masked cells are filled in */
    float *out;  /* [ROWS_AT_ONCE, n] the rows that are emitted */
};

/* --- Creating --------------------------------------------------------------------------------- */

static enum attn_status check_ids(const struct attn_sequence *text, struct attn_error *err)
{
    if (!text->ids)
        return attn_error_set(err, ATTN_INVALID,
                              "'contacts' needs tokens, and embeddings have none");
    if (text->n < 3 || text->ids[0] != CLS || text->ids[text->n - 1] != EOS)
        return attn_error_set(
            err, ATTN_INVALID,
            "'contacts' needs residues between <cls> and <eos>, tokens %d and %d, "
            "and the text has %zu token%s from %d to %d",
            CLS, EOS, text->n, text->n == 1 ? "" : "s", (int)text->ids[0],
            (int)text->ids[text->n - 1]);
    return ATTN_OK;
}

static enum attn_status build(struct attn_contacts *c, const struct attn_derived_scope *of,
                              struct attn_error *err)
{
    const struct attn_weights *weights = &of->model->weights;
    const size_t n_all = c->n_layer * c->n_head, n_thread = (size_t)attn_pool_n_thread(c->pool);

    ATTN_TRY(ATTN_STORE_ALLOC(&c->store, c->weights, n_all, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&c->store, c->kept, c->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&c->store, c->factors, n_all, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&c->store, c->row, c->n + 2, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&c->store, c->half, attn_size_mul(c->n, c->n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&c->store, c->sums, attn_size_mul(n_all, c->n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&c->store, c->parts, attn_size_mul(c->n, c->n_chunk), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&c->store, c->far, attn_size_mul(n_thread, c->n), err));
    ATTN_TRY(ATTN_STORE_ALLOC(&c->store, c->out, attn_size_mul(ROWS_AT_ONCE, c->n), err));
    attn_vector_elements(&weights->contacts, 0, n_all, c->weights);
    attn_vector_elements(&weights->contacts_bias, 0, 1, &c->bias);
    for (size_t i = 0; i < c->n; i++) {
        c->kept[i] =
            of->text->ids[1 + i] != EOS && (!of->text->key_mask || of->text->key_mask[1 + i] != 0);
        c->has_dropped = c->has_dropped || c->kept[i] == 0;
    }
    return ATTN_OK;
}

enum attn_status attn_contacts_create(const struct attn_derived_scope *of,
                                      const struct attn_trace *asked_by, struct attn_pool *pool,
                                      struct attn_contacts **contacts, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(asked_by->selection);
    struct attn_contacts *made;

    ATTN_TRY(attn_error_at(check_ids(of->text, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->asked_by = asked_by;
    made->pool = pool;
    made->kernels = attn_kernels_find(ATTN_ISA_BEST);
    made->n = dims->n_position - 2;
    made->n_head = dims->n_head;
    made->n_layer = dims->n_layer;
    made->n_chunk = (made->n + CHUNK - 1) / CHUNK;
    ATTN_RETURN_MADE(build(made, of, err), contacts, made, attn_contacts_free);
}

void attn_contacts_free(struct attn_contacts *contacts)
{
    if (!contacts)
        return;
    attn_store_release(&contacts->store);
    attn_free(contacts);
}

/* --- Adding patterns -------------------------------------------------------------------------- */

/* Rows of a head without gaps, of the residues first .. first + n - 1, which tasks add. */
struct adding {
    const struct attn_contacts *contacts;
    const float *values; /* [n, ld] from the column of <cls> on */
    size_t head, first, n, ld, n_task;
};

/* Adds the columns of CHUNK of residue I's row; X is the first of them. Returns their sum. */
static double add_chunk(const struct adding *adding, size_t i, size_t chunk, const float *x)
{
    const struct attn_contacts *c = adding->contacts;
    const size_t first = chunk * CHUNK, n = c->n - first < CHUNK ? c->n - first : CHUNK;
    float kept[CHUNK];

    for (size_t j = 0; j < n && c->has_dropped; j++)
        kept[j] = x[j] * c->kept[first + j];
    return c->kernels->add_weighted(c->has_dropped ? kept : x, n, c->weights[adding->head],
                                    c->half + i * c->n + first,
                                    c->sums + adding->head * c->n + first);
}

/* A task: adds some chunks of columns of all rows, row by row. */
static void add_columns(void *context, size_t task, int worker)
{
    const struct adding *adding = context;
    const struct attn_contacts *c = adding->contacts;
    const size_t end = (task + 1) * c->n_chunk / adding->n_task;

    (void)worker;
    for (size_t r = 0; r < adding->n; r++) {
        const float *row = adding->values + r * adding->ld + 1;
        const size_t i = adding->first + r;

        for (size_t chunk = task * c->n_chunk / adding->n_task; chunk < end; chunk++)
            c->parts[i * c->n_chunk + chunk] =
                c->kept[i] == 0 ? 0 : add_chunk(adding, i, chunk, row + chunk * CHUNK);
    }
}

/* Called when all rows of HEAD have come: computes its a_c and its factor. */
static void end_head(struct attn_contacts *c, size_t head)
{
    double *sums = c->sums + head * c->n, total = 0;

    for (size_t i = 0; i < c->n; i++) {
        double sum = 0;

        for (size_t chunk = 0; chunk < c->n_chunk; chunk++)
            sum += c->parts[i * c->n_chunk + chunk];
        sums[i] += sum;
        total += sums[i];
    }
    c->factors[head] = total > 0 ? c->weights[head] / total : 0;
}

void attn_contacts_add(struct attn_contacts *contacts, const struct attn_trace_event *event)
{
    struct attn_contacts *c = contacts;
    const bool is_dense = !event->keys && !event->is_causal;
    const size_t head = attn_head_index(attn_selection_dims(c->asked_by->selection), &event->at);
    const size_t end =
        event->row0 + event->n_row < c->n + 1 ? event->row0 + event->n_row : c->n + 1;
    const size_t n_thread = (size_t)attn_pool_n_thread(c->pool);
    size_t row = event->row0 > 0 ? event->row0 : 1;

    while (row < end) {
        struct adding adding = {.contacts = c,
                                .values = event->data + (row - event->row0) * event->ld,
                                .head = head,
                                .first = row - 1,
                                .n = is_dense ? end - row : 1,
                                .ld = event->ld,
                                .n_task = n_thread < c->n_chunk ? n_thread : c->n_chunk};

        if (!is_dense) {
            attn_event_copy_row(event, row - event->row0, c->row, c->n + 2);
            adding.values = c->row;
        }
        attn_pool_run(c->pool, adding.n_task, add_columns, &adding);
        row += adding.n;
    }
    if (event->row0 + event->n_row == c->n + 2)
        end_head(c, head);
}

/* --- Computing contacts ----------------------------------------------------------------------- */

struct finishing {
    const struct attn_contacts *contacts;
    size_t first; /* the residue of row 0 of `out` */
};

/* A task: computes one row of contacts. */
static void finish_row(void *context, size_t task, int worker)
{
    const struct finishing *finishing = context;
    const struct attn_contacts *c = finishing->contacts;
    const size_t i = finishing->first + task, n = c->n;
    double *far = c->far + (size_t)worker * n;
    float *out = c->out + task * n;

    for (size_t j = 0; j < n; j++)
        far[j] = 0;
    for (size_t head = 0; head < c->n_layer * c->n_head; head++) {
        const double *sums = c->sums + head * n;

        /* multiplied in this order, so that i, j and j, i give the same bits */
        c->kernels->add_product(c->factors[head], sums[i], sums, n, far);
    }
    for (size_t j = 0; j < n; j++) {
        const double x = c->bias + (c->half[i * n + j] + c->half[j * n + i]) - far[j];

        out[j] = (float)(1 / (1 + attn_exp(-x)));
    }
}

enum attn_status attn_contacts_emit(const struct attn_contacts *contacts, struct attn_error *err)
{
    const struct attn_contacts *c = contacts;

    for (size_t i = 0; i < c->n; i += ROWS_AT_ONCE) {
        const size_t n_row = c->n - i < ROWS_AT_ONCE ? c->n - i : ROWS_AT_ONCE;
        const struct attn_trace_event event = {.at.site = ATTN_SITE_CONTACTS,
                                               .at.layer = ATTN_NO_LAYER,
                                               .at.head = ATTN_ALL_HEADS,
                                               .row0 = 1 + i,
                                               .n_row = n_row,
                                               .n_col = c->n,
                                               .ld = c->n,
                                               .data = c->out};

        attn_pool_run(c->pool, n_row, finish_row, &(struct finishing){c, i});
        ATTN_TRY(attn_trace_hand_on(c->asked_by, &event, err));
    }
    return ATTN_OK;
}

static enum attn_status check(const struct attn_model *model, struct attn_error *err)
{
    if (model->config.has_contacts)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "'contacts' needs a regression from patterns to contacts, as ESM has it, "
                          "and '%s' has none",
                          attn_quote_string(attn_model_name(model)).text);
}

const struct attn_derived_kind attn_derived_contacts = {
    .site = ATTN_SITE_CONTACTS,
    .check = check,
};
