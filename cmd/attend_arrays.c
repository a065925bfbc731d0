/*
 * attend_arrays.c - attn-cli attend: attention on arrays.
 *
 * Like run, a list of steps over one struct that holds everything. Arrays of all batches are one
 * list of heads to the library; the writers give them their axes back.
 */
#include "attend_inputs.h"
#include "attention_args.h"
#include "command.h"
#include "comparison.h"
#include "explain.h"
#include "help.h"
#include "interrupt.h"
#include "mask_file.h"
#include "options.h"
#include "outputs.h"
#include "print.h"
#include "report.h"
#include "running_args.h"
#include "selection_args.h"

#include "attn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attend_args {
    struct input_args input;
    struct attention_args attention;
    struct selection_args selection;
    struct output_args output;
    bool has_page; /* --explain */
    bool is_compared;
    struct running_args running;
};

struct attend {
    struct attend_args args;
    const char **given; /* [options_count] the text of each value, or NULL */
    struct attn_sink *out;
    struct attend_inputs inputs;
    unsigned char *mask, *keep; /* cells of the files, owned; NULL without them */
    struct attn_attend_args attend;
    size_t n_not_finite; /* rows of what was computed that are not all numbers */
    char *heads;         /* the value of --heads for the list of all batches' heads; owned */
    struct attn_selection *selection;
    struct attn_option *shaping; /* options that shape the run, for outputs that tell them */
    struct attn_array_axes axes;
    struct attn_labels labels;
    struct outputs outputs;
    struct explain explain;
    struct attn_trace trace;
    struct attn_pool *pool;
    struct stopwatch watch;
};

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
     .help = "queries whose rows to keep"},
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

static const struct option_part parts[] = {
    {&attend_input_options, offsetof(struct attend_args, input)},
    {&attention_options, offsetof(struct attend_args, attention)},
    {&comparison_options, offsetof(struct attend_args, is_compared)},
    {&attend_selection_options, offsetof(struct attend_args, selection)},
    {&output_options, offsetof(struct attend_args, output)},
    {&explain_options, offsetof(struct attend_args, has_page)},
    {&running_options, offsetof(struct attend_args, running)},
    {&help_options, 0},
};

static int attend_main(int argc, char **argv);

const struct command command_attend = {
    .name = "attend",
    .summary = "attention on arrays (.npy) instead of text",
    .usage = "[OPTIONS] --q FILE --k FILE --v FILE",
    .description =
        "Computes softmax(q k^T / sqrt(E)) v of arrays that numpy wrote, and shows the\n"
        "weights and the context vectors, as text or in the files that are asked for.\n"
        "What comes out has the axes of what goes in: pattern [H, T, S], z [H, T, Ev].\n",
    .examples = "  attn-cli attend --q q.npy --k k.npy --v v.npy\n"
                "  attn-cli attend --x x.npy --mask causal --npz out.npz\n"
                "  attn-cli attend --scores scores.npy --csv -\n"
                "  attn-cli attend --q q.npy --k k.npy --v v.npy --heads 3 --queries -1\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = attend_main,
};

/* Options that have nothing to act on. */
static int check_use(const struct attend_args *args)
{
    const struct attention_args *attention = &args->attention;
    const char *unused = attention->similarity >= 0 ? "similarity"
                         : attention->scale >= 0    ? "scale"
                         : attention->eps >= 0      ? "eps"
                                                    : NULL;
    if (args->input.scores && unused)
        return report_problem(EXIT_USAGE, NULL,
                              "--%s says how scores are made, which --scores gives", unused);
    if (args->input.keep && attention->dropout < 0)
        return report_problem(EXIT_USAGE, "with --dropout 0 those that stay are not divided by 1-P",
                              "--keep says which weights --dropout leaves, which is not given");
    if (args->input.keep && attention->seed >= 0)
        return report_problem(EXIT_USAGE, NULL,
                              "--keep says which weights stay, so --seed has nothing to choose");
    return EXIT_DONE;
}

static int check_arguments(struct attend *run)
{
    struct attend_args *args = &run->args;
    bool is_standard_used;
    int code = attend_inputs_check(&args->input);
    if (code == EXIT_DONE)
        code = attention_check(&args->attention);
    if (code == EXIT_DONE)
        code = check_use(args);
    if (code == EXIT_DONE)
        code = outputs_check(&args->output, &is_standard_used);
    if (code == EXIT_DONE && args->is_compared)
        code = comparison_check(&command_attend, run->given, args->has_page);
    return code == EXIT_DONE
               ? explain_check(args->has_page, is_standard_used, &args->selection.queries)
               : code;
}

static int choose_attention(struct attend *run)
{
    struct attn_attention *attention = &run->attend.attention;
    *attention = ATTN_ATTENTION_DEFAULT;
    attention->mask = ATTN_MASK_NONE;
    attention_apply(&run->args.attention, attention);
    if (run->args.input.scores &&
        (attention->kind == ATTN_ATTENTION_LINEAR || attention->kind == ATTN_ATTENTION_LOWRANK))
        return report_problem(EXIT_USAGE, NULL, "'%s' is made of queries and keys, not of scores",
                              attn_attention_kind_name(attention->kind));
    return EXIT_DONE;
}

static int read_inputs(struct attend *run)
{
    int code = attend_inputs_read(&run->args.input, &run->inputs);
    size_t n_nan = code == EXIT_DONE ? attend_inputs_n_nan(&run->inputs) : 0;
    if (n_nan > 0 && !run->args.running.is_quiet)
        note("the arrays hold NaN, %zu of them: what is computed from those is NaN", n_nan);
    attend_inputs_fill(&run->inputs, &run->attend);
    stopwatch_note(&run->watch, &run->args.running, "read");
    return code;
}

/* Which keys a query may look at, and which weights stay, where files say it. */
static int read_masks(struct attend *run)
{
    const struct input_sizes *sizes = &run->inputs.sizes;
    struct attn_attention *attention = &run->attend.attention;
    const char *mask = attention_mask_file(&run->args.attention), *keep = run->args.input.keep;
    const struct mask_sizes shape = {sizes->rank == 4 ? sizes->n_batch : 0, sizes->n_head,
                                     sizes->n_query, sizes->n_key};
    int code = EXIT_DONE;
    if (attention->mask == ATTN_MASK_CAUSAL && sizes->n_query > sizes->n_key)
        return report_problem(
            EXIT_INPUT, NULL,
            "%zu queries and %zu keys, --mask causal wants no more queries than keys",
            sizes->n_query, sizes->n_key);
    if (mask)
        code = mask_file_read(mask, &shape, &attention->matrix, &run->mask);
    if (code == EXIT_DONE && keep)
        code = mask_file_read(keep, &shape, &attention->dropout_mask, &run->keep);
    if (code == EXIT_DONE)
        code = attention_confirm(attention, false);
    attn_attention_resolve_stride(attention, sizes->n_key);
    return code;
}

static int note_options(struct attend *run)
{
    int code =
        outputs_list_options(&command_attend, run->given, &run->shaping, &run->labels.n_option);
    run->labels.options = run->shaping;
    return code;
}

/*
 * Heads are chosen by their number in a batch, and then from every batch: the list "3,7" of all
 * heads when --heads is 3 of 4 and there are two batches.
 */
static int find_heads(struct attend *run, const struct attn_dims *dims)
{
    const struct input_sizes *sizes = &run->inputs.sizes;
    struct selection_args heads = {.heads = run->args.selection.heads};
    struct attn_selection *selection;
    struct attn_dims one_batch = *dims;
    if (!heads.heads || sizes->n_batch == 1)
        return EXIT_DONE;
    one_batch.n_head = sizes->n_head;
    one_batch.n_kv_head = sizes->n_kv_head;
    int code = selection_find(&heads, &one_batch, &selection);
    if (code != EXIT_DONE)
        return code;
    size_t n = attn_selection_n_head(selection, 0), size = 0, capacity = n * sizes->n_batch * 22;
    run->heads = malloc(capacity);
    for (size_t head = 0; run->heads && head < dims->n_head; head++)
        if (attn_selection_has_head(selection, 0, (int)(head % sizes->n_head)))
            size += (size_t)snprintf(run->heads + size, capacity - size, size > 0 ? ",%zu" : "%zu",
                                     head);
    attn_selection_free(selection);
    return run->heads ? EXIT_DONE : report_no_memory();
}

static int choose(struct attend *run)
{
    struct attn_dims dims = attn_attend_dims(&run->attend);
    struct selection_args selection = run->args.selection;
    int code = attention_check_sites(&run->attend.attention, selection.sites,
                                     run->args.running.is_quiet || run->args.is_compared);
    if (code == EXIT_DONE)
        code = find_heads(run, &dims);
    if (run->heads)
        selection.heads = run->heads;
    if (code == EXIT_DONE)
        code = selection_find(&selection, &dims, &run->selection);
    run->axes = (struct attn_array_axes){run->inputs.sizes.rank, run->inputs.sizes.n_batch};
    run->labels.selection = run->selection;
    run->labels.axes = &run->axes;
    return code;
}

static double count_multiply_adds(const struct attn_attend_args *attend)
{
    double n_pair = (double)attend->n_head * (double)attend->n_query * (double)attend->n_key;
    return n_pair * (double)(attend->d_head + attend->d_value);
}

static int start_pool(struct attend *run)
{
    return running_start_pool(&run->args.running, count_multiply_adds(&run->attend), &run->pool);
}

static int open_outputs(struct attend *run)
{
    const struct output_args *output = &run->args.output;
    interrupt_catch();
    run->outputs.standard = run->out;
    run->outputs.pool = run->pool;
    bool has_text = !outputs_are_wanted(output) && !run->args.has_page;
    return outputs_open(&run->outputs, output, has_text, &run->labels);
}

static int set_trace(struct attend *run)
{
    const struct explained_run explained = {
        .arrays = &run->attend, .attention = &run->attend.attention, .labels = &run->labels};
    run->trace = (struct attn_trace){run->selection, attn_outputs_event, run->outputs.set};
    return run->args.has_page ? explain_watch(&run->explain, &explained, &run->trace) : EXIT_DONE;
}

static void note_pairs(const struct attend *run)
{
    const struct attn_dims dims = attn_attend_dims(&run->attend);
    attention_note_pairs(&run->attend.attention, &dims, true);
}

static void note_not_finite(const struct attend *run)
{
    if (run->n_not_finite > 0 && attend_inputs_are_finite(&run->inputs))
        note("%zu row%s of the results hold%s NaN or infinity: numbers on the way to them are "
             "larger than float32 holds",
             run->n_not_finite, run->n_not_finite == 1 ? "" : "s",
             run->n_not_finite == 1 ? "s" : "");
}

static int compute(struct attend *run)
{
    struct attn_error err = {0};
    run->attend.trace = &run->trace;
    run->attend.pool = run->pool;
    run->attend.cancel = interrupt_flag();
    run->attend.gemm = running_gemm();
    run->attend.isa = running_isa();
    run->attend.n_not_finite = &run->n_not_finite;
    enum attn_status status = attn_attend(&run->attend, &err);
    if (status != ATTN_OK && outputs_are_abandoned(&run->outputs))
        return EXIT_OUTPUT;
    if (status != ATTN_OK)
        return report(&err, err.stage == ATTN_STAGE_OUTPUT ? EXIT_OUTPUT : EXIT_USAGE);
    if (!run->args.running.is_quiet) {
        note_not_finite(run);
        note_pairs(run);
    }
    if (run->args.running.is_verbose)
        note("%zu heads, %zu queries, %zu keys, %d threads, at most %s", run->attend.n_head,
             run->attend.n_query, run->attend.n_key, attn_pool_n_thread(run->pool),
             attn_isa_name(attn_isa_detect()));
    stopwatch_note(&run->watch, &run->args.running, "ran");
    return EXIT_DONE;
}

static int finish(struct attend *run)
{
    int code = outputs_finish(&run->outputs);
    if (code == EXIT_DONE)
        code = explain_print(&run->explain, run->out);
    stopwatch_note(&run->watch, &run->args.running, "finished");
    return code;
}

static void release(struct attend *run)
{
    outputs_close(&run->outputs);
    attn_pool_free(run->pool);
    explain_release(&run->explain);
    attn_selection_free(run->selection);
    free(run->heads);
    free(run->mask);
    free(run->keep);
    free(run->shaping);
    free(run->given);
    output_args_release(&run->args.output);
    attend_inputs_release(&run->inputs);
}

/* In place of what follows the choice of tensors. */
static int compare(struct attend *run)
{
    struct comparison comparison = {
        .labels = &run->labels, .n = run->attend.n_query, .attention = &run->attend.attention};
    int code =
        comparison_attend(&comparison, &run->attend, run->selection, run->args.running.threads);
    stopwatch_note(&run->watch, &run->args.running, "compared");
    if (code == EXIT_DONE)
        code = comparison_write(&comparison, &run->args.output, run->out);
    comparison_release(&comparison);
    return code;
}

typedef int (*step_fn)(struct attend *run);

static int take_steps(struct attend *run, const step_fn *steps, size_t n)
{
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < n; i++)
        code = interrupt_is_pending() ? EXIT_INTERNAL : steps[i](run);
    return code;
}

static int perform(struct attend *run)
{
    static const step_fn first[] = {
        check_arguments, choose_attention, read_inputs, read_masks, note_options, choose,
    };
    static const step_fn rest[] = {start_pool, open_outputs, set_trace, compute, finish};
    stopwatch_note(&run->watch, &run->args.running, NULL);
    int code = take_steps(run, first, sizeof(first) / sizeof(first[0]));
    if (code == EXIT_DONE && run->args.is_compared)
        return compare(run);
    if (code == EXIT_DONE)
        code = take_steps(run, rest, sizeof(rest) / sizeof(rest[0]));
    return outputs_are_abandoned(&run->outputs) && code == EXIT_OUTPUT ? EXIT_DONE : code;
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
    struct attend run = {.args = {.attention = ATTENTION_ARGS_DEFAULT, .output.precision = -1}};
    run.given = calloc(options_count(&command_attend), sizeof(*run.given));
    int code = run.given ? options_parse_noting(&command_attend, argc, argv, &run.args, run.given)
                         : report_no_memory();
    if (code == OPTIONS_OK)
        code = print_open(&run.out);
    if (run.out && help_is_asked(run.args.selection.sites))
        print_sites(run.out);
    else if (run.out && help_is_asked(run.args.attention.kind))
        attention_kinds_print(run.out);
    else if (run.out)
        code = perform(&run);
    release(&run);
    return print_close(run.out, code);
}
