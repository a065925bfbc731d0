/* patch.c - attn-cli patch: where the difference between two texts lives. */
#include "cmd/args/answer.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"

#include <stdio.h>
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
    OPTION_TEXT("clean", "TEXT", struct patch_args, clean, "the text whose answer is restored"),
    OPTION_TEXT("corrupted", "TEXT", struct patch_args, corrupted,
                "the same text with a difference; it must have as many tokens"),
    OPTION_TEXT("clean-ids", "LIST", struct patch_args, clean_ids,
                "token ids instead of --clean: 5,17,3"),
    OPTION_TEXT("corrupted-ids", "LIST", struct patch_args, corrupted_ids,
                "token ids instead of --corrupted"),
};

static const struct option_group patch_options = OPTION_GROUP("Input", patch_rows);

static const struct option piece_rows[] = {
    OPTION_TEXT("sites", "SITE", struct patch_args, site,
                "what is copied from the other run: resid_pre (default), resid_mid, resid_post, "
                "attn_out or mlp_out at one position, or q, k, v, z or pattern of one head"),
    OPTION_TEXT("queries", "SPEC", struct patch_args, queries,
                "copy only these positions of a head, numbers or words of the clean text"),
    OPTION_CHOICE("direction", "restore|noise", struct patch_args, direction,
                  "restore (default): copy from the clean run into the corrupted one; noise: the "
                  "other way round"),
};

static const struct option_group piece_options = OPTION_GROUP("Patching", piece_rows);

static const struct option_part parts[] = {
    {&patch_options, 0},
    {&special_options, offsetof(struct patch_args, question.prompt)},
    {&answer_options, offsetof(struct patch_args, answer)},
    {&piece_options, 0},
    {&control_options, offsetof(struct patch_args, control)},
    {&question_picture_options, offsetof(struct patch_args, question)},
    {&question_options, offsetof(struct patch_args, question)},
};

static const struct patch_args defaults = {.question = QUESTION_ARGS_DEFAULT,
                                           .answer = ANSWER_ARGS_DEFAULT};

static enum attn_status patch(struct call *call, struct attn_error *err);

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
    OPTION_PARTS(parts),
    .args_size = sizeof(struct patch_args),
    .defaults = &defaults,
    .work = patch,
};

static enum attn_status check_one(const char *name, const char *text, const char *ids,
                                  struct attn_error *err)
{
    if (!text == !ids)
        return refuse(err, EXAMPLE, "--%s%s", name,
                      text ? " is given as a text and as ids" : " is not given");
    return ATTN_OK;
}

/* Puts TEXT or the ids of LIST into INPUT; *owned are the ids. */
static enum attn_status read_one(const char *text, const char *list, struct attn_input *input,
                                 int32_t **owned, struct attn_error *err)
{
    *input = (struct attn_input){.text = text, .n_text = text ? strlen(text) : 0};
    if (list)
        ATTN_TRY(ids_parse(list, owned, &input->n_id, err));
    input->ids = *owned;
    return ATTN_OK;
}

/* Writes the table. Its pictures show both texts, and where their tokens differ both of these. */
static enum attn_status write_drawn(struct question *question, const struct attn_patch_args *how,
                                    struct attn_error *err)
{
    struct attn_table_grid *grid = &question->grid;
    struct attn_request request = question->request;
    struct attn_run *clean = NULL, *corrupted = NULL;
    char asked[64];
    enum attn_status status;

    grid->columns = attn_table_column(question->table, 2)->name; /* position, head or kv_head */
    snprintf(asked, sizeof asked, "by %s of each %s", how->site ? how->site : "resid_pre",
             grid->columns);
    grid->asked = asked;
    if (how->is_to_noise)
        grid->quantity = "share of the clean answer lost";
    grid->text = request.input.text;
    grid->n_text = request.input.n_text;
    grid->other = how->corrupted.text;
    grid->n_other = how->corrupted.n_text;
    request.on_note = NULL;
    request.selection.queries = NULL;
    status = attn_run_prepare(question->host, &request, &clean, err);
    request.input = how->corrupted;
    if (status == ATTN_OK)
        status = attn_run_prepare(question->host, &request, &corrupted, err);
    if (status == ATTN_OK) {
        grid->run = attn_run_labels(clean);
        grid->other_run = attn_run_labels(corrupted);
        status = question_write(question, err);
    }
    attn_run_free(clean);
    attn_run_free(corrupted);
    return status;
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct patch_args *args = question->call->args;
    struct attn_patch_args how = ATTN_PATCH_ARGS_DEFAULT;
    int32_t **ids = question->own;
    struct attn_patch_sum sum = {0};
    struct answer_ids answer_ids;

    ATTN_TRY(check_one("clean", args->clean, args->clean_ids, err));
    ATTN_TRY(check_one("corrupted", args->corrupted, args->corrupted_ids, err));
    ATTN_TRY(control_read(&args->control, &how.n_control, &how.seed, err));
    question->grid = (struct attn_table_grid){.rows = "layer",
                                              .values = "effect",
                                              .positions = "position",
                                              .text_name = "clean",
                                              .other_name = "corrupted"};
    ATTN_TRY(question_open(question, err));
    ATTN_TRY(read_one(args->clean, args->clean_ids, &question->request.input, &ids[0], err));
    ATTN_TRY(read_one(args->corrupted, args->corrupted_ids, &how.corrupted, &ids[1], err));
    question->request.selection.queries = args->queries;
    how.answer = answer_of(&args->answer, &answer_ids);
    how.site = args->site;
    how.is_to_noise = args->direction == DIRECTION_NOISE;
    ATTN_TRY(attn_patch(question->host, &question->request, &how, &question->table, &sum, err));
    if (tables_have_pictures(&args->question.tables))
        ATTN_TRY(write_drawn(question, &how, err));
    else
        ATTN_TRY(question_write(question, err));
    if (question_is_noted(question))
        note("the answer is %.6g for the clean text, %.6g for the corrupted one; the first piece "
             "changed %zu row%s of %s; %zu runs",
             sum.clean, sum.corrupted, sum.n_row, sum.n_row == 1 ? "" : "s",
             args->site ? args->site : "resid_pre", sum.n_feed);
    return ATTN_OK;
}

static enum attn_status patch(struct call *call, struct attn_error *err)
{
    const struct patch_args *args = call->args;
    int32_t *ids[2] = {NULL, NULL};
    struct question question = {.call = call,
                                .args = &args->question,
                                .reuse = true,
                                .example = EXAMPLE,
                                .answer = &args->answer,
                                .own = ids};
    const enum attn_status status = question_answer(&question, work, err);

    free(ids[0]);
    free(ids[1]);
    return status;
}
