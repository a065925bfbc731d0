/* lens.c - attn-cli lens: what each layer already knows of the next token. */
#include "answer_args.h"
#include "options.h"
#include "question.h"
#include "report.h"

#include "attn.h"

#define EXAMPLE "attn-cli lens -m fable \"The keys to the cabinet\""

struct lens_args {
    struct question_args question;
    struct answer_args answer;
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
     .help = "positions to read at, numbers or words of the text; default -1, the last"},
    {.name = "top",
     .argument = "K",
     .heading = "Lens",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct lens_args, top),
     .help = "the K most probable tokens of each reading; default 3"},
    {.name = "sites",
     .argument = "LIST",
     .heading = "Lens",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct lens_args, sites),
     .help =
         "read these too: resid_mid, resid_post; default resid_pre of each layer and resid_post "
         "of the last"},
    {.name = "heads-out",
     .heading = "Lens",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct lens_args, reads_heads),
     .help = "read what each head adds to the stream, alone: the K largest and K smallest logits"},
};

static const struct option_group lens_options = OPTION_GROUP(lens_rows);

static const struct option_part parts[] = {
    QUESTION_INPUT_PARTS(offsetof(struct lens_args, question)),
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
    .description = "Reads the residual stream of each layer with the model's own final norm and\n"
                   "output matrix (the logit lens), and prints the most probable tokens, or with\n"
                   "--target the rank of one. The last row is the model's own prediction.\n\n"
                   "The numbers say where in the depth of the model an answer can be read off the\n"
                   "stream. They do not say that an early layer lacks what it knows in another\n"
                   "form: the final norm was trained for the last layer alone.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli lens -m fable --target ' are' --csv - \"The keys to the cabinet\"\n"
                "  attn-cli lens -m fable --heads-out --top 1 \"The keys to the cabinet\"\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = lens_main,
};

static int lens(const struct lens_args *args, struct question *question)
{
    struct attn_lens_args how = ATTN_LENS_ARGS_DEFAULT;
    struct answer_ids ids;
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    how.top = (size_t)args->top;
    how.answer = answer_of(&args->answer, &ids);
    how.reads_heads = args->reads_heads;
    question->grid =
        args->reads_heads
            ? (struct attn_table_grid){.rows = "layer",
                                       .detail = "position",
                                       .columns = "head",
                                       .values = "logit"}
            : (struct attn_table_grid){
                  .rows = "layer", .detail = "site", .columns = "position", .values = "prob"};
    int code = prompt_check(&args->question.prompt, EXAMPLE);
    if (code == EXIT_DONE)
        code = question_open(question);
    if (code == EXIT_DONE)
        code = question_read(question);
    question->request.queries = args->queries;
    question->request.sites = args->sites;
    if (code == EXIT_DONE &&
        attn_lens(question->host, &question->request, &how, &table, &err) != ATTN_OK)
        code = report_error(&err);
    if (code == EXIT_DONE)
        code = question_write(question, table);
    attn_table_free(table);
    return code;
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
