/*
 * run.c - attn-cli run: text in, attention out.
 *
 * A run is a list of steps over one struct that holds everything; whatever step ends it, all is
 * released in one place, and files that were not finished do not appear.
 */
#include "command.h"
#include "comparison.h"
#include "explain.h"
#include "first_sequence.h"
#include "help.h"
#include "interrupt.h"
#include "layer_attention.h"
#include "model_args.h"
#include "model_vocabulary.h"
#include "options.h"
#include "outputs.h"
#include "prediction.h"
#include "print.h"
#include "prompt.h"
#include "report.h"
#include "running_args.h"
#include "second_sequence.h"
#include "selection_args.h"
#include "token_texts.h"

#include "attn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE "attn-cli run --sentence \"Life is short, eat dessert first\""

struct run_args {
    struct prompt_args prompt;
    const char *source;
    struct model_args model;
    struct attention_args attention;
    struct selection_args selection;
    struct output_args output;
    struct prediction_args prediction;
    struct ablation_args ablation;
    bool has_page; /* --explain */
    bool is_compared;
    struct running_args running;
};

struct run {
    struct run_args args;
    const char **given; /* [options_count] the text of each value, or NULL */
    struct attn_sink *out;
    struct model_source source;
    struct attn_model *model;
    struct attn_tokenizer *tokenizer; /* NULL: ids were given and there is no vocabulary */
    struct first_sequence first;
    struct second_sequence second;
    struct token_texts tokens; /* empty without a tokenizer */
    struct layer_attention attention;
    struct attn_selection *selection;
    struct attn_edit *edits;
    size_t n_edit;
    struct prediction prediction;
    struct attn_option *shaping; /* options that shape the run, for outputs that tell them */
    struct attn_labels labels;
    bool is_standard_used; /* by data, so nothing else may be printed there */
    struct outputs outputs;
    struct explain explain;
    struct attn_trace trace;
    struct attn_pool *pool;
    struct attn_session *session;
    struct stopwatch watch;
};

static const struct option_part parts[] = {
    {&prompt_text_options, offsetof(struct run_args, prompt)},
    {&prompt_options, offsetof(struct run_args, prompt)},
    {&prompt_numbers_options, offsetof(struct run_args, prompt)},
    {&source_options, offsetof(struct run_args, source)},
    {&model_options, offsetof(struct run_args, model)},
    {&weights_options, offsetof(struct run_args, model)},
    {&compute_options, offsetof(struct run_args, model)},
    {&attention_options, offsetof(struct run_args, attention)},
    {&comparison_options, offsetof(struct run_args, is_compared)},
    {&selection_options, offsetof(struct run_args, selection)},
    {&output_options, offsetof(struct run_args, output)},
    {&explain_options, offsetof(struct run_args, has_page)},
    {&prediction_options, offsetof(struct run_args, prediction)},
    {&ablation_options, offsetof(struct run_args, ablation)},
    {&running_options, offsetof(struct run_args, running)},
    {&help_options, 0},
};

static int run_main(int argc, char **argv);

const struct command command_run = {
    .name = "run",
    .summary = "text in, attention out",
    .usage = "[OPTIONS] TEXT",
    .description =
        "Runs a model over TEXT and shows the attention patterns and context vectors of\n"
        "its heads, as text on standard output. With the options of 'Output' they go into\n"
        "files instead, several at once if you like; '-' as FILE is standard output. With\n"
        "--top or --next the predictions take the place of the text, with --explain the\n"
        "arithmetic of one row, with --compare a comparison with exact attention.\n"
        "Nothing is computed that no wanted output depends on.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli run -m gpt2 --heads 5.1 --queries -1 \"The cat sat on the mat\"\n"
                "  attn-cli run -m gpt2 --sites 'pattern,resid_*' --npz all.npz -f text.txt\n"
                "  attn-cli run -m gpt2 --top 5 --next ' are' --next ' is' \"The keys\"\n"
                "  attn-cli run -m gpt2 --heads 5.1 --queries -1 --explain \"The keys are\"\n"
                "  attn-cli run -m gpt2 --attention window:64 --compare -f text.txt\n"
                "  attn-cli run -m gpt2 --ablate 0.3,1.* --csv ablated -p \"The keys are\"\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = run_main,
};

static void note_time(struct run *run, const char *what)
{
    stopwatch_note(&run->watch, &run->args.running, what);
}

static int check_arguments(struct run *run)
{
    const struct output_args *output = &run->args.output;
    int code = prompt_check(&run->args.prompt, EXAMPLE);
    if (code == EXIT_DONE)
        code = outputs_check(output, &run->is_standard_used);
    if (code == EXIT_DONE && run->is_standard_used && prediction_is_wanted(&run->args.prediction))
        code = outputs_check_predictions(output);
    if (code == EXIT_DONE)
        code =
            explain_check(run->args.has_page, run->is_standard_used, &run->args.selection.queries);
    if (code == EXIT_DONE && run->args.is_compared)
        code = comparison_check(&command_run, run->given, run->args.has_page);
    return code == EXIT_DONE ? attention_check(&run->args.attention) : code;
}

static void on_model_note(void *user, const char *message)
{
    const struct run *run = user;
    if (!run->args.running.is_quiet)
        note("%s", message);
}

static int open_model(struct run *run)
{
    const struct run_args *args = &run->args;
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    int code = model_source_find(&args->model, &run->source);
    if (code != EXIT_DONE)
        return code;
    options.load = (enum attn_load)args->model.load;
    options.compute = (enum attn_compute)args->model.compute;
    options.on_note = on_model_note;
    options.user = run;
    if (attn_model_open(&run->source.source, &options, &run->model, &err) != ATTN_OK)
        return report(&err, EXIT_MODEL);
    interrupt_watch_model(run->model);
    if (prediction_is_wanted(&args->prediction) &&
        attn_model_config(run->model)->output == ATTN_OUTPUT_NONE)
        return report_problem(EXIT_USAGE, NULL, "'%s' has no output layer, %s needs one",
                              attn_model_name(run->model),
                              args->prediction.top > 0 ? "--top" : "--next");
    return second_sequence_check(args->source, run->model);
}

/* With numbers in place of texts the vocabulary only gives labels: then it may be missing. */
static int open_tokenizer(struct run *run)
{
    const struct run_args *args = &run->args;
    bool is_needed = (!args->prompt.ids && !args->prompt.embeds) || args->prediction.next.n > 0 ||
                     (args->source && !second_sequence_is_array(args->source));
    return vocabulary_open(&run->source, run->model, is_needed, args->running.is_verbose,
                           &run->tokenizer);
}

static int read_first(struct run *run)
{
    return first_sequence_read(&run->args.prompt, run->model, run->tokenizer, EXAMPLE, &run->first);
}

static int read_source(struct run *run)
{
    return second_sequence_read(run->args.source, run->model, run->tokenizer,
                                (enum attn_special)run->args.prompt.special, &run->second);
}

static int read_next(struct run *run)
{
    size_t n_ctx = attn_model_config(run->model)->n_ctx;
    int code = prediction_encode(&run->prediction, &run->args.prediction, run->tokenizer,
                                 (enum attn_special)run->args.prompt.special);
    if (code == EXIT_DONE && run->prediction.n_position > n_ctx - run->first.n)
        return report_problem(
            EXIT_INPUT, NULL,
            "the text and its longest continuation need %zu positions, '%s' has %zu",
            run->first.n + run->prediction.n_position, attn_model_name(run->model), n_ctx);
    return code;
}

static int choose_attention(struct run *run)
{
    const struct attn_config *config = attn_model_config(run->model);
    int code = layer_attention_find(&run->args.attention, config, run->first.n, run->second.n,
                                    &run->attention);
    if (code == EXIT_DONE && run->prediction.n_position > 0)
        code = layer_attention_check_next(&run->attention, config);
    return code;
}

static int note_options(struct run *run)
{
    int code = outputs_list_options(&command_run, run->given, &run->shaping, &run->labels.n_option);
    run->labels.options = run->shaping;
    return code;
}

static int label_tokens(struct run *run)
{
    run->labels.model = attn_model_name(run->model);
    run->labels.ids = run->first.ids;
    run->labels.begin = run->first.encoding.begin;
    run->labels.end = run->first.encoding.end;
    run->labels.source_tokens = run->second.tokens.bytes;
    run->labels.source_token_sizes = run->second.tokens.sizes;
    if (!run->tokenizer || !run->first.ids)
        return EXIT_DONE;
    int code = token_texts_find(run->tokenizer, run->first.ids, run->first.n, &run->tokens);
    run->labels.tokens = run->tokens.bytes;
    run->labels.token_sizes = run->tokens.sizes;
    return code;
}

/* Whether tensors are written, as files or as text. */
static bool shows_tensors(const struct run *run)
{
    if (run->args.is_compared)
        return false;
    return outputs_are_wanted(&run->args.output) ||
           !(run->args.has_page || prediction_is_wanted(&run->args.prediction));
}

static int choose(struct run *run)
{
    struct attn_dims dims = attn_config_dims(attn_model_config(run->model), run->first.n);
    bool is_quiet = run->args.running.is_quiet || !shows_tensors(run);
    dims.n_source = run->second.n;
    attn_attention_set_dims(run->attention.layers, &dims);
    int code =
        attention_check_sites(&run->attention.layers[0], run->args.selection.sites, is_quiet);
    if (code == EXIT_DONE)
        code = selection_find(&run->args.selection, &dims, &run->selection);
    if (code == EXIT_DONE)
        code = ablation_find(&run->args.ablation, &dims, &run->edits, &run->n_edit);
    run->labels.selection = run->selection;
    return code;
}

/* Too many to count when the texts do not fit: the session says why. */
static double count_multiply_adds(const struct run *run)
{
    struct attn_cost cost;
    struct attn_error err = {0};
    if (attn_cost_find(run->model, run->first.n, run->second.n, &cost, &err) != ATTN_OK)
        return INFINITY;
    return (double)cost.projections + (double)cost.matrices + (double)cost.mlp;
}

static int start_pool(struct run *run)
{
    return running_start_pool(&run->args.running, count_multiply_adds(run), &run->pool);
}

static int open_outputs(struct run *run)
{
    const struct output_args *output = &run->args.output;
    bool has_text = !outputs_are_wanted(output) && shows_tensors(run);
    interrupt_catch();
    run->outputs.standard = run->out;
    run->outputs.pool = run->pool;
    return outputs_open(&run->outputs, output, has_text, &run->labels);
}

/* What the session tells whom. */
static int set_trace(struct run *run)
{
    const struct attn_config *config = attn_model_config(run->model);
    const struct explained_run explained = {.config = config,
                                            .attention = run->attention.layers,
                                            .labels = &run->labels,
                                            .edits = run->edits,
                                            .n_edit = run->n_edit};
    run->trace = (struct attn_trace){run->selection, attn_outputs_event, run->outputs.set};
    return run->args.has_page ? explain_watch(&run->explain, &explained, &run->trace) : EXIT_DONE;
}

static int start_session(struct run *run)
{
    struct attn_session_options session_options = ATTN_SESSION_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    bool is_watched = run->outputs.n > 0 || run->args.has_page;
    session_options.n_max = run->first.n + run->prediction.n_position;
    session_options.n_source = run->second.n;
    session_options.cache = run->prediction.n > 0 ? ATTN_CACHE_ALL_LAYERS : ATTN_CACHE_ONE_LAYER;
    session_options.has_logits = prediction_is_wanted(&run->args.prediction);
    session_options.reads_once = run->prediction.n == 0;
    session_options.pool = run->pool;
    session_options.trace = is_watched ? &run->trace : NULL;
    session_options.edits = run->edits;
    session_options.n_edit = run->n_edit;
    session_options.attention = run->attention.layers;
    session_options.cancel = interrupt_flag();
    session_options.isa = running_isa();
    session_options.gemm = running_gemm();
    enum attn_status status =
        attn_session_create(run->model, &session_options, &run->session, &err);
    if (status != ATTN_OK)
        return report(&err, status == ATTN_INVALID ? EXIT_USAGE : EXIT_MODEL);
    if (run->second.n > 0 &&
        attn_session_set_source(run->session, run->second.x, run->second.n, &err) != ATTN_OK)
        return report(&err, EXIT_INPUT);
    note_time(run, "opened");
    return EXIT_DONE;
}

static int feed(struct run *run)
{
    struct attn_error err = {0};
    enum attn_status status =
        run->first.embeds.data
            ? attn_session_feed_embeddings(run->session, run->first.embeds.data, run->first.n, &err)
            : attn_session_feed(run->session, run->first.ids, run->first.n, &err);
    if (status != ATTN_OK && outputs_are_abandoned(&run->outputs))
        return EXIT_OUTPUT;
    if (status != ATTN_OK && err.stage == ATTN_STAGE_OUTPUT)
        return report(&err, EXIT_OUTPUT);
    if (status != ATTN_OK)
        return report(&err, status == ATTN_INVALID ? EXIT_INPUT : EXIT_MODEL);
    if (interrupt_is_model_truncated()) { /* after the last time that the session looked */
        attn_error_set(&err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
        return report(&err, EXIT_MODEL);
    }
    if (run->n_edit > 0 && !run->args.running.is_quiet)
        note("the ablation changed %zu rows", attn_session_n_edited_row(run->session));
    if (!run->args.running.is_quiet)
        attention_note_pairs(run->attention.layers, attn_selection_dims(run->selection), false);
    if (run->args.running.is_verbose)
        note("%zu tokens, %d threads, at most %s", run->first.n, attn_pool_n_thread(run->pool),
             attn_isa_name(attn_isa_detect()));
    note_time(run, "ran");
    return EXIT_DONE;
}

static int predict(struct run *run)
{
    if (!prediction_is_wanted(&run->args.prediction))
        return EXIT_DONE;
    int code = prediction_find(&run->prediction, &run->args.prediction, run->session,
                               attn_model_config(run->model)->n_vocab, run->tokenizer);
    return code == EXIT_DONE ? outputs_predict(&run->outputs, &run->prediction.found) : code;
}

static int finish(struct run *run)
{
    int code = outputs_finish(&run->outputs);
    if (code == EXIT_DONE)
        code = explain_print(&run->explain, run->out);
    if (code == EXIT_DONE && !run->is_standard_used)
        code = prediction_print(&run->prediction, run->out);
    note_time(run, "finished");
    return code;
}

static void release(struct run *run)
{
    outputs_close(&run->outputs);
    attn_session_free(run->session);
    attn_pool_free(run->pool);
    explain_release(&run->explain);
    prediction_release(&run->prediction);
    free(run->edits);
    attn_selection_free(run->selection);
    token_texts_release(&run->tokens);
    free(run->shaping);
    free(run->given);
    output_args_release(&run->args.output);
    layer_attention_release(&run->attention);
    first_sequence_release(&run->first);
    second_sequence_release(&run->second);
    attn_tokenizer_close(run->tokenizer);
    interrupt_watch_model(NULL);
    attn_model_close(run->model);
    text_list_release(&run->args.prompt.plain);
    text_list_release(&run->args.prediction.next);
}

/* In place of what follows the choice of tensors. */
static int compare(struct run *run)
{
    const struct attn_compare_args args = {.model = run->model,
                                           .ids = run->first.ids,
                                           .embeddings = run->first.embeds.data,
                                           .n = run->first.n,
                                           .source = run->second.x,
                                           .n_source = run->second.n,
                                           .attention = run->attention.layers,
                                           .selection = run->selection};
    struct comparison comparison = {.labels = &run->labels,
                                    .tokenizer = run->tokenizer,
                                    .n = run->first.n,
                                    .attention = run->attention.layers};
    int code = comparison_run(&comparison, &args, run->args.running.threads);
    note_time(run, "compared");
    if (code == EXIT_DONE)
        code = comparison_write(&comparison, &run->args.output, run->out);
    comparison_release(&comparison);
    return code;
}

typedef int (*step_fn)(struct run *run);

static int take_steps(struct run *run, const step_fn *steps, size_t n)
{
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < n; i++)
        code = interrupt_is_pending() ? EXIT_INTERNAL : steps[i](run);
    return code;
}

static int perform(struct run *run)
{
    static const step_fn first[] = {
        check_arguments, open_model,       open_tokenizer, read_first,   read_source,
        read_next,       choose_attention, label_tokens,   note_options, choose,
    };
    static const step_fn rest[] = {start_pool, open_outputs, set_trace, start_session,
                                   feed,       predict,      finish};
    note_time(run, NULL);
    int code = take_steps(run, first, sizeof(first) / sizeof(first[0]));
    if (code == EXIT_DONE && run->args.is_compared)
        return compare(run);
    if (code == EXIT_DONE)
        code = take_steps(run, rest, sizeof(rest) / sizeof(rest[0]));
    return outputs_are_abandoned(&run->outputs) && code == EXIT_OUTPUT ? EXIT_DONE : code;
}

static int run_main(int argc, char **argv)
{
    struct run run = {.args = {.attention = ATTENTION_ARGS_DEFAULT, .output.precision = -1}};
    run.given = calloc(options_count(&command_run), sizeof(*run.given));
    int code = run.given ? options_parse_noting(&command_run, argc, argv, &run.args, run.given)
                         : report_no_memory();
    if (code == OPTIONS_OK)
        code = print_open(&run.out);
    if (run.out && help_is_asked(run.args.selection.sites))
        sites_print(run.out);
    else if (run.out && help_is_asked(run.args.attention.kind))
        attention_kinds_print(run.out);
    else if (run.out)
        code = perform(&run);
    release(&run);
    return print_close(run.out, code);
}
