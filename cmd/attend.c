/* attend.c - attn-cli attend: attention on arrays. */
#include "cmd/args/comparison.h"
#include "cmd/args/explain.h"
#include "cmd/args/label.h"
#include "cmd/args/request.h"
#include "cmd/args/tables.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"

#include <string.h>

/* Paths, or NULL. */
struct arrays_args {
    const char *q, *k, *v, *x, *scores, *keep;
};

struct attend_args {
    struct arrays_args arrays;
    const char *measures; /* NULL: not given */
    struct label_args labels;
    struct request_args request;
};

/* Those that were given; of --x alone q. */
struct attend_arrays {
    struct attn_ndarray q, k, v, scores;
};

static const struct option arrays_rows[] = {
    {.name = "q",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct arrays_args, q),
     .help = "the queries: [T, E], or [H, T, E] for H heads, or [B, H, T, E] for batches of "
             "them; float32, float64 or float16"},
    {.name = "k",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct arrays_args, k),
     .help = "the keys: any number of them, of the queries' width. There may be fewer heads of "
             "keys than of queries, if their number divides it"},
    {.name = "v",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct arrays_args, v),
     .help = "the values: one for each key, of any width"},
    {.name = "x",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct arrays_args, x),
     .help = "one array for queries, keys and values"},
    {.name = "scores",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct arrays_args, scores),
     .help = "the scores [T, S], [H, T, S] or [B, H, T, S] instead of queries and keys; without "
             "--v there is no z"},
    {.name = "keep",
     .argument = "FILE.npy",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct arrays_args, keep),
     .help = "which weights --dropout keeps (1) and which it drops (0), instead of a choice by "
             "--seed; an array with the axes of the scores"},
};

static const struct option_group arrays_options = OPTION_GROUP(arrays_rows);

static const struct option selection_rows[] = {
    {.name = "heads",
     .argument = "SPEC",
     .heading = "Selection",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct selection_args, heads),
     .help = "heads to keep, in every batch: 0,2-4 or 0-11+2; -1 is the last"},
    {.name = "queries",
     .argument = "SPEC",
     .heading = "Selection",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct selection_args, queries),
     .help = "queries to keep"},
    {.name = "sites",
     .argument = "LIST",
     .heading = "Selection",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct selection_args, sites),
     .help = "what to show, names or globs: qk, attn_scores, pattern, pattern_dropped, "
             "pattern_lowrank, z; default pattern,z"},
};

/* Arrays have no layers. */
static const struct option_group attend_selection_options = OPTION_GROUP(selection_rows);

static const struct option measures_rows[] = {
    {.name = "measures",
     .argument = "LIST",
     .heading = "Measures",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct attend_args, measures),
     .help = "instead of tensors, print a table of measures of each head, those of `attn-cli "
             "heads`: entropy,max or all; --csv, --json and --jsonl write it"},
};

static const struct option_group measures_options = OPTION_GROUP(measures_rows);

static const struct option_part parts[] = {
    {&arrays_options, offsetof(struct attend_args, arrays)},
    {&label_options, offsetof(struct attend_args, labels)},
    {&attention_options, offsetof(struct attend_args, request.attention)},
    {&comparison_options, offsetof(struct attend_args, request.is_compared)},
    {&attend_selection_options, offsetof(struct attend_args, request.selection)},
    {&measures_options, 0},
    {&view_options, offsetof(struct attend_args, request.picture)},
    {&output_options, offsetof(struct attend_args, request.output)},
    {&explain_options, offsetof(struct attend_args, request.is_explained)},
    {&picture_options, offsetof(struct attend_args, request.picture)},
    {&running_options, offsetof(struct attend_args, request.running)},
    {&help_options, 0},
};

static int attend_main(int argc, char **argv);

const struct command command_attend = {
    .name = "attend",
    .summary = "attention of arrays (.npy), without a model",
    .usage = "[OPTIONS] --q FILE --k FILE --v FILE",
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
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = attend_main,
};

static int check_arrays(const struct arrays_args *args)
{
    static const char example[] = "attn-cli attend --q q.npy --k k.npy --v v.npy";
    if (!args->x && !args->scores && !args->q && !args->k && !args->v)
        return report_problem(EXIT_USAGE, example, "no arrays given");
    if (args->x && (args->q || args->k || args->v || args->scores))
        return report_problem(
            EXIT_USAGE, NULL,
            "--x stands for --q, --k and --v: it does not go together with them or with --scores");
    if (args->scores && (args->q || args->k))
        return report_problem(EXIT_USAGE, NULL,
                              "--scores replaces --q and --k: they do not go together");
    if (!args->x && !args->scores && (!args->q || !args->k || !args->v))
        return report_problem(EXIT_USAGE, example, "--%s is missing",
                              !args->q   ? "q"
                              : !args->k ? "k"
                                         : "v");
    return EXIT_DONE;
}

/* Options that have nothing to act on. */
static int check_use(const struct attend_args *args)
{
    const struct attention_args *attention = &args->request.attention;
    const char *unused = attention->similarity >= 0 ? "similarity"
                         : attention->scale >= 0    ? "scale"
                         : attention->eps >= 0      ? "eps"
                                                    : NULL;
    if (args->arrays.scores && unused)
        return report_problem(EXIT_USAGE, NULL,
                              "--%s changes how scores are computed, and --scores gives them",
                              unused);
    if (args->arrays.keep && attention->dropout < 0)
        return report_problem(EXIT_USAGE,
                              "with --dropout 0 the weights that stay are not divided by 1-P",
                              "--keep needs --dropout, whose choice it replaces");
    if (args->arrays.keep && attention->seed >= 0)
        return report_problem(
            EXIT_USAGE, NULL,
            "--keep and --seed do not go together: each chooses the weights that stay");
    return EXIT_DONE;
}

/* Reads PATH into ARRAY, unless it is NULL; then *given points to it. */
static enum attn_status read_array(const char *path, const char *axes, struct attn_ndarray *array,
                                   const struct attn_ndarray **given, struct attn_error *err)
{
    if (path)
        *given = array;
    return path ? attn_ndarray_read(path, 2, 4, axes, array, err) : ATTN_OK;
}

static int read_arrays(const struct arrays_args *args, struct attend_arrays *arrays,
                       struct attn_input *input)
{
    static const char axes[] = "[T, E], [H, T, E] or [B, H, T, E]";
    static const char axes_of_scores[] = "[T, S], [H, T, S] or [B, H, T, S]";
    struct attn_error err = {0};
    enum attn_status status =
        read_array(args->x ? args->x : args->q, axes, &arrays->q, &input->q, &err);
    if (status == ATTN_OK)
        status = read_array(args->k, axes, &arrays->k, &input->k, &err);
    if (status == ATTN_OK)
        status = read_array(args->scores, axes_of_scores, &arrays->scores, &input->scores, &err);
    if (status == ATTN_OK)
        status = read_array(args->v, axes, &arrays->v, &input->v, &err);
    if (args->x)
        input->k = input->v = input->q;
    return status == ATTN_OK ? EXIT_DONE : report(&err, EXIT_INPUT);
}

/* --- Measures --------------------------------------------------------------------------------- */

static const char *const table_formats[] = {"csv", "json", "jsonl"};

static int refuse_beside_measures(const char *name)
{
    return report_problem(EXIT_USAGE, NULL,
                          "--measures and --%s do not go together: measures are text, --csv, "
                          "--json or --jsonl",
                          name);
}

static bool is_refused(const char *name)
{
    static const char *const refused[] = {"sites",      "compare",     "explain",    "heatmap",
                                          "hide-first", "renormalize", "merge-words"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (strcmp(name, refused[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof(table_formats) / sizeof(table_formats[0]); i++)
        if (strcmp(name, table_formats[i]) == 0)
            return false;
    return attn_format_find(name);
}

/* Reads the list of measures, and refuses what shows something else. */
static int check_measures(const struct attend_args *args, const struct served *served,
                          attn_measure_set *measures)
{
    struct attn_error err = {0};
    if (!args->measures)
        return EXIT_DONE;
    if (attn_measures_parse(args->measures, measures, &err) != ATTN_OK)
        return report(&err, EXIT_USAGE);
    for (struct option_walk walk = {.command = served->command}; option_next(&walk);)
        if (served->given[walk.n - 1] && walk.option.name && is_refused(walk.option.name))
            return refuse_beside_measures(walk.option.name);
    return EXIT_DONE;
}

/* Computes the pattern and writes the table of its heads. */
static int measure(struct served *served, attn_measure_set measures)
{
    const struct output_args *output = &served->args->output;
    struct tables_args tables = {.precision = output->precision};
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    int code = EXIT_DONE;
    for (size_t i = 0; i < sizeof(table_formats) / sizeof(table_formats[0]); i++)
        tables.paths[i] = output_path(output, table_formats[i]);
    served->request.selection.sites = "pattern";
    served->request.outputs.n = 0; /* of tensors */
    if (attn_run_prepare(served->host, &served->request, &served->run, &err) != ATTN_OK ||
        attn_head_measures(served->run, measures, &table, &err) != ATTN_OK)
        code = report_error(&err);
    if (code == EXIT_DONE)
        code = tables_write(&tables, table, NULL, served->out);
    attn_table_free(table);
    return code;
}

static int perform(const struct attend_args *args, struct served *served)
{
    attn_measure_set measures = 0;
    struct attend_arrays arrays = {0};
    struct label_files labels = {0};
    int code = check_arrays(&args->arrays);
    if (code == EXIT_DONE)
        code = check_use(args);
    if (code == EXIT_DONE)
        code = request_check(served);
    if (code == EXIT_DONE)
        code = check_measures(args, served, &measures);
    if (code == EXIT_DONE && !args->request.is_compared && !measures)
        code = outputs_check_tables(&args->request.output);
    if (code == EXIT_DONE)
        code = request_open_host(served, NULL, ATTN_READ, ATTN_COMPUTE_F32);
    if (code == EXIT_DONE)
        code = read_arrays(&args->arrays, &arrays, &served->request.input);
    if (code == EXIT_DONE)
        code = label_files_read(&args->labels, &labels, &served->request);
    if (code == EXIT_DONE)
        code = request_fill(served, args->arrays.keep);
    if (code == EXIT_DONE)
        code = measures ? measure(served, measures) : request_serve(served);
    request_release(served);
    attn_ndarray_release(&arrays.q);
    attn_ndarray_release(&arrays.k);
    attn_ndarray_release(&arrays.v);
    attn_ndarray_release(&arrays.scores);
    label_files_release(&labels);
    return code;
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

static int attend_main(int argc, char **argv)
{
    struct attend_args args = {.request = REQUEST_ARGS_DEFAULT};
    struct served served = {.command = &command_attend, .args = &args.request};
    int code = request_parse(&served, argc, argv, &args);
    if (served.out && !request_print_help(&served, print_sites))
        code = perform(&args, &served);
    return request_close(&served, code);
}
