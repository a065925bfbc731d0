/* attend.c - attn-cli attend: computes attention from arrays. */
#include "cmd/args/request.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* Paths of the arrays; NULL: not given. */
struct arrays_args {
    const char *q, *k, *v, *x, *scores;
};

/* Paths of files with the names of queries and keys, one per line; NULL: not given. */
struct label_args {
    const char *queries, *keys;
};

struct attend_args {
    struct question_args asked;
    struct arrays_args arrays;
    struct label_args labels;
};

/* The lines of a file with labels. */
struct label_file {
    struct text text;
    const char **items; /* owned; [list.n] the start of each line in the text */
    size_t *sizes;      /* owned; [list.n] the length of each line */
};

/* The arrays that were read. With --x there is only `q`. */
struct attend_arrays {
    struct attn_ndarray q, k, v, scores;
    struct label_file query_labels, key_labels;
};

static const struct attn_param arrays_rows[] = {
    ATTN_PARAM(TEXT, "q", "FILE.npy", struct arrays_args, q,
               "the queries: [T, E], or [H, T, E] for H heads, or [B, H, T, E] for batches of "
               "them; float32, float64 or float16"),
    ATTN_PARAM(TEXT, "k", "FILE.npy", struct arrays_args, k,
               "the keys: any number of them, of the queries' width. There may be fewer heads "
               "of keys than of queries, if their number divides it"),
    ATTN_PARAM(TEXT, "v", "FILE.npy", struct arrays_args, v,
               "the values: one for each key, of any width"),
    ATTN_PARAM(TEXT, "x", "FILE.npy", struct arrays_args, x,
               "one array for queries, keys and values"),
    ATTN_PARAM(TEXT, "scores", "FILE.npy", struct arrays_args, scores,
               "the scores [T, S], [H, T, S] or [B, H, T, S] instead of queries and keys; "
               "without --v there is no z"),
};

static const struct attn_param measures_rows[] = {
    ATTN_PARAM_KEPT(
        TEXT, "measures", "LIST",
        "instead of tensors, print a table of measures of each head, those of `attn-cli "
        "heads`: entropy,max or all; --csv, --json and --jsonl write it"),
};

static const struct attn_param label_rows[] = {
    ATTN_PARAM(TEXT, "query-labels", "FILE", struct label_args, queries,
               "names of the queries, one per line; default: numbers"),
    ATTN_PARAM(TEXT, "key-labels", "FILE", struct label_args, keys,
               "names of the keys, one per line"),
};

static const struct attn_param_part parts[] = {
    {OPTION_LIST("Input", arrays_rows), offsetof(struct attend_args, arrays)},
    QUESTION_PART(attn_array_dropout_params, attention),
    {OPTION_LIST("Input", label_rows), offsetof(struct attend_args, labels)},
    QUESTION_PART(attn_attention_params, attention),
    QUESTION_PART(attn_dropout_params, attention),
    QUESTION_PART(attn_array_selection_params, prompt.asked),
    {OPTION_LIST("Measures", measures_rows), 0},
    QUESTION_PART(attn_table_order_params, tables.order),
    QUESTION_PART(attn_view_params, tables.picture.options),
    OUTPUT_OPTIONS(offsetof(struct question_args, tables.output)),
    {&explain_options, 0},
    QUESTION_TENSOR_PICTURES,
    QUESTION_PART(running_options, running),
};

static enum attn_status check_arrays(const struct arrays_args *args, struct attn_error *err)
{
    static const char example[] = "attn-cli attend --q q.npy --k k.npy --v v.npy";

    if (!args->x && !args->scores && !args->q && !args->k && !args->v)
        return refuse(err, example, "no arrays given");
    if (args->x && (args->q || args->k || args->v || args->scores))
        return refuse(
            err, NULL,
            "`x` stands for `q`, `k` and `v`: it does not go together with them or with `scores`");
    if (args->scores && (args->q || args->k))
        return refuse(err, NULL, "`scores` replaces `q` and `k`: they do not go together");
    if (!args->x && !args->scores && (!args->q || !args->k || !args->v))
        return refuse(err, example, "`%s` is missing", !args->q ? "q" : !args->k ? "k" : "v");
    return ATTN_OK;
}

/* Refuses options that would have no effect. */
static enum attn_status check_use(const struct call *call, struct attn_error *err)
{
    const struct attend_args *args = call->args;
    const bool has_dropout = option_text(call, "dropout") != NULL;
    const char *unused = option_find_given(call, "similarity|scale|eps");

    if (args->arrays.scores && unused)
        return refuse(err, NULL, "`%s` changes how scores are computed, and `scores` gives them",
                      unused);
    if (args->asked.attention.keep && !has_dropout)
        return refuse(err,
                      "with --attention dropout=0 the weights that stay are not divided by 1-P",
                      "`keep` needs `dropout`, whose choice it replaces");
    if (args->asked.attention.keep &&
        (args->asked.attention.change.parts & ATTN_PART_DROPOUT_SEED) != 0)
        return refuse(err, "--attention dropout=P",
                      "`keep` and a seed do not go together: each chooses the weights that stay");
    if (has_dropout &&
        (option_text(call, "measures") ||
         (!args->arrays.v && !args->arrays.x && !args->asked.prompt.asked.selection.sites)))
        return refuse(err,
                      option_text(call, "measures")
                          ? "--sites pattern_dropped instead of --measures shows those that stay"
                          : "--sites pattern_dropped shows the weights that stay",
                      "`dropout` changes z and pattern_dropped, and neither is shown");
    return ATTN_OK;
}

/* Reads PATH into ARRAY and sets *given to it. Does nothing if PATH is NULL. */
static enum attn_status read_array(const char *path, const char *axes, struct attn_ndarray *array,
                                   const struct attn_ndarray **given, struct attn_error *err)
{
    if (!path)
        return ATTN_OK;
    *given = array;
    return at_stage(ATTN_STAGE_INPUT, attn_ndarray_read(path, 2, 4, axes, array, err), err);
}

static enum attn_status read_arrays(const struct arrays_args *args, struct attend_arrays *arrays,
                                    struct attn_input *input, struct attn_error *err)
{
    static const char axes[] = "[T, E], [H, T, E] or [B, H, T, E]";
    static const char axes_of_scores[] = "[T, S], [H, T, S] or [B, H, T, S]";

    ATTN_TRY(read_array(args->x ? args->x : args->q, axes, &arrays->q, &input->q, err));
    ATTN_TRY(read_array(args->k, axes, &arrays->k, &input->k, err));
    ATTN_TRY(read_array(args->scores, axes_of_scores, &arrays->scores, &input->scores, err));
    ATTN_TRY(read_array(args->v, axes, &arrays->v, &input->v, err));
    if (args->x)
        input->k = input->v = input->q;
    return ATTN_OK;
}

/* Reads the lines of PATH into FILE; LIST borrows them. Does nothing if PATH is NULL. */
static enum attn_status read_labels(const char *path, struct label_file *file,
                                    struct attn_label_list *list, struct attn_error *err)
{
    const struct prompt_args args = {.file = path, .is_raw = true};
    const char *at, *end;
    size_t n = 0;

    if (!path)
        return ATTN_OK;
    ATTN_TRY(prompt_read(&args, &file->text, err));
    end = file->text.data + file->text.size;
    for (at = file->text.data; at < end; at++)
        n += *at == '\n' || at + 1 == end;
    ATTN_TRY(ALLOCATE(file->items, n + 1, err));
    ATTN_TRY(ALLOCATE(file->sizes, n + 1, err));
    at = file->text.data;
    for (size_t i = 0; at < end; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)((stop ? stop : end) - at);

        file->items[i] = at;
        file->sizes[i] = size > 0 && at[size - 1] == '\r' ? size - 1 : size;
        at += size + 1;
    }
    *list = (struct attn_label_list){file->items, file->sizes, n, path};
    return ATTN_OK;
}

static void release_labels(struct label_file *file)
{
    text_release(&file->text);
    free(file->items);
    free(file->sizes);
}

static void release_arrays(void *own)
{
    struct attend_arrays *arrays = own;

    attn_ndarray_release(&arrays->q);
    attn_ndarray_release(&arrays->k);
    attn_ndarray_release(&arrays->v);
    attn_ndarray_release(&arrays->scores);
    release_labels(&arrays->query_labels);
    release_labels(&arrays->key_labels);
}

/* --- Measures --------------------------------------------------------------------------------- */

/* Parses the list of measures, and refuses options that show something other than measures. */
static enum attn_status check_measures(const char *list, const struct call *call,
                                       attn_measure_set *measures, struct attn_error *err)
{
    static const char others[] = "sites|explain|heatmap|hide|renormalize|merge-words";
    struct option_walk walk = {.command = call->command};

    ATTN_TRY(at_stage(ATTN_STAGE_OPTIONS, attn_measures_parse(list, measures, err), err));
    while (option_next(&walk)) {
        const char *name = call->given[walk.n - 1] ? walk.name : NULL;

        if (name && (word_find(others, name) >= 0 ||
                     (attn_format_find(name) && !attn_format_find(name)->has_tables)))
            return refuse(err, NULL,
                          "`measures` and `%s` do not go together: measures are text, `csv`, "
                          "`json`, `jsonl`, `latex` or `markdown`",
                          name);
    }
    return ATTN_OK;
}

/* Computes the pattern, and writes the table with the measures of its heads. */
static enum attn_status measure(struct question *question, attn_measure_set measures,
                                struct attn_error *err)
{
    const struct tables_args *tables = &question->args->tables;
    struct attn_table *table = NULL;
    enum attn_status status;

    question->request.selection.sites = "pattern";
    question->request.outputs.n = 0; /* no tensors are written */
    ATTN_TRY(attn_run_prepare(question->host, &question->request, &question->tensors.run, err));
    ATTN_TRY(attn_head_measures(question->tensors.run, measures, &table, err));
    status = tables_sort(tables, &table, err);
    ATTN_THEN(status, tables_write(tables, table, &(struct attn_table_picture){.model = NULL}, 0,
                                   question->call->out, err));
    attn_table_free(table);
    return status;
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    static const struct model_args none = {.load = ATTN_READ, .compute = ATTN_COMPUTE_F32};
    const struct attend_args *args = question->call->args;
    const struct question_args *asked = question->args;
    const char *listed = option_text(question->call, "measures");
    struct attend_arrays *arrays = question->own;
    attn_measure_set measures = 0;

    ATTN_TRY(check_arrays(&args->arrays, err));
    ATTN_TRY(check_use(question->call, err));
    if (listed)
        question->tensors.shown = ATTN_MEDIUM_TABLE;
    ATTN_TRY(request_check(question, err));
    if (!listed && tables_are_chosen(&asked->tables))
        return refuse(err, NULL, "`sort`, `limit`, `where` and `columns` need `measures`");
    if (listed)
        ATTN_TRY(check_measures(listed, question->call, &measures, err));
    if (!measures)
        ATTN_TRY(outputs_check_tables(&asked->tables.output, "`measures` makes tables", err));
    ATTN_TRY(model_host_open(NULL, &none, &asked->running, false, &question->host, err));
    ATTN_TRY(read_arrays(&args->arrays, arrays, &question->request.input, err));
    ATTN_TRY(read_labels(args->labels.queries, &arrays->query_labels,
                         &question->request.reading.query_labels, err));
    ATTN_TRY(read_labels(args->labels.keys, &arrays->key_labels,
                         &question->request.reading.key_labels, err));
    ATTN_TRY(request_fill(question, err));
    return measures ? measure(question, measures, err) : request_serve(question, err);
}

static void print_sites(struct attn_sink *out)
{
    print_text(
        out, "site             shape\n"
             "qk               H T S   the products of queries and keys\n"
             "attn_scores      H T S   scaled and masked\n"
             "pattern          H T S   the weights\n"
             "pattern_dropped  H T S   what dropout leaves of them\n"
             "pattern_lowrank  H T R   the weights of low-rank attention, over R mixtures of keys\n"
             "z                H T Ev  the weights times the values\n"
             "\nH heads, T queries, S keys, Ev components of a value. Arrays without heads give\n"
             "T S, batches of them B H T S. 'attention' means pattern, 'context' means z.\n");
}

const struct command command_attend = {
    .name = "attend",
    .summary = "attention of arrays (.npy), without a model",
    .usage = "[OPTIONS] --q FILE --k FILE --v FILE",
    .ways = "--explain, --measures all",
    .description =
        "Computes softmax(q k^T / sqrt(E)) v of arrays that numpy wrote, and shows the\n"
        "weights and the context vectors, as text or in the files that options name. The\n"
        "output has the axes of the input: pattern [H, T, S], z [H, T, Ev].\n"
        "\n"
        "A weight says how much of a row of v goes into z. It does not say how much of z\n"
        "comes from there: that depends on the length of the row, too.\n",
    .examples =
        "  attn-cli run --sites q,k,v --layers 0 --npy life \"Life is short, eat dessert\"\n"
        "  attn-cli attend --x life/blocks.0.attn.hook_q.npy --mask causal --heads 0\n"
        "  attn-cli attend --x x.npy --mask causal --npz out.npz\n"
        "  attn-cli attend --scores scores.npy --csv -\n"
        "  attn-cli attend --x x.npy --mask causal --measures entropy,previous\n"
        "  attn-cli attend --q q.npy --k k.npy --v v.npy --heads 3 --queries -1\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct attend_args),
    .defaults = &(const struct attend_args){.asked = QUESTION_ARGS_DEFAULT},
    .ask = work,
    .print_sites = print_sites,
    .own_size = sizeof(struct attend_arrays),
    .release = release_arrays,
};
