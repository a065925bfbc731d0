#include "frame/questions.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "base/text/list.h"
#include "frame/questions_internal.h"
#include "params/param_internal.h"

#include <string.h>

const struct attn_question *attn_question_at(size_t i)
{
    for (size_t n = 0; n < i; n++)
        if (!attn_questions[n])
            return NULL;
    return attn_questions[i];
}

const struct attn_question *attn_question_find(const char *name)
{
    for (size_t i = 0; name && attn_questions[i]; i++)
        if (strcmp(attn_questions[i]->name, name) == 0)
            return attn_questions[i];
    return name && strcmp(attn_question_items.name, name) == 0 ? &attn_question_items : NULL;
}

const char *attn_word_set_read(const char *words, const char *text, unsigned *set)
{
    unsigned found = 0;

    for (struct attn_list_item item = {.rest = text}; attn_list_next(&item);) {
        const int word = attn_param_find_word(words, item.text, item.size);

        if (word < 0)
            return item.text;
        found |= 1U << word;
    }
    *set = found;
    return NULL;
}

void *attn_question_init(const char *name, void *args, size_t size)
{
    const struct attn_question *question = attn_question_find(name);

    return question ? attn_defaults_copy(args, size, question->defaults, question->args_size)
                    : NULL;
}

static enum attn_status refuse_name(const struct attn_question_call *asked, struct attn_error *err)
{
    return attn_refuse(err, ATTN_STAGE_OPTIONS, "there is no question '%s'",
                       attn_quote_string(asked->question).text);
}

/* Finds the question of ASKED, which must have a procedure, or a function that selects one by the
 * arguments. */
static enum attn_status find(const struct attn_question_call *asked,
                             const struct attn_question **found, struct attn_error *err)
{
    if (!attn_is_given(asked, "asked", err) || !attn_is_given(asked->question, "question", err))
        return ATTN_INVALID;
    *found = attn_question_find(asked->question);
    return *found && ((*found)->procedure || (*found)->choose) ? ATTN_OK : refuse_name(asked, err);
}

/* Copies the defaults of QUESTION, or sets *args to NULL if it has no arguments. The caller frees
 * *args with attn_free. */
static enum attn_status copy_defaults(const struct attn_question *question, void **args,
                                      struct attn_error *err)
{
    *args = NULL;
    if (question->args_size == 0)
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(*args, attn_alloc(1, question->args_size, err)));
    memcpy(*args, question->defaults, question->args_size);
    return ATTN_OK;
}

static const struct attn_procedure *procedure_of(const struct attn_question *question,
                                                 const void *args)
{
    return question->procedure ? question->procedure : question->choose(args);
}

enum attn_status attn_question_ask(const struct attn_question_call *asked,
                                   struct attn_table **table, void *sum, struct attn_error *err)
{
    const struct attn_procedure *procedure;
    const struct attn_question *question;
    struct attn_procedure_call call = {.table = table, .sum = sum};
    enum attn_status status;

    ATTN_TRY(find(asked, &question, err));
    if (question->args_size > 0 && procedure_of(question, question->defaults)->table.n_column == 0)
        return refuse_name(asked, err); /* `generate` makes a table of items alone */
    ATTN_TRY(copy_defaults(question, &call.args, err));
    call.host = asked->host;
    call.request = asked->request;
    call.given = asked->args;
    if (question->args_size > 0)
        (void)attn_options_read(asked->args, call.args, NULL); /* the caller reports a failure */
    procedure = procedure_of(question, call.args);
    status = procedure->perform ? procedure->perform(&call, err)
                                : attn_procedure_perform(procedure, &call, err);
    attn_free(call.args);
    return status;
}

const struct attn_column *attn_question_schema(const struct attn_question_call *asked,
                                               const char **table, size_t *n)
{
    const struct attn_procedure *procedure;
    const struct attn_question *question;
    void *args;

    if (!table || !n)
        return NULL;
    *table = NULL;
    *n = 0;
    if (find(asked, &question, NULL) != ATTN_OK || copy_defaults(question, &args, NULL) != ATTN_OK)
        return NULL;
    if (question->args_size > 0)
        (void)attn_options_read(asked->args, args, NULL); /* the defaults if they are malformed */
    procedure = procedure_of(question, args);
    attn_free(args);
    *table = procedure->table.name;
    *n = procedure->table.n_column;
    return procedure->table.columns;
}

/* Reads the arguments of ASKED into ARGS, which has the defaults, and describes the picture. */
static enum attn_status draw(const struct attn_question *question,
                             const struct attn_question_call *asked, void *args,
                             const struct attn_table *table, struct attn_table_picture *picture,
                             struct attn_error *err)
{
    const struct attn_procedure *procedure;

    if (question->args_size > 0)
        ATTN_TRY(attn_error_at(attn_options_read(asked->args, args, err), ATTN_STAGE_OPTIONS, err));
    procedure = procedure_of(question, args);
    if (table && procedure->check)
        ATTN_TRY(attn_error_at(procedure->check(args, err), ATTN_STAGE_OPTIONS, err));
    attn_procedure_draw(
        procedure, args,
        &(struct attn_drawn){
            .host = asked->host, .request = asked->request, .table = table, .picture = picture});
    return ATTN_OK;
}

enum attn_status attn_question_picture(const struct attn_question_call *asked,
                                       const struct attn_table *table,
                                       struct attn_table_picture *picture, struct attn_error *err)
{
    const struct attn_question *question;
    void *args;
    enum attn_status status;

    ATTN_TRY(find(asked, &question, err));
    ATTN_NEED(err, picture);
    ATTN_TRY(copy_defaults(question, &args, err));
    status = draw(question, asked, args, table, picture, err);
    attn_free(args);
    return status;
}
