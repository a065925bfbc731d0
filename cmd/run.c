/* run.c - attn-cli run: runs a text and writes its attention. */
#include "cmd/args/live.h"
#include "cmd/args/model.h"
#include "cmd/args/prompt.h"
#include "cmd/args/question.h"
#include "cmd/args/request.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

static const struct attn_param mean_rows[] = {
    ATTN_PARAM_KEPT(
        TEXT, "mean-by", "LABEL[=A:B]",
        "with --items, write the mean over the items of each value of LABEL instead of a "
        "row for each, or that of B minus that of A: a vector for --steer"),
};

static const struct attn_param_part parts[] = {
    PROMPT_OPTIONS(offsetof(struct question_args, prompt)),
    QUESTION_PART(attn_source_params, prompt.asked),
    QUESTION_PART(attn_image_params, prompt.asked),
    QUESTION_PART(attn_picture_prompt_params, prompt.asked),
    QUESTION_PART(attn_label_params, prompt.labels),
    QUESTION_PART(tower_options, model),
    QUESTION_PART(attn_chat_params, prompt.asked),
    QUESTION_PART(attn_listing_params, items),
    QUESTION_PART(attn_restart_params, items),
    {OPTION_LIST("Items", mean_rows), 0},
    MODEL_OPTIONS(offsetof(struct question_args, model)),
    QUESTION_PART(attn_attention_params, attention),
    QUESTION_PART(attn_key_mask_params, prompt.asked),
    QUESTION_PART(attn_dropout_params, attention),
    QUESTION_PART(attn_selection_params, prompt.asked),
    QUESTION_PART(attn_map_params, prompt.asked),
    QUESTION_PART(attn_sink_params, prompt.asked),
    QUESTION_PART(attn_view_params, tables.picture.options),
    OUTPUT_OPTIONS(offsetof(struct question_args, tables.output)),
    {&explain_options, 0},
    {&live_options, 0},
    QUESTION_TENSOR_PICTURES,
    QUESTION_PART(attn_prediction_params, prompt.asked),
    QUESTION_PART(attn_target_params, answer),
    QUESTION_PART(attn_foil_params, answer),
    QUESTION_PART(attn_at_params, answer),
    QUESTION_PART(attn_run_metric_params, answer),
    QUESTION_PART(attn_gradient_params, prompt.asked),
    QUESTION_PART(attn_edit_params, edits),
    QUESTION_PART(attn_place_params, places),
    QUESTION_PART(running_options, running),
};

static enum attn_status ask(struct question *question, struct attn_error *err);

/* The tables of items, of cells and of predictions. The latter have one row. */
static enum attn_status tabulate(size_t i, struct command_table *shown, struct attn_error *err)
{
    enum { ITEMS, TIDY, TARGET, NEXT, LABELS, TOP, N_TABLE };
    static const char *const options[] = {"items", "tidy", "target", "next", "label", "top"};
    struct attn_candidate top = {.token = ""};
    struct attn_next next = {.text = ""};
    struct attn_predicted_metric metric = {.name = ""};
    struct attn_result result = {.predictions = {.has_positions = true}};
    struct attn_table *none = NULL;

    if (i >= N_TABLE)
        return ATTN_OK;
    shown->when = options[i];
    shown->has_row_types = i >= TARGET;
    if (i < TARGET)
        return attn_collect_table(i == TIDY, &shown->table, err);
    result.predictions.metric = &metric;
    result.predictions.n_metric = 1;
    result.predictions.top = &top;
    result.predictions.next = &next;
    result.predictions.n_top = i >= LABELS;
    result.predictions.n_next = i == NEXT;
    result.predictions.has_labels = i == LABELS;
    return i == TARGET ? attn_result_metric(&result, &shown->table, err)
           : i == NEXT ? attn_result_tables(&result, &none, &shown->table, err)
                       : attn_result_tables(&result, &shown->table, &none, err);
}

const struct command command_run = {
    .name = "run",
    .summary = "the attention of a model on a text",
    .usage = "[OPTIONS] TEXT",
    .ways = "--explain, --live, --items FILE",
    .description =
        "Runs a model over TEXT and shows the attention patterns and context vectors of\n"
        "its heads, as text on standard output. The options of 'Output' write them into\n"
        "files instead, one or several; '-' as FILE is standard output. --top, --next and\n"
        "--target print predictions instead, and --csv FILE.csv writes them if no tensors\n"
        "are chosen; --explain prints the arithmetic of one row. Only what the output\n"
        "needs is computed.\n"
        "\n"
        "With --items many texts are run, each at one position (--at; default: the last).\n"
        "Predictions and cells of patterns are rows of CSV. --jsonl FILE has a line per\n"
        "item, with its tokens, predictions, and the tensors of --sites. --npz FILE holds\n"
        "an array for each of --sites, with a row for each item; of a pattern, an array\n"
        "for each item. `attn-cli batch FILE` is short for run --items FILE --jsonl -.\n"
        "\n"
        "An encoder, such as BERT, predicts the tokens at its masks, [MASK] or <mask>;\n"
        "--pair gives it a second text.\n"
        "\n"
        "A pattern says where a head looks. It does not say what the head takes from\n"
        "there, nor whether that matters: `attn-cli ablate`, `patch` and `attribute`\n"
        "measure that.\n"
        "\n"
        "--grad adds gradients of the metric that --target and others name. A gradient\n"
        "says what a very small change would do; a pattern that is nearly 0 or 1 has\n"
        "scores without gradient however much it matters. The sites pattern_x_grad (the\n"
        "pattern times its gradient) and relevance (that, followed through the layers)\n"
        "need a metric, too.\n",
    .examples = "  attn-cli run --sentence \"Life is short, eat dessert first\"\n"
                "  attn-cli run -m fable --heads 2.2 --queries -1 \"The cat sat on the mat\"\n"
                "  attn-cli run -m fable --top 5 --next ' are' --next ' is' \"The keys\"\n"
                "  attn-cli run -m fable --grad --target ' are' --foil ' is' \"The keys\"\n"
                "  attn-cli run -m fable --sites 'pattern,resid_*' --npz all.npz -f text.txt\n"
                "  attn-cli run -m fable --attention window:4 -f text.txt\n"
                "  attn-cli run -m fable --items pairs.csv --at subject --sites resid_pre \\\n"
                "    --layers 2 --npz out.npz\n"
                "  attn-cli run -m fable --items texts.jsonl --top 3 --jsonl -\n"
                "  attn-cli run -m fable --ablate 0.3,1.* --csv ablated -p \"The keys are\"\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct question_args),
    .defaults = &question_args_default,
    .ask = ask,
    .tabulate = tabulate,
    .print_sites = sites_print,
    .own_size = sizeof(struct live),
    .release = live_release,
};

/* Returns true if the metric of a token is wanted. */
static bool answer_is_given(const struct attn_answer_args *args)
{
    return asked_is_given(args) || args->metric != ATTN_ANSWER_AUTO;
}

/* Returns true if gradients of the metric are wanted. The metric is then not printed. */
static bool is_differentiating(const struct question_args *args)
{
    struct attn_site_set sites = {0};

    if (args->prompt.asked.selection.sites) /* an invalid list is refused later */
        attn_sites_parse(args->prompt.asked.selection.sites, &sites, NULL);
    for (int site = 0; site < ATTN_N_SITE; site++)
        if (attn_sites_have(sites, site) && attn_site_is_of_metric((enum attn_site)site))
            return true;
    return args->prompt.asked.selection.has_gradients;
}

/* Returns the number of continuations, texts and ids. */
static size_t n_next(const struct question_args *args)
{
    return args->prompt.asked.predict.n_next + args->prompt.asked.predict.n_next_ids;
}

static bool is_predicting(const struct question_args *args)
{
    return args->prompt.asked.predict.top > 0 || n_next(args) > 0 ||
           prompt_has_labels(&args->prompt) ||
           (answer_is_given(&args->answer) && !is_differentiating(args));
}

enum { N_TABLE = 3 }; /* tables of --top, of --next and of --target */

/* Prints one line per row, with a blank line between tables, and writes the outputs that can have
 * tables. On a terminal, the names of the columns are printed as well. */
static enum attn_status write_predictions(struct attn_table *const tables[N_TABLE],
                                          const struct question *question, struct attn_error *err)
{
    const enum attn_table_form form = terminal_room(0) > 0 ? ATTN_TABLE_ALIGNED : ATTN_TABLE_TABBED;
    const struct attn_input *input = &question->request.input;
    const struct attn_table_picture picture = {
        .model = attn_model_name(attn_host_model(question->host)),
        .texts = {{.text = input->text, .n = input->n_text}}};
    struct attn_sink *out = question->call->out;
    bool has_printed = false;

    for (size_t i = 0; !question->tensors.is_standard_used && i < N_TABLE; i++) {
        if (!tables[i])
            continue;
        if (has_printed)
            print_text(out, "\n");
        ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT, attn_table_write(tables[i], form, -1, out, err), err));
        has_printed = true;
    }
    return outputs_write_tables(&question->args->tables.output, tables, N_TABLE, &picture, out,
                                err);
}

static enum attn_status predict(const struct question *question, struct attn_error *err)
{
    struct attn_table *tables[N_TABLE] = {NULL};
    enum attn_status status =
        attn_result_tables(&question->tensors.result, &tables[0], &tables[1], err);

    if (question->asked.is_used && question->args->prompt.asked.predict.top == 0) {
        attn_table_free(tables[0]); /* the first screen has the next tokens */
        tables[0] = NULL;
    }
    ATTN_THEN(status, attn_result_metric(&question->tensors.result, &tables[2], err));
    at_stage(ATTN_STAGE_NONE, status, err);
    ATTN_THEN(status, write_predictions(tables, question, err));
    for (size_t i = 0; i < N_TABLE; i++)
        attn_table_free(tables[i]);
    return status;
}

static bool has_predictions(const struct attn_format *format)
{
    return format->has_predictions;
}

/* Refuses predictions if there is no place for them: they are printed on standard output, but ARGS
 * put data there, and no other output can have them. */
static enum attn_status check_predictions(const struct output_args *args, struct attn_error *err)
{
    char formats[128], hint[192];

    for (struct output_walk walk = {.args = args}; output_next(&walk);)
        if (has_predictions(walk.output.format) || output_is_table(args, walk.output.format))
            return ATTN_OK;
    attn_format_list(has_predictions, "or", formats, sizeof formats);
    snprintf(hint, sizeof hint, "write the data into a file, or into %s FILE as well", formats);
    return refuse(err, hint,
                  "`top`, `next`, `target` and `label` print on standard output, which holds data");
}

/* Decides whether --csv gets the predictions. It does if it is a file and no tensors are chosen. A
 * CSV file can only have one table. */
static enum attn_status find_table_csv(struct question_args *args, struct attn_error *err)
{
    const struct attn_request_selection *asked = &args->prompt.asked.selection;
    const char *path = output_path(&args->tables.output, "csv");
    const int n_table = (args->prompt.asked.predict.top > 0 || prompt_has_labels(&args->prompt)) +
                        (n_next(args) > 0) +
                        (answer_is_given(&args->answer) && !is_differentiating(args));

    if (!path || n_table == 0 || asked->sites || asked->layers || asked->heads ||
        (strcmp(path, "-") != 0 && attn_format_is_directory(attn_format_find("csv"), path)))
        return ATTN_OK;
    args->tables.output.has_table_csv = true;
    if (n_table == 1)
        return ATTN_OK;
    return refuse(err, "--jsonl FILE holds the rows of all",
                  "`csv` FILE holds one table, and `top`, `next` and `target` make %d here",
                  n_table);
}

/* Refuses gradients if only predictions or an explanation are printed. */
static enum attn_status check_gradient(const struct question_args *args, struct attn_error *err)
{
    if (!args->prompt.asked.selection.has_gradients || outputs_are_wanted(&args->tables.output) ||
        args->tables.picture.is_heatmap || (!is_predicting(args) && !args->is_explained))
        return ATTN_OK;
    return refuse(err, "--npz FILE holds tensors and gradients, --heatmap draws them",
                  "`grad` goes with tensors, and beside %s none are shown",
                  args->is_explained ? "`explain`" : "`top`, `next` and `label`");
}

/* Runs the items of --items. */
static enum attn_status collect(struct question *question, struct attn_error *err)
{
    struct question_args *args = question->call->args;
    const struct attn_request *asked = &args->prompt.asked;
    const struct output_args *output = &args->tables.output;
    struct listing listing = {.headings = "Prediction",
                              .names = "npy|npz|layers|heads|sites|queries|at|label",
                              .has_records = true};
    struct attn_collect_args how = ATTN_COLLECT_ARGS_DEFAULT;

    if (output_path(output, "npz") && output_path(output, "npy"))
        return refuse(err, NULL, "`npz` and `npy` are given, expected one of them with `items`");
    how.npz = output_path(output, "npz");
    if (output_path(output, "npy") && (how.npz = output_path(output, "npy")) &&
        !strstr(how.npz, ".npy"))
        return refuse(err, NULL, "`npy` is '%s', expected FILE.npy with `items`", how.npz);
    listing.has_no_rows = how.npz && asked->predict.top == 0 && n_next(args) == 0 &&
                          !prompt_has_labels(&args->prompt);
    if (args->answer.at.text && asked->selection.queries.text)
        return refuse(err, NULL, "`at` and `queries` are given, expected one of them with `items`");
    if (!asked->selection.sites && (asked->selection.layers || asked->selection.heads))
        return refuse(err, NULL, "`layers` and `heads` need `sites` with `items`");
    ATTN_TRY(listing_begin(question, &listing, err));
    question->request.selection.queries.text = NULL; /* the queries of `at` */
    how.study = &question->items.args;
    how.at = attn_number_list_or(args->answer.at, asked->selection.queries);
    how.mean_by = option_text(question->call, "mean-by");
    return attn_collect(question->host, &question->request, &how, err);
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct question_args *args = question->call->args;
    const struct output_args *output = &args->tables.output;
    struct attn_request *request = &question->request;
    const char *only_of_items = option_find_given(question->call, "mean-by");

    ATTN_TRY(items_open(question->call, &args->items, NULL, &(struct items){0}, err));
    if (only_of_items)
        return refuse(err, NULL, "`%s` needs `items`", only_of_items);
    ATTN_TRY(live_read_text(question, &args->prompt, err));
    ATTN_TRY(outputs_check_text(question->call, output, &args->prompt, err));
    ATTN_TRY(prompt_check(question->call, &args->prompt, question->example, err));
    if (args->model.tower == ATTN_TOWER_IMAGE && !args->prompt.asked.input.image)
        return refuse(err, NULL, "`tower` image reads a picture, and no `image` is given");
    ATTN_TRY(check_gradient(args, err));
    if (is_predicting(args))
        question->tensors.shown = ATTN_MEDIUM_PREDICTIONS;
    ATTN_TRY(find_table_csv(args, err));
    ATTN_TRY(request_check(question, err));
    if (args->prompt.asked.selection.has_gradients &&
        !args->prompt.asked.selection.sites) /* draw both, as if they were given */
        question->tensors.look.sites = ATTN_SITES(ATTN_SITE_PATTERN);
    if (question->tensors.is_standard_used && is_predicting(args))
        ATTN_TRY(check_predictions(output, err));
    if (!is_predicting(args))
        ATTN_TRY(outputs_check_tables(output, "`top`, `next` and `target` make tables", err));
    ATTN_TRY(live_check(question, err));
    /* a live page of a text measures heads on texts that the model writes */
    question->reuse =
        option_text(question->call, "live") && !option_find_given(question->call, "source|image");
    ATTN_TRY(question_open_model(question, err));
    ATTN_TRY(question_read(question, err));
    if (answer_is_given(&args->answer) && !is_differentiating(args))
        asked_give(question, &args->answer);
    else if (answer_is_given(&args->answer))
        request->selection.gradients_of = &args->answer;
    ATTN_TRY(request_fill(question, err));
    if (!args->is_explained)
        attn_request_fill_page(question->host, request);
    ATTN_TRY(live_open(question, question->own, err));
    ATTN_TRY(request_serve(question, err));
    return is_predicting(args) ? predict(question, err) : ATTN_OK;
}

static enum attn_status ask(struct question *question, struct attn_error *err)
{
    if (question->args->items.asked.items.path)
        return collect(question, err);
    question->tensors.has_first_screen = !question->args->prompt.asked.selection.has_gradients;
    return work(question, err);
}
