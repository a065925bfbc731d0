/* attend_inputs.c - reads the arrays of `attend`, and says how two of them do not fit. */
#include "attend_inputs.h"

#include "command.h"
#include "report.h"

static const struct option attend_input_rows[] = {
    {.name = "q",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct input_args, q),
     .help = "the queries: [T, E], or [H, T, E] for H heads, or [B, H, T, E] for batches of "
             "them; float32, float64 or float16"},
    {.name = "k",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct input_args, k),
     .help = "the keys: any number of them, as wide as the queries; their heads may be fewer "
             "than those of the queries, if they divide them"},
    {.name = "v",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct input_args, v),
     .help = "the values: one for each key, of any width"},
    {.name = "x",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct input_args, x),
     .help = "one array for all three"},
    {.name = "scores",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct input_args, scores),
     .help = "the scores [T, S], [H, T, S] or [B, H, T, S] in place of queries and keys; "
             "without --v there is no z"},
    {.name = "keep",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct input_args, keep),
     .help = "which weights --dropout leaves, 1, and which it drops, 0, in place of its own "
             "choice; axes as of the scores"},
};

const struct option_group attend_input_options = OPTION_GROUP(attend_input_rows);

int attend_inputs_check(const struct input_args *args)
{
    static const char example[] = "attn-cli attend --q q.npy --k k.npy --v v.npy";
    if (!args->x && !args->scores && !args->q && !args->k && !args->v)
        return report_problem(EXIT_USAGE, example, "no arrays given");
    if (args->x && (args->q || args->k || args->v || args->scores))
        return report_problem(EXIT_USAGE, NULL,
                              "--x stands for --q, --k and --v and goes with none of them, nor "
                              "with --scores");
    if (args->scores && (args->q || args->k))
        return report_problem(EXIT_USAGE, NULL, "--scores takes the place of --q and --k");
    if (!args->x && !args->scores && (!args->q || !args->k || !args->v))
        return report_problem(EXIT_USAGE, example, "--%s is missing",
                              !args->q   ? "q"
                              : !args->k ? "k"
                                         : "v");
    return EXIT_DONE;
}

/* The sizes of an array by their place from the end, and its rank. */
enum axis { RANK = 0, WIDTH = 1, ROWS = 2, HEADS = 3, BATCHES = 4 };

static size_t size_of(const struct array *array, enum axis axis)
{
    if (axis == RANK)
        return (size_t)array->rank;
    return (int)axis <= array->rank ? array->shape[array->rank - (int)axis] : 1;
}

/* Two sizes that must be the same. */
struct rule {
    const struct array *a;
    enum axis axis_a;
    const struct array *b;
    enum axis axis_b;
    const char *expected;
};

static int check_rules(const struct rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct rule *rule = &rules[i];
        if (size_of(rule->a, rule->axis_a) != size_of(rule->b, rule->axis_b))
            return report_problem(EXIT_INPUT, NULL,
                                  "'%s' has the shape %s and '%s' %s, expected %s", rule->a->path,
                                  array_shape(rule->a).text, rule->b->path,
                                  array_shape(rule->b).text, rule->expected);
    }
    return EXIT_DONE;
}

/* Whether the heads of FIRST can share those of SHARED. */
static int check_heads(const struct array *first, const struct array *shared)
{
    size_t n_head = size_of(first, HEADS), n_kv_head = size_of(shared, HEADS);
    if (n_head % n_kv_head == 0)
        return EXIT_DONE;
    return report_problem(EXIT_INPUT, NULL,
                          "'%s' has %zu heads and '%s' %zu, expected a number that divides %zu",
                          first->path, n_head, shared->path, n_kv_head, n_head);
}

static int find_sizes(struct attend_inputs *inputs)
{
    const struct array *q = &inputs->q, *v = inputs->v.rank ? &inputs->v : q;
    const struct array *k = inputs->k.rank ? &inputs->k : q;
    const struct rule rules[] = {
        {q, RANK, k, RANK, "as many dimensions"},
        {q, RANK, v, RANK, "as many dimensions"},
        {q, BATCHES, k, BATCHES, "as many batches"},
        {q, BATCHES, v, BATCHES, "as many batches"},
        {q, WIDTH, k, WIDTH, "keys as wide as queries"},
        {k, HEADS, v, HEADS, "as many heads of keys and of values"},
        {k, ROWS, v, ROWS, "as many values as keys"},
    };
    int code = check_rules(rules, sizeof(rules) / sizeof(rules[0]));
    inputs->sizes = (struct input_sizes){
        .rank = q->rank,
        .n_batch = size_of(q, BATCHES),
        .n_head = size_of(q, HEADS),
        .n_kv_head = size_of(k, HEADS),
        .n_query = size_of(q, ROWS),
        .n_key = size_of(k, ROWS),
        .d_head = size_of(q, WIDTH),
        .d_value = size_of(v, WIDTH),
    };
    return code == EXIT_DONE ? check_heads(q, k) : code;
}

static int find_sizes_of_scores(struct attend_inputs *inputs)
{
    const struct array *scores = &inputs->scores, *v = &inputs->v;
    const struct rule rules[] = {
        {scores, RANK, v, RANK, "as many dimensions"},
        {scores, BATCHES, v, BATCHES, "as many batches"},
        {scores, WIDTH, v, ROWS, "a value for each column of scores"},
    };
    inputs->sizes = (struct input_sizes){
        .rank = scores->rank,
        .n_batch = size_of(scores, BATCHES),
        .n_head = size_of(scores, HEADS),
        .n_kv_head = size_of(v->rank ? v : scores, HEADS),
        .n_query = size_of(scores, ROWS),
        .n_key = size_of(scores, WIDTH),
        .d_head = 1,
        .d_value = v->rank ? size_of(v, WIDTH) : 0,
    };
    if (!v->rank)
        return EXIT_DONE;
    int code = check_rules(rules, sizeof(rules) / sizeof(rules[0]));
    return code == EXIT_DONE ? check_heads(scores, v) : code;
}

int attend_inputs_read(const struct input_args *args, struct attend_inputs *inputs)
{
    static const char axes[] = "[T, E], [H, T, E] or [B, H, T, E]";
    static const char axes_of_scores[] = "[T, S], [H, T, S] or [B, H, T, S]";
    int code = EXIT_DONE;
    if (args->q || args->x)
        code = array_read(args->x ? args->x : args->q, 2, 4, axes, &inputs->q);
    if (code == EXIT_DONE && args->k)
        code = array_read(args->k, 2, 4, axes, &inputs->k);
    if (code == EXIT_DONE && args->scores)
        code = array_read(args->scores, 2, 4, axes_of_scores, &inputs->scores);
    if (code == EXIT_DONE && args->v)
        code = array_read(args->v, 2, 4, axes, &inputs->v);
    if (code != EXIT_DONE)
        return code;
    return args->scores ? find_sizes_of_scores(inputs) : find_sizes(inputs);
}

void attend_inputs_fill(const struct attend_inputs *inputs, struct attn_attend_args *args)
{
    const struct input_sizes *sizes = &inputs->sizes;
    const float *x = inputs->k.rank ? NULL : inputs->q.data; /* for all three */
    args->n_head = sizes->n_batch * sizes->n_head;
    args->n_kv_head = sizes->n_batch * sizes->n_kv_head;
    args->n_query = sizes->n_query;
    args->n_key = sizes->n_key;
    args->d_head = sizes->d_head;
    args->d_value = sizes->d_value;
    args->q = inputs->q.data;
    args->k = x ? x : inputs->k.data;
    args->v = x ? x : inputs->v.data;
    args->scores = inputs->scores.data;
}

size_t attend_inputs_n_nan(const struct attend_inputs *inputs)
{
    return array_n_nan(&inputs->q) + array_n_nan(&inputs->k) + array_n_nan(&inputs->v) +
           array_n_nan(&inputs->scores);
}

bool attend_inputs_are_finite(const struct attend_inputs *inputs)
{
    return array_is_finite(&inputs->q) && array_is_finite(&inputs->k) &&
           array_is_finite(&inputs->v) && array_is_finite(&inputs->scores);
}

void attend_inputs_release(struct attend_inputs *inputs)
{
    array_release(&inputs->q);
    array_release(&inputs->k);
    array_release(&inputs->v);
    array_release(&inputs->scores);
}
