/* weight_arrays.c - see weight_arrays.h: a table of names, and matrices converted a column or a row
 * at a time, as they lie in the file. */
#include "model/weight_arrays.h"

#include "base/dtype_internal.h"
#include "base/memory.h"
#include "base/text/given.h"
#include "model/elements.h"
#include "model/model_internal.h"

#include <stdio.h>
#include <string.h>

/* How a weight lies in its struct, and its shape. */
enum form {
    TENSOR,        /* [n, m] */
    VECTOR,        /* [n] */
    MATRIX,        /* [in, out] */
    OF_HEADS,      /* [H, in, E]: the outputs of a matrix are those of heads */
    OF_KEYS,       /* [G, in, E]: likewise of key/value heads */
    TO_HEADS,      /* [H, E, out]: its inputs are those of heads */
    BIAS_OF_HEADS, /* [H, E] */
    BIAS_OF_KEYS,  /* [G, E] */
};

struct row {
    const char *name;
    enum form form;
    size_t offset;
};

#define OF_BLOCK(member) offsetof(struct attn_block_weights, member)
#define OF_MODEL(member) offsetof(struct attn_weights, member)

/* Before the layers, the layers, after them. A norm of the sum is the only one in its place. */
static const struct row before[] = {
    {"embed.W_E", TENSOR, OF_MODEL(embed)},
    {"pos_embed.W_pos", TENSOR, OF_MODEL(positions)},
    {"token_type_embed.W_token_type", TENSOR, OF_MODEL(types)},
    {"embed.ln.w", VECTOR, OF_MODEL(ln_embed.w)},
    {"embed.ln.b", VECTOR, OF_MODEL(ln_embed.b)},
    {"embed.W_map", MATRIX, OF_MODEL(embed_map.weight)},
    {"embed.b_map", VECTOR, OF_MODEL(embed_map.bias)},
    {"embed.W_patch", MATRIX, OF_MODEL(patches.weight)},
    {"embed.b_patch", VECTOR, OF_MODEL(patches.bias)},
    {"embed.cls", VECTOR, OF_MODEL(cls)},
    {"rel_pos_bias", TENSOR, OF_MODEL(relative_bias)},
};
static const struct row attention[] = {
    {"ln1.w", VECTOR, OF_BLOCK(ln1.w)},
    {"ln1.b", VECTOR, OF_BLOCK(ln1.b)},
    {"ln1.w", VECTOR, OF_BLOCK(mid_norm.w)},
    {"ln1.b", VECTOR, OF_BLOCK(mid_norm.b)},
    {"attn.W_Q", OF_HEADS, OF_BLOCK(q.weight)},
    {"attn.b_Q", BIAS_OF_HEADS, OF_BLOCK(q.bias)},
    {"attn.W_K", OF_KEYS, OF_BLOCK(k.weight)},
    {"attn.b_K", BIAS_OF_KEYS, OF_BLOCK(k.bias)},
    {"attn.W_V", OF_KEYS, OF_BLOCK(v.weight)},
    {"attn.b_V", BIAS_OF_KEYS, OF_BLOCK(v.bias)},
    {"attn.q_norm.w", VECTOR, OF_BLOCK(q_norm.w)},
    {"attn.q_norm.b", VECTOR, OF_BLOCK(q_norm.b)},
    {"attn.k_norm.w", VECTOR, OF_BLOCK(k_norm.w)},
    {"attn.k_norm.b", VECTOR, OF_BLOCK(k_norm.b)},
    {"attn.sinks", VECTOR, OF_BLOCK(sinks)},
    {"attn.rel_pos_bias", TENSOR, OF_BLOCK(relative_bias)},
    {"attn.W_O", TO_HEADS, OF_BLOCK(out.weight)},
    {"attn.b_O", VECTOR, OF_BLOCK(out.bias)},
    {"ln1_post.w", VECTOR, OF_BLOCK(ln1_post.w)},
    {"ln1_post.b", VECTOR, OF_BLOCK(ln1_post.b)},
    {"attn.layer_scale", VECTOR, OF_BLOCK(attn_scale.w)},
};
static const struct row mlp[] = {
    {"ln2.w", VECTOR, OF_BLOCK(ln2.w)},
    {"ln2.b", VECTOR, OF_BLOCK(ln2.b)},
    {"mlp.W_gate", MATRIX, OF_BLOCK(mlp_gate.weight)},
    {"mlp.b_gate", VECTOR, OF_BLOCK(mlp_gate.bias)},
    {"mlp.W_in", MATRIX, OF_BLOCK(mlp_in.weight)},
    {"mlp.b_in", VECTOR, OF_BLOCK(mlp_in.bias)},
    {"mlp.ln.w", VECTOR, OF_BLOCK(mlp_norm.w)},
    {"mlp.ln.b", VECTOR, OF_BLOCK(mlp_norm.b)},
    {"mlp.W_out", MATRIX, OF_BLOCK(mlp_out.weight)},
    {"mlp.b_out", VECTOR, OF_BLOCK(mlp_out.bias)},
    {"mlp.W_gate", MATRIX, OF_BLOCK(router.weight)}, /* a layer with experts has no other */
    {"mlp.b_gate", VECTOR, OF_BLOCK(router.bias)},
    {"mlp.shared_expert.W_gate", MATRIX, OF_BLOCK(shared.gate.weight)},
    {"mlp.shared_expert.W_in", MATRIX, OF_BLOCK(shared.in.weight)},
    {"mlp.shared_expert.W_out", MATRIX, OF_BLOCK(shared.out.weight)},
    {"mlp.shared_expert_gate.W", MATRIX, OF_BLOCK(shared_router.weight)},
    {"ln2_post.w", VECTOR, OF_BLOCK(ln2_post.w)},
    {"ln2_post.b", VECTOR, OF_BLOCK(ln2_post.b)},
    {"ln2.w", VECTOR, OF_BLOCK(end_norm.w)},
    {"ln2.b", VECTOR, OF_BLOCK(end_norm.b)},
    {"mlp.layer_scale", VECTOR, OF_BLOCK(mlp_scale.w)},
};
#define OF_EXPERT(member) offsetof(struct attn_expert, member)
static const struct row expert[] = {
    {"W_gate", MATRIX, OF_EXPERT(gate.weight)}, {"b_gate", VECTOR, OF_EXPERT(gate.bias)},
    {"W_in", MATRIX, OF_EXPERT(in.weight)},     {"b_in", VECTOR, OF_EXPERT(in.bias)},
    {"W_out", MATRIX, OF_EXPERT(out.weight)},   {"b_out", VECTOR, OF_EXPERT(out.bias)},
};
static const struct row after[] = {
    {"ln_final.w", VECTOR, OF_MODEL(ln_final.w)},
    {"ln_final.b", VECTOR, OF_MODEL(ln_final.b)},
    {"mlm_head.W", MATRIX, OF_MODEL(head.weight)},
    {"mlm_head.b", VECTOR, OF_MODEL(head.bias)},
    {"mlm_head.ln.w", VECTOR, OF_MODEL(ln_head.w)},
    {"mlm_head.ln.b", VECTOR, OF_MODEL(ln_head.b)},
    {"projection.W", MATRIX, OF_MODEL(projection.weight)},
    {"unembed.W_U", MATRIX, OF_MODEL(unembed.weight)},
    {"unembed.b_U", VECTOR, OF_MODEL(unembed.bias)},
};
#define N_ROW(rows) (sizeof(rows) / sizeof *(rows))

/* A weight that was found: its name and shape, and where it is. */
struct found {
    struct attn_weight_array array;
    enum form form;
    const void *weight;                     /* struct attn_tensor, attn_matrix or attn_vector */
    size_t first_row;                       /* of a tensor: rows before that one are left out */
    const struct attn_block_weights *block; /* of an expert; else NULL */
    size_t expert;
};

/* Called for each weight. Returns whether to stop. */
typedef bool visit_fn(void *user, const struct found *found);

struct walk {
    const struct attn_model *model; /* the stack */
    const char *stack;              /* "encoder", "decoder" or "": there is one */
    visit_fn *visit;
    void *user;
    struct found found;
};

/* Sets rank and shape of the weight. Returns whether the model has it. */
static bool measure(struct walk *walk)
{
    const struct attn_config *config = &walk->model->config;
    struct found *found = &walk->found;
    const enum form form = found->form;
    const struct attn_tensor *tensor = found->weight;
    const struct attn_matrix *m = found->weight;
    const struct attn_vector *vector = found->weight;
    const size_t n_head =
        form == OF_KEYS || form == BIAS_OF_KEYS ? config->n_kv_head : config->n_head;
    size_t sizes[3] = {0};
    int rank = 2;

    if (form == TENSOR && tensor->data) {
        sizes[0] = tensor->shape[0] - found->first_row, sizes[1] = tensor->shape[1];
    } else if (form == VECTOR && vector->data) {
        sizes[0] = vector->n, rank = 1;
    } else if ((form == BIAS_OF_HEADS || form == BIAS_OF_KEYS) && vector->data) {
        sizes[0] = n_head, sizes[1] = vector->n / n_head;
    } else if (form == MATRIX && m->data) {
        sizes[0] = m->n_row, sizes[1] = m->n_col;
    } else if ((form == OF_HEADS || form == OF_KEYS) && m->data) {
        sizes[0] = n_head, sizes[1] = m->n_row, sizes[2] = m->n_col / n_head, rank = 3;
    } else if (form == TO_HEADS && m->data) {
        sizes[0] = n_head, sizes[1] = m->n_row / n_head, sizes[2] = m->n_col, rank = 3;
    }
    found->array.rank = rank;
    memcpy(found->array.shape, sizes, sizeof sizes);
    return sizes[0] > 0;
}

/* Writes the name of a weight: that of its row after PREFIX, in the layer of BLOCK. A block that
 * attends to a source has "cross_attn" and the later norms of a layer of two blocks. */
static void write_name(struct walk *walk, int block, const char *prefix, const char *name)
{
    const bool has_pairs = walk->model->config.stack.has_encoder;
    const bool is_cross = has_pairs && block >= 0 && block % 2 == 1;
    const char *of_model = strcmp(walk->stack, "encoder") == 0 ? "encoder." : "";
    char *text = walk->found.array.name;
    char own[64]; /* longer than "mlp.experts.127.W_gate" */

    snprintf(own, sizeof own, "%s%s%s", is_cross && strncmp(name, "attn.", 5) == 0 ? "cross_" : "",
             prefix, name);
    if (is_cross && strncmp(name, "ln", 2) == 0)
        own[2]++; /* ln1 of the block is ln2 of the layer */
    if (block < 0)
        snprintf(text, ATTN_WEIGHT_ARRAY_NAME_SIZE, "%s%s", of_model, own);
    else
        snprintf(text, ATTN_WEIGHT_ARRAY_NAME_SIZE, "%s.%d.%s",
                 walk->stack[0] != '\0' ? walk->stack : "blocks", has_pairs ? block / 2 : block,
                 own);
}

/* Rows of one struct. */
struct rows {
    const struct row *items; /* [n] */
    size_t n;
    const void *of; /* the struct */
    const char *prefix;
};

/* Visits the weights of ROWS in BLOCK. Returns whether to stop. */
static bool visit_rows(struct walk *walk, const struct rows *rows, int block)
{
    const struct attn_model *model = walk->model;

    for (size_t i = 0; i < rows->n; i++) {
        walk->found.form = rows->items[i].form;
        walk->found.weight = (const char *)rows->of + rows->items[i].offset;
        walk->found.first_row =
            walk->found.weight == &model->weights.positions ? model->config.first_position : 0;
        if (!measure(walk))
            continue;
        write_name(walk, block, rows->prefix, rows->items[i].name);
        if (walk->visit(walk->user, &walk->found))
            return true;
    }
    return false;
}

static bool visit_layer(struct walk *walk, int layer)
{
    const struct attn_block_weights *block = &walk->model->weights.blocks[layer];
    const struct rows first = {attention, N_ROW(attention), block, ""};
    const struct rows second = {mlp, N_ROW(mlp), block, ""};
    char prefix[40];

    if (visit_rows(walk, &first, layer) || visit_rows(walk, &second, layer))
        return true;
    for (size_t i = 0; block->experts && i < walk->model->config.n_expert; i++) {
        const struct rows rows = {expert, N_ROW(expert), &block->experts[i], prefix};

        snprintf(prefix, sizeof prefix, "mlp.experts.%zu.", i);
        walk->found.block = block;
        walk->found.expert = i;
        if (visit_rows(walk, &rows, layer))
            return true;
    }
    walk->found.block = NULL;
    return false;
}

/* Visits the weights of MODEL, those of its encoder first. Returns whether VISIT stopped it. */
static bool visit_weights(const struct attn_model *model, const char *stack, visit_fn *visit,
                          void *user)
{
    struct walk walk = {.model = model, .stack = stack, .visit = visit, .user = user};
    const struct rows first = {before, N_ROW(before), &model->weights, ""};
    const struct rows last = {after, N_ROW(after), &model->weights, ""};

    if (visit_rows(&walk, &first, ATTN_NO_LAYER))
        return true;
    for (int layer = 0; layer < (int)model->config.n_layer; layer++)
        if (visit_layer(&walk, layer))
            return true;
    return visit_rows(&walk, &last, ATTN_NO_LAYER);
}

static bool visit_stacks(const struct attn_model *model, visit_fn *visit, void *user)
{
    if (!model->encoder)
        return visit_weights(model, "", visit, user);
    return visit_weights(model->encoder, "encoder", visit, user) ||
           visit_weights(model, "decoder", visit, user);
}

struct listing {
    struct attn_weight_array *arrays; /* [n]; NULL: they are only counted */
    size_t n;
};

static bool append(void *user, const struct found *found)
{
    struct listing *listing = user;

    if (listing->arrays)
        listing->arrays[listing->n] = found->array;
    listing->n++;
    return false;
}

enum attn_status attn_model_weights_create(const struct attn_model *model,
                                           struct attn_weight_array **weights, size_t *n,
                                           struct attn_error *err)
{
    struct listing listing = {0};

    ATTN_NEED(err, model, weights, n);
    visit_stacks(model, append, &listing);
    ATTN_TRY(ATTN_ALLOC(listing.arrays, listing.n, err));
    listing.n = 0;
    visit_stacks(model, append, &listing);
    *weights = listing.arrays;
    *n = listing.n;
    return ATTN_OK;
}

void attn_model_weights_free(struct attn_weight_array *weights)
{
    attn_free(weights);
}

struct reading {
    const char *name;
    struct found found;
};

static bool is_named(void *user, const struct found *found)
{
    struct reading *reading = user;

    if (strcmp(found->array.name, reading->name) != 0)
        return false;
    reading->found = *found;
    return true;
}

/* Reads M [n_row, n_col] into VALUES, where column n of row k is at k * row + n / width * group + n
 * % width. */
static void read_matrix(const struct attn_matrix *m, size_t width, size_t row, size_t group,
                        float *column, float *values)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);
    const bool is_by_column = m->row_stride == 1;
    const size_t step = m->is_interleaved || m->col_stride != 1 ? 1 : m->group;

    for (size_t n = 0; is_by_column && n < m->n_col; n++) {
        const size_t at = attn_matrix_column_at(m, n);

        kernels->convert((const char *)m->data + attn_dtype_n_byte(m->dtype, at), m->dtype,
                         m->n_row, column);
        for (size_t k = 0; k < m->n_row; k++)
            values[k * row + n / width * group + n % width] = column[k];
    }
    for (size_t k = 0; !is_by_column && k < m->n_row; k++)
        for (size_t n = 0; n < m->n_col; n += step) {
            const size_t at = attn_matrix_column_at(m, n) + k * m->row_stride;

            kernels->convert((const char *)m->data + attn_dtype_n_byte(m->dtype, at), m->dtype,
                             step, column);
            for (size_t i = 0; i < step; i++)
                values[k * row + (n + i) / width * group + (n + i) % width] = column[i];
        }
}

static enum attn_status read_vector(const struct attn_vector *vector, float *values,
                                    struct attn_error *err)
{
    double *elements;

    ATTN_TRY(ATTN_ALLOC(elements, vector->n, err));
    attn_vector_elements(vector, 0, vector->n, elements);
    for (size_t i = 0; i < vector->n; i++)
        values[i] = (float)elements[i];
    attn_free(elements);
    return ATTN_OK;
}

static enum attn_status read(const struct found *found, float *values, struct attn_error *err)
{
    const struct attn_tensor *tensor = found->weight;
    const struct attn_matrix *m = found->weight;
    const size_t *shape = found->array.shape;
    const bool is_of_heads = found->form == OF_HEADS || found->form == OF_KEYS;
    const size_t width = is_of_heads ? shape[2] : m->n_col;
    float *column;

    if (found->form == VECTOR || found->form == BIAS_OF_HEADS || found->form == BIAS_OF_KEYS)
        return read_vector(found->weight, values, err);
    if (found->form == TENSOR) {
        const size_t first = found->first_row * shape[1];

        attn_kernels_find(ATTN_ISA_BEST)
            ->convert((const char *)tensor->data + attn_dtype_n_byte(tensor->dtype, first),
                      tensor->dtype, shape[0] * shape[1], values);
        return ATTN_OK;
    }
    ATTN_TRY(ATTN_ALLOC(column, m->n_row > m->n_col ? m->n_row : m->n_col, err));
    read_matrix(m, width, width, is_of_heads ? m->n_row * width : width, column, values);
    attn_free(column);
    return ATTN_OK;
}

/* Whether the weight NAME of MODEL is that of a norm which multiplies by 1 + w. */
static bool adds_one(const struct attn_model *model, const char *name)
{
    return attn_norm_adds_one(attn_model_config(model)->norm) && strlen(name) > 2 &&
           strcmp(name + strlen(name) - 2, ".w") == 0;
}

enum attn_status attn_model_weight_read(const struct attn_model *model, const char *name,
                                        float *values, struct attn_error *err)
{
    struct reading reading = {.name = name};

    ATTN_NEED(err, model, name, values);
    if (!visit_stacks(model, is_named, &reading))
        return attn_error_set(err, ATTN_INVALID, "'%s' has no weight '%s'",
                              attn_quote_string(attn_model_name(model)).text,
                              attn_quote_string(name).text);
    if (reading.found.block && reading.found.block->lazy &&
        reading.found.block->lazy->mxfp4[0].blocks)
        attn_weights_make_expert(reading.found.block, reading.found.expert, NULL);
    ATTN_TRY(attn_tensor_files_make(model->st, NULL, err));
    ATTN_TRY(read(&reading.found, values, err));
    /* only the weights of norms have names that end in .w */
    for (size_t i = 0; i < reading.found.array.shape[0] && adds_one(model, name); i++)
        values[i] += 1;
    return ATTN_OK;
}
