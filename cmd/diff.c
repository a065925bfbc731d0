/* diff.c - attn-cli diff: compares two texts, two models or two kinds of attention. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "parts.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Options for the second run of one text. */
#define WITH "with|with-adapter|with-attention|with-image"

#define EXAMPLE "attn-cli diff -m fable \"The key was old\" \"The keys was old\""

static const struct attn_param text_rows[] = {
    OPTION_TEXTS(NULL, "TEXT", struct question_args, prompt.plain, NULL),
    OPTION_TEXTS("sentence", "TEXT", struct question_args, prompt.plain,
                 "a text by name; may be repeated for the second text"),
};

static const struct attn_param_part parts[] = {
    {OPTION_LIST("Input", text_rows), 0},
    QUESTION_PART(option_question, prompt.asked),
    QUESTION_PART(attn_reading_params, prompt.asked),
    QUESTION_PART(attn_pair_params, prompt.asked),
    QUESTION_PART(attn_source_params, prompt.asked),
    QUESTION_PART(attn_image_params, prompt.asked),
    QUESTION_PART(attn_picture_prompt_params, prompt.asked),
    QUESTION_PART(attn_chat_params, prompt.asked),
    QUESTION_PART(attn_study_params, items),
    QUESTION_PART(attn_restart_params, items),
    QUESTION_PICTURE_OPTIONS,
    QUESTION_OPTIONS,
};

/* What is needed for the second run. */
struct other {
    struct attn_host *host; /* NULL: uses the host of the first run */
    struct attn_request request;
    struct attn_attention_args attention;
    const int32_t *a_ids, *b_ids; /* owns */
};

static void release_other(void *own)
{
    struct other *other = own;

    model_host_close(other->host);
    attn_attention_args_release(&other->attention);
    attn_free((void *)(uintptr_t)other->a_ids);
    attn_free((void *)(uintptr_t)other->b_ids);
}

/* Whether the maps of one head are asked for. */
static bool is_of_maps(const struct question *question)
{
    const enum attn_figure figure = question->args->tables.picture.options.figure;

    return option_text(question->call, "heads") &&
           (figure == ATTN_FIGURE_DEFAULT || figure == ATTN_FIGURE_MATRIX);
}

static enum attn_status check(const struct question *question, struct attn_error *err)
{
    const struct call *call = question->call;
    const size_t n =
        question->args->prompt.plain.n + !!option_text(call, "ids") + !!option_text(call, "b-ids");
    const bool has_with = option_find_given(call, WITH) != NULL;
    const char *unused = option_find_given(call, "items|sort|where|limit");
    const bool is_pair = question->args->tables.picture.options.figure == ATTN_FIGURE_PAIR;
    const bool is_one = is_pair || is_of_maps(question);

    ATTN_TRY(question_check(question, err));
    if (!is_one && option_find_given(call, "heads|queries"))
        return refuse(err, NULL,
                      "`heads` and `queries` choose the row of `figure pair`, or the head of "
                      "`figure matrix`");
    if (is_one && unused)
        return refuse(err, NULL, "`%s` has no effect on `figure %s` of one head", unused,
                      is_pair ? "pair" : "matrix");
    if (is_pair && !option_text(call, "heads"))
        return refuse(err, NULL, "`figure pair` shows one head: `heads 2.5`");
    if (question->args->items.asked.items.path)
        return ATTN_OK;
    if (n == 0)
        return refuse(err, EXAMPLE, "no text given");
    if (has_with && n != 1)
        return refuse(err, NULL,
                      "`with`, `with_adapter` and `with_attention` compare one text, %zu are given",
                      n);
    if (!has_with && n != 2)
        return refuse(err,
                      n == 3   ? "put a text of several words in quotes; models: -m A --with B TEXT"
                      : n == 1 ? "attn-cli diff TEXT TEXT, or attn-cli diff --with MODEL TEXT"
                               : "put a text of several words in quotes",
                      "%zu text%s given, expected two, or one and `with`, `with_adapter` or "
                      "`with_attention`",
                      n, n == 1 ? " is" : "s are");
    return ATTN_OK;
}

/* Sets INPUT to TEXT or to the ids in LIST, each of which may be NULL. The caller frees *ids. */
static enum attn_status read_input(const char *text, const char *list, struct attn_input *input,
                                   const int32_t **ids, struct attn_error *err)
{
    static const struct attn_param row =
        ATTN_PARAM(IDS, "ids", "LIST", struct attn_input, ids, NULL,
                   .second = offsetof(struct attn_input, n_id));
    enum attn_status status = ATTN_OK;

    input->text = text;
    input->n_text = text ? strlen(text) : 0;
    input->ids = NULL;
    if (list)
        status = attn_param_set(&row, input, "--ids", list, err);
    *ids = input->ids;
    return status;
}

/* Reads the texts or ids of both runs. */
static enum attn_status read_inputs(const struct question *question, struct attn_input *a,
                                    struct attn_input *b, struct other *other,
                                    struct attn_error *err)
{
    const struct text_list *texts = &question->args->prompt.plain;
    const char *a_ids = option_text(question->call, "ids");
    const char *b_ids = option_text(question->call, "b-ids");
    const size_t at = !a_ids; /* index of the text of B */
    const char *text_a = a_ids || texts->n == 0 ? NULL : texts->items[0];
    const char *text_b = b_ids || at >= texts->n ? NULL : texts->items[at];

    ATTN_TRY(read_input(text_a, a_ids, a, &other->a_ids, err));
    ATTN_TRY(read_input(text_b, b_ids, b, &other->b_ids, err));
    if (!a->text && !a->ids)
        *a = *b;
    if (!b->text && !b->ids)
        *b = *a;
    return ATTN_OK;
}

/* Opens the model and the attention of the second run, if they differ from those of the first. */
static enum attn_status open_other(struct question *question, struct other *other,
                                   struct attn_error *err)
{
    const char *adapter = option_text(question->call, "with-adapter");
    struct model_args model = question->args->model;
    struct model_source source;
    enum attn_status status;

    if (option_text(question->call, "with-attention")) {
        other->attention = question->args->attention;
        other->attention.kind = option_text(question->call, "with-attention");
        status = attn_attention_args_check(&other->attention, err);
        if (status != ATTN_OK) /* of this option, not of --attention */
            snprintf(err->fields, sizeof err->fields, "with_attention");
        ATTN_TRY(status);
        ATTN_TRY(attn_attention_args_open(&other->attention, err));
        other->request.attention.change = &other->attention.change;
    }
    if (option_text(question->call, "with"))
        model.name = option_text(question->call, "with");
    if (adapter)
        model.adapter = adapter;
    if (!adapter && !option_text(question->call, "with"))
        return ATTN_OK;
    ATTN_TRY(model_source_find(&model, &question->args->running, &source, err));
    ATTN_TRY(model_host_open(&source.source, &model, &question->args->running, false, &other->host,
                             err));
    attn_buffer_append_format(&question->call->key, "%016" PRIx64 "\n",
                              attn_seal_model(other->host));
    question->items.each.key = attn_buffer_string(&question->call->key);
    return question->items.each.key ? ATTN_OK : attn_error_no_memory(err);
}

static void note_sum(const struct question *question, const struct attn_diff_sum *sum)
{
    const double n = (double)sum->n_token;
    const bool is_of_two_models =
        option_text(question->call, "with") || option_text(question->call, "with-adapter");

    if (is_of_two_models && sum->n_token > 0 && question_has_sum(question, sum->n_token))
        note("predictions of %zu token%s: mean KL %.6f nats, the same token first in %.2f %%, "
             "perplexity %.4f and %.4f",
             sum->n_token, sum->n_token == 1 ? "" : "s", sum->kl / n,
             100 * (double)sum->n_same_top / n, attn_exp(sum->nats / n),
             attn_exp(sum->other_nats / n));
    if (sum->n_same > 0)
        note("the first %zu row%s of each head %s the same to the bit: their tokens are the same",
             sum->n_same, sum->n_same == 1 ? "" : "s", sum->n_same == 1 ? "is" : "are");
    if (sum->is_aligned)
        note("the texts differ in length: %zu row%s of their common beginning and end %s compared",
             sum->n_row, sum->n_row == 1 ? "" : "s", sum->n_row == 1 ? "is" : "are");
}

/* Writes maps. Their pictures show the tokens of both texts where these differ. */
static enum attn_status write_maps(struct question *question, struct attn_error *err)
{
    struct other *other = question->own;
    const struct attn_input *inputs[] = {&question->request.input, &other->request.input};
    const bool is_one = inputs[0]->text == inputs[1]->text;
    struct attn_run *b = NULL;
    enum attn_status status;

    for (size_t i = 0; i < (is_one ? 1 : 2); i++)
        question->picture.texts[i] = (struct attn_figure_text){is_one   ? NULL
                                                               : i == 0 ? "a"
                                                                        : "b",
                                                               inputs[i]->text, inputs[i]->n_text};
    other->request.on_note = NULL;
    status = attn_run_prepare(other->host ? other->host : question->host, &other->request, &b, err);
    if (status == ATTN_OK) {
        question->picture.other_run = attn_run_labels(b);
        status = question_write(question, err);
    }
    attn_run_free(b);
    return status;
}

/* Writes one row of one head for both texts, or its maps, and draws them. */
static enum attn_status draw_pair(struct question *question, const struct attn_diff_args *how,
                                  struct attn_error *err)
{
    struct other *other = question->own;
    const bool is_map = is_of_maps(question);

    question->request.selection.heads = option_text(question->call, "heads");
    question->request.selection.queries.text = option_text(question->call, "queries");
    other->request.selection = question->request.selection;
    ATTN_TRY((is_map ? attn_pair_maps : attn_pair)(question->host, &question->request, how,
                                                   &question->table, err));
    question->name = NULL; /* this table has another picture */
    question->picture.view = is_map ? attn_pair_map_view : attn_pair_view;
    question->picture.n_label = is_map;
    attn_pair_name_models(question->host, how, &question->picture, question->picture.means,
                          sizeof question->picture.means);
    snprintf(question->picture.words, sizeof question->picture.words, "weights of head %s",
             question->request.selection.heads);
    question->picture.view.quantity = question->picture.words;
    return is_map ? write_maps(question, err) : question_write(question, err);
}

static enum attn_status compare(struct question *question, struct attn_error *err)
{
    struct other *other = question->own;
    struct attn_diff_args *how = question->how;
    struct attn_diff_sum sum = ATTN_DIFF_SUM_DEFAULT;

    other->request = question->request;
    ATTN_TRY(open_other(question, other, err));
    ATTN_TRY(read_inputs(question, &question->request.input, &other->request.input, other, err));
    other->request.input.image = option_text(question->call, "with-image");
    other->request.input.images = NULL;
    other->request.input.n_image = 0;
    attn_input_share(&question->request.input, &other->request.input); /* the pair, too */
    attn_input_share_prompt(&question->request.input, &other->request.input);
    other->request.source = question->request.source;
    how->host = other->host;
    if (!how->study || option_find_given(question->call, WITH))
        how->request = &other->request;
    if (question->args->tables.picture.options.figure == ATTN_FIGURE_PAIR || is_of_maps(question))
        return draw_pair(question, how, err);
    ATTN_TRY(attn_diff(question->host, &question->request, how, &question->table, &sum, err));
    ATTN_TRY(question_write(question, err));
    if (question_is_noted(question))
        note_sum(question, &sum);
    return ATTN_OK;
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    ATTN_TRY(check(question, err));
    ATTN_TRY(question_begin_items(question, err));
    if (!question->study)
        ATTN_TRY(question_open(question, err));
    return compare(question, err);
}

const struct command command_diff = {
    .name = "diff",
    .question = &attn_question_diff,
    .usage = "[OPTIONS] TEXT [TEXT]",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli diff -m smollm2/ --with smollm2-Q4_1.gguf \"The key was old\"\n"
                "  attn-cli diff -m fable --with-attention window:4 --csv - \"The keys to the\"\n",
    OPTION_PARTS(parts),
    .lacks = "label",
    .args_size = sizeof(struct question_args),
    .defaults = &question_args_default,
    .ask = work,
    .own_size = sizeof(struct other),
    .release = release_other,
};
