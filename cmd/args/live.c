/* live.c - see live.h. */
#include "cmd/args/live.h"

#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_LIMIT = 64, MOST_LIMIT = 1024 }; /* in MiB */

static const struct attn_param rows[] = {
    ATTN_PARAM_KEPT(
        FLAG, "live", NULL,
        "put this program and the model into the page of --html, where they run: type another "
        "text, switch heads off, knock keys out"),
    ATTN_PARAM_KEPT(COUNT, "live-limit", "MIB",
                    "the largest model that --live puts into a page, default: 64 MiB; a page "
                    "without one asks for the model's files",
                    .least = 1, .most = MOST_LIMIT),
    ATTN_PARAM_KEPT(
        TEXT, "story", "FILE",
        "steps for a live page: texts, what is changed, and a paragraph to each, as JSON"),
    ATTN_PARAM_KEPT(TEXT, "live-words", "FILE",
                    "texts of the controls of a live page in another language, as JSON: "
                    "{\"Workbench\": \"Werkbank\"}"),
};

const struct attn_param_list live_options = ATTN_PARAM_LIST("Output", rows);

enum attn_status live_check(const struct question *question, struct attn_error *err)
{
    /* options that name a file, or that need another kind of page */
    static const char others[] = "compare|explain|grad|patch|steer|embeds|ids|source-file|"
                                 "source-ids|key-mask|config|weights|adapter|queries|"
                                 "figure|with-prompt|chat|system|messages";
    const struct call *call = question->call;
    const bool is_live = option_text(call, "live");
    const char *other = option_find_given(call, is_live ? others : "story|live-words|live-limit");

    if (is_live && !other && !model_vocab_is_beside(question->args->model.vocab))
        other = "vocab";

    if (!is_live && other)
        return refuse(err, NULL, "`%s` is of a live page, expected `live` too", other);
    if (is_live && !output_path(&question->args->tables.output, "html"))
        return refuse(err, "add --html FILE", "`live` makes a page, and none is written");
    if (other)
        return refuse(err, NULL,
                      "`live` and `%s` do not go together: the page runs the model on a text of "
                      "its reader",
                      other);
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

enum attn_status live_open(struct question *question, struct live *live, struct attn_error *err)
{
    const struct call *call = question->call;
    const char *typed = option_text(call, "live-limit");
    int64_t limit = DEFAULT_LIMIT;
    struct attn_heads_args probe = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_live_args made = {.given = question->args->model.name,
                                  .module = getenv("ATTN_LIVE_MODULE"),
                                  .story = option_text(call, "story"),
                                  .words = option_text(call, "live-words"),
                                  .source = &question->source.source,
                                  .request = &question->request,
                                  .image = question->args->prompt.asked.input.image};

    if (!option_text(call, "live"))
        return ATTN_OK;
    if (typed)
        attn_parse_int(typed, strlen(typed), 1, MOST_LIMIT, &limit);
    made.most = (size_t)limit << 20;
    ATTN_TRY(list_reading(question, live, &made.n_reading, err));
    made.reading = live->reading;
    probe.has_probe = true; /* a model that reads more than a text has the kinds of the run */
    if (!option_find_given(call, "source|image") &&
        attn_model_config(attn_host_model(question->host))->n_ctx > 1)
        ATTN_TRY(attn_heads(question->host, &request, &probe, &live->heads, err));
    made.heads = live->heads;
    ATTN_TRY(attn_live_open(&made, question->host, &live->files, err));
    question->look.live = attn_live_of(live->files);
    if (question->look.live->n_file == 0)
        note("the model has %.1f MiB, more than the %lld of --live-limit: the page asks for its "
             "files",
             (double)attn_live_n_byte(live->files) / (1 << 20), (long long)limit);
    return ATTN_OK;
}

void live_release(void *own)
{
    struct live *live = own;

    attn_live_free(live->files);
    attn_table_free(live->heads);
    free(live->reading);
}
