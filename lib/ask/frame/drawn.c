#include "frame/drawn.h"

#include "base/text/fixed_text.h"
#include "figures/table_grid.h"
#include "frame/frame.h"
#include "frame/question_internal.h"
#include "predict/answer_internal.h"
#include "tables/table_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns the index in TABLE of a column of a view of PROCEDURE; SIZE_MAX if TABLE lacks it. */
static size_t find(const struct attn_procedure *procedure, const struct attn_table *table,
                   unsigned column)
{
    const unsigned first = ATTN_TABLE_COLUMN(0);

    return column < first ? attn_table_view_find(table, column)
                          : attn_table_find(table, procedure->table.columns[column - first].name);
}

/* Returns true if TABLE has all columns that VIEW needs. */
static bool fits(const struct attn_procedure *procedure, const struct attn_table *table,
                 const struct attn_table_view *view)
{
    return find(procedure, table, view->rows) < SIZE_MAX &&
           find(procedure, table, view->columns) < SIZE_MAX &&
           (view->values == 0 || find(procedure, table, view->values) < SIZE_MAX) &&
           (view->detail == 0 || find(procedure, table, view->detail) < SIZE_MAX);
}

static struct attn_table_view choose(const struct attn_procedure *procedure,
                                     const struct attn_table *table)
{
    for (size_t i = 0; i < procedure->table.n_view; i++)
        if (!table || fits(procedure, table, &procedure->table.views[i]))
            return procedure->table.views[i];
    return (struct attn_table_view){.rows = 0};
}

/* Replaces the columns of the view by their indices in TABLE. */
static void resolve_columns(const struct attn_procedure *procedure, const struct attn_table *table,
                            struct attn_table_view *view)
{
    unsigned *const columns[] = {&view->rows,  &view->detail, &view->columns,
                                 &view->texts, &view->values, &view->cells};

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const size_t found = find(procedure, table, *columns[i]);

        *columns[i] = found < SIZE_MAX ? ATTN_TABLE_COLUMN(found) : 0;
    }
}

/* Notes in the view whether the table has an order that was asked for, and lets a view with
 * ATTN_VIEW_SORTED show the column by which it is sorted. */
static void follow_sort(const struct attn_procedure *procedure, const void *args,
                        struct attn_drawn *drawn)
{
    struct attn_table_view *view = &drawn->picture->view;
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    const char *sort;

    attn_question_order(procedure->question, args, &order);
    if (order.sort || order.n_most > 0)
        view->traits |= ATTN_VIEW_ORDERED;
    sort = (view->traits & ATTN_VIEW_SORTED) != 0 ? order.sort : NULL;
    for (size_t i = 0; sort && i < attn_table_n_column(drawn->table); i++) {
        const char *name = attn_table_column(drawn->table, i)->name;

        if (strlen(name) == strcspn(sort, ":") && strncmp(sort, name, strlen(name)) == 0)
            view->values = ATTN_TABLE_COLUMN(i);
    }
}

bool attn_drawn_ask(struct attn_drawn *drawn, const char *format, ...)
{
    struct attn_table_picture *picture = drawn->picture;
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(picture->words, sizeof picture->words, format, args);
    va_end(args);
    picture->view.asked = picture->words;
    return size >= 0 && (size_t)size < sizeof picture->words;
}

/* Returns the text of INPUT, or the file name of its picture. */
static struct attn_figure_text text_of(const struct attn_input *input)
{
    return (struct attn_figure_text){NULL, input->image ? input->image : input->text,
                                     input->image ? strlen(input->image) : input->n_text};
}

void attn_drawn_name_pair(struct attn_drawn *drawn, const char *name, const char *other_name,
                          const struct attn_input *other)
{
    struct attn_figure_text *texts = drawn->picture->texts;

    texts[0].name = name;
    texts[1] = text_of(other);
    texts[1].name = other_name;
}

/* Describes which inputs were averaged in the table, or listed. */
static void describe_means(const struct attn_study_args *study, bool are_listed,
                           struct attn_table_picture *picture)
{
    const struct attn_study_sum *sum = study->sum;

    if (!sum)
        return;
    if (study->paired)
        snprintf(picture->means, sizeof picture->means, "mean difference over %zu pair%s, %s",
                 sum->n_pair, sum->n_pair == 1 ? "" : "s", attn_quote_string(study->paired).text);
    else
        snprintf(picture->means, sizeof picture->means, "%s%zu items",
                 are_listed ? "" : "mean over ", sum->n_item - sum->n_failed);
    picture->texts[0] = (struct attn_figure_text){NULL, picture->means, strlen(picture->means)};
}

/* Names the input of the request, unless the picture has a text. */
static void describe_input(const struct attn_request *request, struct attn_table_picture *picture)
{
    const struct attn_input *input = &request->input;
    const char *name = picture->texts[0].name;

    if (picture->texts[0].text)
        return;
    picture->texts[0] = text_of(input);
    picture->texts[0].name = name;
    if (input->image)
        return;
    picture->texts[2] = (struct attn_figure_text){.text = input->pair, .n = input->n_pair};
}

/* Returns label ID, or the text of token ID, with its *SIZE; NULL if neither is known. */
static const char *find_text(const struct attn_drawn *drawn, int32_t id, size_t *size)
{
    const struct attn_model *model = drawn->host ? attn_host_model(drawn->host) : NULL;
    const struct attn_config *config = model ? attn_model_config(model) : NULL;
    const struct attn_tokenizer *tokenizer = NULL;
    const char *text = NULL;

    if (!config || (drawn->request && drawn->request->predict.n_label > 0) || id < 0 ||
        (size_t)id >= config->n_vocab)
        return NULL;
    if (config->labels) {
        text = config->labels[id];
        *size = text ? strlen(text) : 0;
    } else if (config->task == ATTN_TASK_VOCABULARY &&
               attn_host_tokenizer(drawn->host, &tokenizer, NULL) == ATTN_OK) {
        text = attn_tokenizer_token(tokenizer, id, size);
    }
    return text;
}

/* Appends a token, "are"; or an id, "id 5"; or OTHERWISE if neither is given. */
static void append_token(const struct attn_drawn *drawn, size_t *used, const char *token,
                         const int32_t *id, const char *otherwise)
{
    char *text = drawn->picture->answer;
    size_t size = token ? strlen(token) : 0, n_blank = 0;

    if (!token && id)
        token = find_text(drawn, *id, &size);
    if (!token && id) {
        attn_fixed_text_append(text, ATTN_VIEW_ANSWER_SIZE, used, "id %" PRId32, *id);
        return;
    }
    if (!token) {
        token = otherwise;
        size = strlen(otherwise);
    }
    while (n_blank < size && token[n_blank] == ' ')
        n_blank++;
    n_blank = n_blank < size ? n_blank : 0;
    attn_fixed_text_append(text, ATTN_VIEW_ANSWER_SIZE, used, "%.*s", (int)(size - n_blank),
                           token + n_blank);
}

/* Names what is measured: "logit(are) - logit(is)", "ln p(are)". */
static void name_metric(const struct attn_drawn *drawn, const struct attn_answer_args *args)
{
    static const char *const begins[ATTN_N_ANSWER_METRIC] = {
        [ATTN_ANSWER_LOGIT_DIFF] = "logit(",    [ATTN_ANSWER_LOG_PROB] = "ln p(",
        [ATTN_ANSWER_LOGIT] = "logit(",         [ATTN_ANSWER_PROB] = "p(",
        [ATTN_ANSWER_KL] = "the KL divergence", [ATTN_ANSWER_CE] = "-ln p of the text's tokens"};
    char *text = drawn->picture->answer;
    size_t used = 0;

    attn_fixed_text_append(text, ATTN_VIEW_ANSWER_SIZE, &used, "%s", begins[args->metric]);
    if (args->metric == ATTN_ANSWER_KL || args->metric == ATTN_ANSWER_CE)
        return;
    append_token(drawn, &used, args->target, args->target_id, "target");
    if (args->metric == ATTN_ANSWER_LOGIT_DIFF && args->foil && !*args->foil) {
        attn_fixed_text_append(text, ATTN_VIEW_ANSWER_SIZE, &used, ") - mean logit");
        return;
    }
    if (args->metric == ATTN_ANSWER_LOGIT_DIFF) {
        attn_fixed_text_append(text, ATTN_VIEW_ANSWER_SIZE, &used, ") - logit(");
        append_token(drawn, &used, args->foil, args->foil_id, "foil");
    }
    attn_fixed_text_append(text, ATTN_VIEW_ANSWER_SIZE, &used, ")");
}

/* Names the answer. For items the study has the name of their metric; if they have no target, this
 * is the name of what is measured, "difference". */
static void name_answer(const struct attn_study_args *study, const struct attn_drawn *drawn)
{
    struct attn_table_picture *picture = drawn->picture;
    struct attn_answer_args answer = drawn->answer;
    const char *metric = study && study->sum ? study->sum->metric : NULL;
    int found = ATTN_N_ANSWER_METRIC;

    if (answer.metric == ATTN_ANSWER_AUTO)
        answer.metric =
            answer.foil || answer.foil_id ? ATTN_ANSWER_LOGIT_DIFF : ATTN_ANSWER_LOG_PROB;
    if (metric)
        for (found = 0; found < ATTN_N_ANSWER_METRIC; found++)
            if (strcmp(attn_answer_metric_name((enum attn_answer_metric)found), metric) == 0)
                break;
    if (metric && found < ATTN_N_ANSWER_METRIC)
        answer.metric = (enum attn_answer_metric)found;
    picture->target = answer.target;
    picture->foil = answer.foil;
    if (metric && found == ATTN_N_ANSWER_METRIC) {
        snprintf(picture->answer, sizeof picture->answer, "%s", metric);
        picture->metric = metric;
        return;
    }
    name_metric(drawn, &answer);
    picture->metric = attn_answer_metric_name(answer.metric);
}

void attn_procedure_draw(const struct attn_procedure *procedure, const void *args,
                         struct attn_drawn *drawn)
{
    const struct attn_table *table = drawn->table;
    struct attn_table_picture *picture = drawn->picture;
    const struct attn_study_args *study = NULL;
    size_t answer;

    if (procedure->items.study > 0)
        memcpy(&study, (const char *)args + procedure->items.study, sizeof study);
    answer = procedure->question ? attn_question_answer(procedure->question) : 0;
    if (answer > 0) {
        memcpy(&drawn->answer, (const char *)args + answer, sizeof drawn->answer);
        drawn->has_answer = true;
    }
    picture->view = choose(procedure, table);
    if (procedure->draw)
        procedure->draw(args, drawn);
    picture->view.figure =
        attn_view_figure(&picture->view, procedure->table.columns, study != NULL);
    picture->n_label = study && study->sum ? study->sum->n_label : 0;
    if (table)
        resolve_columns(procedure, table, &picture->view);
    if (table && procedure->question)
        follow_sort(procedure, args, drawn);
    if (table && (picture->view.traits & ATTN_VIEW_GROUPS) != 0 && picture->n_label > 0)
        picture->view.rows = picture->view.columns = ATTN_TABLE_COLUMN(0);
    if (!picture->model && drawn->host && attn_host_model(drawn->host))
        picture->model = attn_model_name(attn_host_model(drawn->host));
    if (drawn->has_answer)
        name_answer(study, drawn);
    if (study)
        describe_means(study, procedure->items.is_listed, picture);
    else if (table && drawn->request)
        describe_input(drawn->request, picture);
}
