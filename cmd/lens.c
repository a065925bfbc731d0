/* lens.c - attn-cli lens: what each layer already knows of the next token. */
#include "cmd/args/answer.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"

#define EXAMPLE "attn-cli lens -m fable \"The keys to the cabinet\""

struct lens_args {
    struct question_args question;
    struct answer_args answer;
    struct texts_args texts;
    const char *queries, *sites;
    int64_t top;
    bool reads_heads;
};

static const struct option lens_rows[] = {
    {.name = "queries",
     .argument = "SPEC",
     .heading = "Lens",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct lens_args, queries),
     .help = "positions to read at, numbers or words of the text; default: -1, the last"},
    {.name = "top",
     .argument = "K",
     .heading = "Lens",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct lens_args, top),
     .help = "print the K most probable tokens of each reading; default: 3"},
    {.name = "sites",
     .argument = "LIST",
     .heading = "Lens",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct lens_args, sites),
     .help = "read these sites too: resid_mid, resid_post; default: resid_pre of each layer and "
             "resid_post of the last"},
    {.name = "heads-out",
     .heading = "Lens",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct lens_args, reads_heads),
     .help = "read what each head by itself adds to the residual stream: the K largest and K "
             "smallest logits"},
};

static const struct option_group lens_options = OPTION_GROUP(lens_rows);

static const struct option_part parts[] = {
    QUESTION_INPUT_PARTS(offsetof(struct lens_args, question)),
    {&texts_options, offsetof(struct lens_args, texts)},
    {&target_options, offsetof(struct lens_args, answer)},
    {&lens_options, 0},
    QUESTION_PICTURE_PARTS(offsetof(struct lens_args, question)),
    QUESTION_PARTS(offsetof(struct lens_args, question)),
};

static int lens_main(int argc, char **argv);

const struct command command_lens = {
    .name = "lens",
    .summary = "what each layer already knows of the next token",
    .usage = "[OPTIONS] TEXT",
    .description =
        "Reads the residual stream of each layer with the model's own final norm and\n"
        "output matrix (the logit lens), and prints the most probable tokens, or with\n"
        "--target the rank of one. The last row is the model's own prediction. Over\n"
        "--texts the numbers are means and standard deviations by layer: of the target,\n"
        "or of the K largest probabilities, whichever tokens have them.\n"
        "\n"
        "The numbers say from which layer on an answer can be read off the residual\n"
        "stream. They do not say that an earlier layer lacks it: that layer may hold it\n"
        "in another form, as the final norm was trained for the last layer alone.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli lens -m fable --target ' are' --csv - \"The keys to the cabinet\"\n"
                "  attn-cli lens -m fable --heads-out --top 1 \"The keys to the cabinet\"\n"
                "  attn-cli lens -m fable --target ' are' --texts sentences.txt --lines\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = lens_main,
};

/* What pictures draw: of many texts there are no positions, and of these a target has no places. */
static struct attn_table_grid grid_of(const struct lens_args *args)
{
    const bool is_of_texts = args->texts.path;
    const bool has_target = args->answer.target || args->answer.target_id >= 0;
    struct attn_table_grid grid = {.rows = "layer", .positions = "position"};
    if (args->reads_heads) {
        grid.detail = is_of_texts ? NULL : "position";
        grid.columns = "head";
        grid.values = "logit";
        return grid;
    }
    grid.detail = "site";
    grid.columns = is_of_texts ? "place" : "position";
    grid.values = "prob";
    if (is_of_texts && has_target) {
        grid.detail = NULL;
        grid.columns = "site";
    }
    return grid;
}

static int ask(const struct lens_args *args, struct question *question,
               const struct attn_lens_args *how)
{
    struct attn_run *run = NULL; /* its tokens label pictures */
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    int code = EXIT_DONE;
    question->request.selection.queries = args->queries;
    question->request.selection.sites = args->sites;
    if (attn_lens(question->host, &question->request, how, &table, &err) != ATTN_OK)
        code = report_error(&err);
    question->request.on_note = NULL;
    question->request.selection.sites = NULL;
    if (code == EXIT_DONE && !args->texts.path && tables_have_pictures(&args->question.tables) &&
        attn_run_prepare(question->host, &question->request, &run, &err) != ATTN_OK)
        code = report_error(&err);
    if (run)
        question->grid.run = attn_run_labels(run);
    if (code == EXIT_DONE)
        code = question_write(question, table);
    attn_run_free(run);
    attn_table_free(table);
    return code;
}

static int lens(const struct lens_args *args, struct question *question)
{
    struct attn_lens_args how = ATTN_LENS_ARGS_DEFAULT;
    struct answer_ids ids;
    how.top = (size_t)args->top;
    how.answer = answer_of(&args->answer, &ids);
    how.reads_heads = args->reads_heads;
    question->grid = grid_of(args);
    int code = question_begin(question, &args->texts, &how.texts, &how.n_text);
    return code == EXIT_DONE ? ask(args, question, &how) : code;
}

static int lens_main(int argc, char **argv)
{
    struct lens_args args = {.question = QUESTION_ARGS_DEFAULT, .answer = ANSWER_ARGS_DEFAULT};
    struct question question = {
        .command = &command_lens, .args = &args.question, .example = EXAMPLE};
    int code = question_parse(&question, argc, argv, &args);
    if (code == OPTIONS_OK)
        code = lens(&args, &question);
    return question_close(&question, code);
}
