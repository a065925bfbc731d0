/* patch.c - attn-cli patch: where the difference between two texts lives. */
#include "cmd/args/answer.h"
#include "cmd/args/control.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"

#include <stdlib.h>
#include <string.h>

#define EXAMPLE                                                                                    \
    "attn-cli patch --clean \"The keys near the door\" --corrupted \"The key near the door\" "     \
    "--target ' are' --foil ' is'"

/* Values of --direction, in the order of its words. */
enum patch_direction { DIRECTION_RESTORE, DIRECTION_NOISE };

struct patch_args {
    struct question_args question;
    struct answer_args answer;
    struct control_args control;
    const char *clean, *corrupted, *clean_ids, *corrupted_ids; /* NULL: not given */
    const char *site, *queries;
    int direction; /* enum patch_direction */
};

static const struct option patch_rows[] = {
    {.name = "clean",
     .argument = "TEXT",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct patch_args, clean),
     .help = "the text whose answer is restored"},
    {.name = "corrupted",
     .argument = "TEXT",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct patch_args, corrupted),
     .help = "the same text with a difference; it must have as many tokens"},
    {.name = "clean-ids",
     .argument = "LIST",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct patch_args, clean_ids),
     .help = "token ids instead of --clean: 5,17,3"},
    {.name = "corrupted-ids",
     .argument = "LIST",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct patch_args, corrupted_ids),
     .help = "token ids instead of --corrupted"},
};

static const struct option_group patch_options = OPTION_GROUP(patch_rows);

static const struct option piece_rows[] = {
    {.name = "sites",
     .argument = "SITE",
     .heading = "Patching",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct patch_args, site),
     .help = "what is copied from the other run: resid_pre (default), resid_mid, resid_post, "
             "attn_out or mlp_out at one position, or q, k, v, z or pattern of one head"},
    {.name = "queries",
     .argument = "SPEC",
     .heading = "Patching",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct patch_args, queries),
     .help = "copy only these positions of a head, numbers or words of the clean text"},
    {.name = "direction",
     .argument = "restore|noise",
     .heading = "Patching",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct patch_args, direction),
     .help = "restore (default): copy from the clean run into the corrupted one; noise: the other "
             "way round"},
};

static const struct option_group piece_options = OPTION_GROUP(piece_rows);

static const struct option_part parts[] = {
    {&patch_options, 0},
    {&special_options, offsetof(struct patch_args, question.prompt)},
    {&target_options, offsetof(struct patch_args, answer)},
    {&foil_options, offsetof(struct patch_args, answer)},
    {&at_options, offsetof(struct patch_args, answer)},
    {&metric_options, offsetof(struct patch_args, answer)},
    {&piece_options, 0},
    {&control_options, offsetof(struct patch_args, control)},
    QUESTION_PICTURE_PARTS(offsetof(struct patch_args, question)),
    QUESTION_PARTS(offsetof(struct patch_args, question)),
};

static int patch_main(int argc, char **argv);

const struct command command_patch = {
    .name = "patch",
    .summary = "which part of the model carries the difference of two texts",
    .usage = "[OPTIONS] --clean TEXT --corrupted TEXT --target TEXT",
    .description =
        "Runs the corrupted text again and again, each time with another piece copied\n"
        "from the clean run, and prints how much of the clean answer that restores:\n"
        "effect 1 is all of the difference, 0 is none. The first rows are the two runs\n"
        "without a copy.\n"
        "\n"
        "The numbers say which layers and positions, or which heads, carry the difference\n"
        "between these two texts. They do not say what else the answer needs: what both\n"
        "texts share has no effect, and pieces that only work together show nothing\n"
        "alone.\n",
    .examples = "  attn-cli patch --clean \"The keys near the door\" \\\n"
                "      --corrupted \"The key near the door\" --target ' are' --foil ' is'\n"
                "  attn-cli patch --sites z --direction noise --clean \"The keys near it\" \\\n"
                "      --corrupted \"The key near it\" --target ' are' --foil ' is' --csv -\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = patch_main,
};

static int check_one(const char *name, const char *text, const char *ids)
{
    if (!text == !ids)
        return report_problem(EXIT_USAGE, EXAMPLE, "--%s%s", name,
                              text ? " is given as a text and as ids" : " is not given");
    return EXIT_DONE;
}

/* Puts TEXT or the ids of LIST into INPUT; *owned are the ids. */
static int read_one(const char *text, const char *list, struct attn_input *input, int32_t **owned)
{
    int code = EXIT_DONE;
    *input = (struct attn_input){.text = text, .n_text = text ? strlen(text) : 0};
    if (list)
        code = ids_parse(list, owned, &input->n_id);
    input->ids = *owned;
    return code;
}

static int patch(const struct patch_args *args, struct question *question, int32_t *ids[2])
{
    struct attn_patch_args how = ATTN_PATCH_ARGS_DEFAULT;
    struct answer_ids answer_ids;
    struct attn_patch_sum sum = {0};
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    int code = check_one("clean", args->clean, args->clean_ids);
    if (code == EXIT_DONE)
        code = check_one("corrupted", args->corrupted, args->corrupted_ids);
    if (code == EXIT_DONE)
        code = control_read(&args->control, &how.n_control, &how.seed);
    question->grid =
        (struct attn_table_grid){.rows = "layer", .texts = "token", .values = "effect"};
    if (code == EXIT_DONE)
        code = question_open(question);
    if (code == EXIT_DONE)
        code = read_one(args->clean, args->clean_ids, &question->request.input, &ids[0]);
    if (code == EXIT_DONE)
        code = read_one(args->corrupted, args->corrupted_ids, &how.corrupted, &ids[1]);
    question->request.selection.queries = args->queries;
    how.answer = answer_of(&args->answer, &answer_ids);
    how.site = args->site;
    how.is_to_noise = args->direction == DIRECTION_NOISE;
    if (code == EXIT_DONE &&
        attn_patch(question->host, &question->request, &how, &table, &sum, &err) != ATTN_OK)
        code = report_error(&err);
    if (code == EXIT_DONE) { /* by position, head or kv_head */
        question->grid.columns = attn_table_column(table, 2)->name;
        code = question_write(question, table);
    }
    if (code == EXIT_DONE && !args->question.running.is_quiet)
        note("the answer is %.6g for the clean text, %.6g for the corrupted one; the first piece "
             "changed %zu row%s of %s; %zu runs",
             sum.clean, sum.corrupted, sum.n_row, sum.n_row == 1 ? "" : "s",
             args->site ? args->site : "resid_pre", sum.n_feed);
    attn_table_free(table);
    return code;
}

static int patch_main(int argc, char **argv)
{
    struct patch_args args = {.question = QUESTION_ARGS_DEFAULT, .answer = ANSWER_ARGS_DEFAULT};
    struct question question = {
        .command = &command_patch, .args = &args.question, .reuse = true, .example = EXAMPLE};
    int32_t *ids[2] = {NULL, NULL};
    int code = question_parse(&question, argc, argv, &args);
    if (code == OPTIONS_OK)
        code = patch(&args, &question, ids);
    free(ids[0]);
    free(ids[1]);
    return question_close(&question, code);
}
