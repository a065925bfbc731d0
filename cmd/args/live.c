#include "cmd/args/live.h"

#include "cmd/line/progress.h"
#include "cmd/line/report.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_LIMIT = 64, MOST_LIMIT = 1024 }; /* in MiB */

static const struct attn_param rows[] = {
    ATTN_PARAM_KEPT(
        TEXT, "live", "[=MIB]",
        "put this program and the model into the page of --html, where they run: type another "
        "text, switch heads off, knock keys out. A page asks for the files of a model of more than "
        "64 MiB, or MIB (preview)",
        .traits = ATTN_PARAM_MAY_BE_ALONE),
    ATTN_PARAM_KEPT(TEXT, "story", "FILE",
                    "steps for a live page: texts, what is changed, and a paragraph to each, as "
                    "JSON (preview)"),
    ATTN_PARAM_KEPT(TEXT, "live-words", "FILE",
                    "texts of a live page in another language, as JSON: "
                    "{\"Workbench\": \"Werkbank\"} (preview)"),
};

const struct attn_param_list live_options = ATTN_PARAM_LIST("Output", rows);

enum attn_status live_check(const struct question *question, struct attn_error *err)
{
    /* options that name a file, or that need another kind of page */
    static const char others[] = "explain|grad|patch|steer|embeds|ids|source-file|"
                                 "source-ids|key-mask|config|weights|adapter|queries|"
                                 "figure|prompt-name|chat|system|messages";
    const struct call *call = question->call;
    const char *live = option_text(call, "live");
    int64_t limit;
    const char *other = option_find_given(call, live ? others : "story|live-words");

    if (live && !other && !model_vocab_is_beside(question->args->model.vocab))
        other = "vocab";

    if (!live && other)
        return refuse(err, NULL, "`%s` is of a live page, expected `live` too", other);
    if (live && strcmp(live, "-") != 0 &&
        !attn_parse_int(live, strlen(live), 1, MOST_LIMIT, &limit))
        return refuse(err, NULL, "'`live`' is '%s', expected 1 to %d MiB", live, MOST_LIMIT);
    if (live && !output_path(&question->args->tables.output, "html"))
        return refuse(err, "add --html FILE", "`live` makes a page, and none is written");
    if (other)
        return refuse(err, NULL,
                      "`live` and `%s` do not go together: the page runs the model on a text of "
                      "its reader",
                      other);
    return ATTN_OK;
}

enum attn_status live_read_text(struct question *question, struct prompt_args *prompt,
                                struct attn_error *err)
{
    struct live *live = question->own;
    const char *story = option_text(question->call, "story");

    if (!story || !option_text(question->call, "live") || prompt_is_given(prompt))
        return ATTN_OK;
    ATTN_TRY(attn_live_story_text(story, &live->text, err));
    prompt->text = live->text;
    return ATTN_OK;
}

/* Lists in LIVE the options that say how the input is read. */
static enum attn_status list_reading(const struct question *question, struct live *live, size_t *n,
                                     struct attn_error *err)
{
    const struct attn_request_predict *predict = &question->args->prompt.asked.predict;
    const struct call *call = question->call;
    struct option_walk walk = {.command = call->command};

    ATTN_TRY(ALLOCATE(live->reading, options_count(call->command) + predict->n_label, err));
    while (option_next(&walk)) {
        const char *value = call->given[walk.n - 1];

        if (value && word_find("special|special-tokens|image|source", walk.name) >= 0)
            live->reading[(*n)++] = (struct attn_option){walk.name, value};
    }
    for (size_t i = 0; i < predict->n_label; i++)
        live->reading[(*n)++] = (struct attn_option){"label", predict->labels[i]};
    return ATTN_OK;
}

/* Finds the types of heads for the page of a text, if the model brings none along: a model that
 * reads more has those of the run. */
static enum attn_status open_types(struct question *question, struct live *live,
                                   struct attn_error *err)
{
    const struct attn_model *model = attn_host_model(question->host);
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_head_type *types;

    if (!asked_has_next(question) || attn_model_config(model)->n_ctx < 2)
        return ATTN_OK;
    ATTN_TRY(attn_head_types_read(model, NULL, &types, err));
    if (types) {
        attn_free(types);
        return ATTN_OK;
    }
    question->unit = "texts";
    request.on_progress = question_on_progress;
    request.user = question;
    args.has_probe = args.probe.is_own = true;
    ATTN_TRY(attn_heads(question->host, &request, &args, &live->heads, err));
    ATTN_TRY(attn_sink_create_memory(&live->written, err));
    ATTN_TRY(attn_table_write(live->heads, ATTN_TABLE_JSON, -1, live->written, err));
    attn_head_types_keep(model, live->heads);
    ATTN_TRY(attn_sink_check(live->written, err));
    live->types.data = attn_sink_bytes(live->written, &live->types.size);
    question->tensors.look.types = &live->types;
    return ATTN_OK;
}

/* Whether to find what each head does for the next token, which a page says beside the head, and by
 * which `figure under` shades heads: for a live page always, else where that is quick. */
static bool wants_effects(const struct question *question)
{
    const struct attn_config *config = attn_model_config(attn_host_model(question->host));
    const struct call *call = question->call;
    const char *figure = option_text(call, "figure"), *queries = option_text(call, "queries");
    const bool is_under =
        figure && queries && strcmp(figure, "under") == 0 && strcmp(queries, "-1") == 0;

    if (!asked_has_next(question))
        return false;
    if (option_text(call, "live"))
        return true;
    return (is_under || (output_path(&question->args->tables.output, "html") &&
                         !option_find_given(call, "queries|figure"))) &&
           asked_cost(question) * (double)(config->n_layer * config->n_head) <= asked_most &&
           !asked_other(question);
}

/* Finds how the next token of the text changes without each head. */
static enum attn_status open_effects(struct question *question, struct live *live,
                                     struct attn_error *err)
{
    struct attn_request request = question->request;
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_error failure = {0};
    enum attn_status status;

    if (!wants_effects(question))
        return ATTN_OK;
    args.answer.metric = ATTN_ANSWER_KL;
    request.on_note = NULL; /* the run sends the same notes */
    request.on_part = NULL;
    request.on_progress = question_on_progress;
    question->unit = "heads";
    status = attn_ablate(question->host, &request, &args, &live->effects, &sum, &failure);
    progress_clear();
    question->is_counting = false;
    question->tensors.look.effects = live->effects;
    if (status == ATTN_INVALID && !option_text(question->call, "live"))
        return ATTN_OK; /* the run itself says what is wrong */
    return status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &failure);
}

enum attn_status live_open(struct question *question, struct live *live, struct attn_error *err)
{
    const struct call *call = question->call;
    const char *size = option_text(call, "live");
    int64_t limit = DEFAULT_LIMIT;
    struct attn_live_args made = {.given = question->args->model.name,
                                  .module = getenv("ATTN_LIVE_MODULE"),
                                  .story = option_text(call, "story"),
                                  .words = option_text(call, "live-words"),
                                  .source = &question->source.source,
                                  .request = &question->request,
                                  .image = question->args->prompt.asked.input.image};

    if (!size)
        return open_effects(question, live, err);
    if (strcmp(size, "-") != 0)
        attn_parse_int(size, strlen(size), 1, MOST_LIMIT, &limit);
    made.most = (size_t)limit << 20;
    ATTN_TRY(list_reading(question, live, &made.n_reading, err));
    made.reading = live->reading;
    ATTN_TRY(attn_live_open(&made, question->host, &live->files, err));
    ATTN_TRY(open_types(question, live, err));
    ATTN_TRY(open_effects(question, live, err));
    question->tensors.look.live = attn_live_of(live->files);
    if (question->tensors.look.live->n_file == 0)
        note("the model has %.1f MiB, more than the %lld of --live: the page asks for its "
             "files",
             (double)attn_live_n_byte(live->files) / (1 << 20), (long long)limit);
    return ATTN_OK;
}

void live_release(void *own)
{
    struct live *live = own;

    attn_live_free(live->files);
    attn_table_free(live->heads);
    attn_sink_free(live->written);
    attn_table_free(live->effects);
    attn_free(live->text);
    free(live->reading);
}
