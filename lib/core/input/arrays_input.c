#include "input/arrays_input.h"

#include "base/text/escape.h"
#include "formats/tensor_files_internal.h"

bool attn_input_is_arrays(const struct attn_input *input)
{
    return input->q || input->k || input->v || input->scores;
}

/* Names the rank of an array, or one of its axes counted from the last: the axis is shape[rank -
 * value]. */
enum axis { RANK = 0, WIDTH = 1, ROWS = 2, HEADS = 3, BATCHES = 4 };

static size_t size_of(const struct attn_ndarray *array, enum axis axis)
{
    if (axis == RANK)
        return (size_t)array->rank;
    return (int)axis <= array->rank ? array->shape[array->rank - (int)axis] : 1;
}

/* Requires that axis_a of array a and axis_b of array b have the same size, if both are given.
 * `expected` ends the message. */
struct rule {
    const struct attn_ndarray *a;
    enum axis axis_a;
    const struct attn_ndarray *b;
    enum axis axis_b;
    const char *expected;
};

static enum attn_status check_rules(const struct rule *rules, size_t n, struct attn_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct attn_ndarray *a = rules[i].a, *b = rules[i].b;
        char shape_a[ATTN_SHAPE_TEXT_SIZE], shape_b[ATTN_SHAPE_TEXT_SIZE];

        if (a && b && size_of(a, rules[i].axis_a) != size_of(b, rules[i].axis_b))
            return attn_error_set(
                err, ATTN_INVALID, "'%s' has the shape %s and '%s' %s, expected %s",
                attn_quote_string(a->name).text, attn_shape_text(a->rank, a->shape, shape_a),
                attn_quote_string(b->name).text, attn_shape_text(b->rank, b->shape, shape_b),
                rules[i].expected);
    }
    return ATTN_OK;
}

/* Checks that the number of heads of KEYS divides that of QUERIES. */
static enum attn_status check_heads(const struct attn_ndarray *queries,
                                    const struct attn_ndarray *keys, struct attn_error *err)
{
    const size_t n_head = size_of(queries, HEADS), n_kv_head = size_of(keys, HEADS);

    if (n_head % n_kv_head == 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' has %zu heads and '%s' %zu, expected a number that divides %zu",
                          attn_quote_string(queries->name).text, n_head,
                          attn_quote_string(keys->name).text, n_kv_head, n_head);
}

/* Finds the sizes of queries, keys and values, or of scores with or without values. */
static enum attn_status fit(const struct attn_input *input, struct attn_arrays_sizes *sizes,
                            struct attn_error *err)
{
    const struct attn_ndarray *q = input->q, *k = input->k, *v = input->v, *scores = input->scores;
    const struct attn_ndarray *rows = scores ? scores : q, *heads = k ? k : v ? v : scores;
    const struct rule rules[] = {
        {rows, RANK, k, RANK, "as many dimensions"},
        {rows, RANK, v, RANK, "as many dimensions"},
        {rows, BATCHES, k, BATCHES, "as many batches"},
        {rows, BATCHES, v, BATCHES, "as many batches"},
        {q, WIDTH, k, WIDTH, "keys as wide as queries"},
        {k, HEADS, v, HEADS, "as many heads of keys and of values"},
        {k, ROWS, v, ROWS, "as many values as keys"},
        {scores, WIDTH, v, ROWS, "a value for each column of scores"},
    };

    ATTN_TRY(check_rules(rules, sizeof(rules) / sizeof(rules[0]), err));
    *sizes = (struct attn_arrays_sizes){
        .rank = rows->rank,
        .n_batch = size_of(rows, BATCHES),
        .n_head = size_of(rows, HEADS),
        .n_kv_head = size_of(heads, HEADS),
        .n_query = size_of(rows, ROWS),
        .n_key = scores ? size_of(scores, WIDTH) : size_of(k, ROWS),
        .d_head = scores ? 1 : size_of(q, WIDTH),
        .d_value = v ? size_of(v, WIDTH) : 0,
    };
    return check_heads(rows, heads, err);
}

enum attn_status attn_arrays_fit(const struct attn_input *input, struct attn_arrays_sizes *sizes,
                                 struct attn_error *err)
{
    const struct attn_ndarray *const arrays[] = {input->q, input->k, input->v, input->scores};

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const struct attn_ndarray *array = arrays[i];
        char shape[ATTN_SHAPE_TEXT_SIZE];

        if (array && (array->rank < 2 || array->rank > 4 || attn_ndarray_n_element(array) == 0))
            return attn_error_set(
                err, ATTN_INVALID,
                "'%s' has the shape %s, expected 2 to 4 dimensions, none of them 0",
                attn_quote_string(array->name).text,
                attn_shape_text(array->rank, array->shape, shape));
    }
    if (input->scores ? input->q || input->k : !input->q || !input->k || !input->v)
        return attn_error_set(err, ATTN_INVALID,
                              "expected the arrays q, k and v, or scores with or without v");
    return fit(input, sizes, err);
}

void attn_arrays_fill(const struct attn_input *input, const struct attn_arrays_sizes *sizes,
                      struct attn_attend_args *args)
{
    args->size = sizeof *args;
    args->n_head = sizes->n_batch * sizes->n_head;
    args->n_kv_head = sizes->n_batch * sizes->n_kv_head;
    args->n_query = sizes->n_query;
    args->n_key = sizes->n_key;
    args->d_head = sizes->d_head;
    args->d_value = sizes->d_value;
    args->q = input->q ? input->q->data : NULL;
    args->k = input->k ? input->k->data : NULL;
    args->v = input->v ? input->v->data : NULL;
    args->scores = input->scores ? input->scores->data : NULL;
}

struct attn_not_finite attn_arrays_not_finite(const struct attn_input *input)
{
    const struct attn_ndarray *const arrays[] = {input->q, input->k, input->v, input->scores};
    struct attn_not_finite all = {0};

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        bool is_new = arrays[i]; /* an array may be given twice */
        struct attn_not_finite found;

        for (size_t k = 0; k < i; k++)
            is_new = is_new && arrays[k] != arrays[i];
        if (!is_new)
            continue;
        found = attn_ndarray_not_finite(arrays[i]);
        all.n_nan += found.n_nan;
        all.n_above += found.n_above;
        all.n_below += arrays[i] != input->scores ? found.n_below : 0;
    }
    return all;
}
