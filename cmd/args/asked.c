#include "cmd/args/asked.h"

#include "cmd/args/question.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "parts.h"
#include "tool.h"

const double asked_most = 2e11;

/* The module draws plates at once; its page then asks `ablate` for what is missing. */
#ifdef __wasm__
static const unsigned missing = 0;
#else
static const unsigned missing = ATTN_ANSWER_MISSING;
#endif

bool asked_has_next(const struct question *question)
{
    const struct attn_model *model = attn_host_model(question->host);
    const struct attn_config *config = model ? attn_model_config(model) : NULL;

    return config && !config->is_encoder && config->output != ATTN_OUTPUT_NONE &&
           !option_find_given(question->call, "source|image");
}

double asked_cost(const struct question *question)
{
    const struct attn_config *config = attn_model_config(attn_host_model(question->host));
    const struct attn_request *request = &question->request;
    const double n_byte = 3, d = (double)config->d_model,
                 n = (double)request->input.n_text / n_byte + (double)request->input.n_id;

    return 12 * d * d * (double)config->n_layer * n;
}

const char *asked_other(const struct question *question)
{
    return option_find_given(
        question->call, "explain|heads|layers|sites|heatmap|top|next|label|grad|embeds|key-mask");
}

static bool is_page(const struct question *question)
{
    return output_path(&question->args->tables.output, "html") != NULL;
}

bool asked_is_given(const struct attn_answer_args *answer)
{
    return answer->target || answer->target_id || answer->foil || answer->foil_id ||
           answer->at.text;
}

void asked_give(struct question *question, const struct attn_answer_args *answer)
{
    const bool is_screen = terminal_room(0) > 0 && question->tensors.has_first_screen &&
                           !outputs_are_wanted(&question->args->tables.output) &&
                           !asked_other(question);
    struct asked *asked = &question->asked;

    asked->is_given = true;
    asked->is_used =
        is_screen || is_page(question) || question->tensors.look.figure == ATTN_FIGURE_ANSWER;
    asked->args = *answer;
    if (!asked->is_used || answer->target || answer->target_id)
        question->request.predict.answer = &asked->args;
}

bool asked_place(struct question *question, size_t first, size_t n)
{
    struct asked *asked = &question->asked;

    if (first == 0 || first >= n || attn_number_list_is_given(&asked->args.at) ||
        attn_number_list_is_given(&question->request.selection.queries))
        return false;
    asked->at = (int64_t)first - 1;
    asked->args.at = (struct attn_number_list){.items = &asked->at, .n = 1};
    return asked->table != NULL;
}

/* Returns an error if the options ask a question that nothing answers. */
static enum attn_status check_answered(const struct question *question,
                                       const struct attn_error *failure, struct attn_error *err)
{
    if (failure->status == ATTN_NO_MEMORY)
        return attn_error_copy(err, failure);
    if (!question->asked.is_used || question->request.predict.answer || question->asked.table ||
        question->tensors.look.figure == ATTN_FIGURE_ANSWER)
        return ATTN_OK;
    if (failure->status != ATTN_OK)
        return attn_error_copy(err, failure);
    return refuse(err, "`target` names the token that is measured",
                  "`foil` and `at` ask no question here");
}

enum attn_status asked_open(struct question *question, struct attn_error *err)
{
    enum { FEW = 48 };
    const struct attn_model *model = attn_host_model(question->host);
    const bool is_live = option_text(question->call, "live") != NULL;
    const bool is_drawn =
        is_page(question) &&
        (!is_live || attn_model_config(model)->n_layer * attn_model_config(model)->n_head > FEW);
    struct attn_picture_options look = ATTN_PICTURE_OPTIONS_DEFAULT;
    struct attn_request request = question->request;
    struct asked *asked = &question->asked;
    struct attn_table_picture picture;
    struct attn_error failure = {0};

    if (!(question->tensors.has_first_screen || is_page(question)) || !asked_has_next(question) ||
        (!is_drawn && outputs_are_wanted(&question->args->tables.output)) ||
        (asked->is_given && !asked->is_used) || asked_other(question) ||
        option_find_given(question->call, "queries|figure") ||
        3 * asked_cost(question) > asked_most)
        return check_answered(question, &failure, err);
    request.selection.queries = (struct attn_number_list){0}; /* a page has all */
    request.predict.answer = &asked->args;
    attn_answer_heads(question->host, &request,
                      (is_drawn ? ATTN_ANSWER_SIDES : 0) | ATTN_ANSWER_MISSING, &asked->table,
                      &picture, &failure);
    question->tensors.look.answer = asked->table;
    if (is_drawn && asked->table && attn_sink_create_memory(&asked->drawn, &failure) == ATTN_OK) {
        const struct attn_output output = {.format = attn_format_find("svg"), .sink = asked->drawn};

        look.figure_width = 620;
        look.font_size = 11;
        if (attn_table_picture_write(asked->table, &picture, &look, &output, &failure) == ATTN_OK)
            question->tensors.look.opening = asked->drawn;
    }
    return check_answered(question, &failure, err);
}

enum attn_status asked_draw(struct question *question, struct attn_error *err)
{
    struct attn_request request = question->request;
    const size_t n = request.outputs.n;
    size_t n_left = 0;

    request.predict.answer = &question->asked.args;
    ATTN_TRY(attn_answer_heads(question->host, &request, ATTN_ANSWER_SIDES | missing,
                               &question->table, &question->picture, err));
    for (size_t i = 0; i < n; i++) {
        const struct attn_output *output = &question->tensors.outputs[i];

        if (output->format == attn_format_find("heatmap"))
            ATTN_TRY(attn_answer_lines(question->table, question->tensors.look.width, output->sink,
                                       err));
        else if (output->format->is_picture)
            ATTN_TRY(attn_table_picture_write(question->table, &question->picture,
                                              &question->tensors.look, output, err));
        else
            question->tensors.outputs[n_left++] = *output;
    }
    question->request.outputs.n = n_left;
    question->tensors.look.figure = ATTN_FIGURE_DEFAULT; /* no other output draws */
    return ATTN_OK;
}

void asked_release(struct asked *asked)
{
    attn_table_free(asked->table);
    attn_sink_free(asked->drawn);
    asked->table = NULL;
    asked->drawn = NULL;
}
