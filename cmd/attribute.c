/* attribute.c - attn-cli attribute: which part of the model writes a logit. */
#include "cmd/args/answer.h"
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"

#define EXAMPLE "attn-cli attribute --target ' are' --foil ' is' \"The keys to the cabinet\""

/* Values of --by, in the order of its words. */
enum attribute_by { BY_PART, BY_TOKEN };

struct attribute_args {
    struct question_args question;
    struct answer_args answer;
    struct texts_args texts;
    struct items_args items;
    int by; /* enum attribute_by */
};

static const struct option attribute_rows[] = {
    OPTION_CHOICE("by", "part|token", struct attribute_args, by,
                  "part (default): one row per part of the model. token: one row per head and "
                  "key that it read from, those with the 20 largest magnitudes, or as --sort and "
                  "--limit have it"),
};

static const struct option_group attribute_options = OPTION_GROUP("Attribution", attribute_rows);

static const struct option_part parts[] = {
    {&question_input_options, offsetof(struct attribute_args, question)},
    {&texts_options, offsetof(struct attribute_args, texts)},
    {&items_options, offsetof(struct attribute_args, items)},
    {&target_options, offsetof(struct attribute_args, answer)},
    {&foil_options, offsetof(struct attribute_args, answer)},
    {&at_options, offsetof(struct attribute_args, answer)},
    {&attribute_options, 0},
    {&question_picture_options, offsetof(struct attribute_args, question)},
    {&question_options, offsetof(struct attribute_args, question)},
};

static const struct attribute_args defaults = {
    .question = QUESTION_ARGS_DEFAULT, .answer = ANSWER_ARGS_DEFAULT, .items = ITEMS_ARGS_DEFAULT};

static enum attn_status attribute(struct call *call, struct attn_error *err);

const struct command command_attribute = {
    .name = "attribute",
    .summary = "how much each part of the model adds to a logit",
    .usage = "[OPTIONS] --target TEXT TEXT",
    .description =
        "Splits the logit of --target (minus that of --foil) after TEXT into what the\n"
        "embedding, the positions, each head, the biases and each MLP add to it. The\n"
        "final norm divides by a number that depends on all parts: this number is kept as\n"
        "it is in the run, so that the parts add up. The row `sum` is their sum, the row\n"
        "`model` the logit that the model computes.\n"
        "\n"
        "The numbers say which parts write the answer into the residual stream directly.\n"
        "They do not say which part found it: a head that only shows later heads where to\n"
        "look has a small share here. `attn-cli ablate` measures that. Over --texts the\n"
        "numbers are means and standard deviations.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli attribute -m fable --target ' are' --by token --limit 5 \\\n"
                "      \"The keys to the cabinet\"\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct attribute_args),
    .defaults = &defaults,
    .work = attribute,
};

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct attribute_args *args = question->call->args;
    const struct tables_args *tables = &args->question.tables;
    struct attn_attribute_args how = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct answer_ids ids;

    how.answer = answer_of(&args->answer, &ids);
    how.by_token = args->by == BY_TOKEN;
    how.n_most = (size_t)tables->n_most;
    if (tables->sort && how.by_token)
        how.n_most = SIZE_MAX; /* they are sorted before they are counted */
    question->grid = (struct attn_table_grid){.rows = "layer",
                                              .columns = "head",
                                              .values = "logit",
                                              .quantity = "part of @",
                                              .parts = "part",
                                              .asked = "written by each part of the model"};
    if (how.by_token)
        question->grid =
            (struct attn_table_grid){.rows = "layer",
                                     .detail = "head",
                                     .columns = "key",
                                     .texts = "token",
                                     .values = "logit",
                                     .quantity = "part of @",
                                     .asked = "written by each head, by the key it reads from"};
    ATTN_TRY(question_begin_items(question, &args->items, &args->texts, &how.study, err));
    if (!how.study)
        ATTN_TRY(question_begin(question, &args->texts, &how.texts, &how.n_text, err));
    ATTN_TRY(attn_attribute(question->host, &question->request, &how, &question->table, err));
    return question_write(question, err);
}

static enum attn_status attribute(struct call *call, struct attn_error *err)
{
    const struct attribute_args *args = call->args;
    const struct answer_args answer = {.target = args->answer.target,
                                       .foil = args->answer.foil,
                                       .target_id = args->answer.target_id,
                                       .foil_id = args->answer.foil_id,
                                       .metric = args->answer.foil || args->answer.foil_id >= 0
                                                     ? ATTN_ANSWER_LOGIT_DIFF
                                                     : ATTN_ANSWER_LOGIT};
    struct question question = {.call = call,
                                .args = &args->question,
                                .reuse = true,
                                .example = EXAMPLE,
                                .answer = &answer};

    return question_answer(&question, work, err);
}
