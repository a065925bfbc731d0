/* live.c - see live.h. */
#include "cmd/args/live.h"

#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_LIMIT = 64, MOST_LIMIT = 1024 }; /* in MiB */

static const struct attn_param rows[] = {
    ATTN_PARAM(
        FLAG, "live", NULL, struct live_args, is_live,
        "put this program and the model into the page of --html, where they run: type another "
        "text, switch heads off, knock keys out"),
    ATTN_PARAM(COUNT, "live-limit", "MIB", struct live_args, limit,
               "the largest model that --live puts into a page, default: 64 MiB; a page "
               "without one asks for the model's files",
               .least = 1, .most = MOST_LIMIT),
    ATTN_PARAM(TEXT, "story", "FILE", struct live_args, story,
               "steps for a live page: texts, what is changed, and a paragraph to each, as JSON"),
    ATTN_PARAM(TEXT, "live-words", "FILE", struct live_args, words,
               "texts of the controls of a live page in another language, as JSON: "
               "{\"Workbench\": \"Werkbank\"}"),
};

const struct attn_param_list live_options = ATTN_PARAM_LIST("Output", rows);

/* Returns true if a page is among the outputs. */
static bool has_page(const struct output_args *args)
{
    for (struct output_walk walk = {.args = args}; output_next(&walk);)
        if (strcmp(walk.output.format->name, "html") == 0)
            return true;
    return false;
}

enum attn_status live_check(const struct live_args *args, const struct served *served,
                            struct attn_error *err)
{
    /* options that name a file, or that need another kind of page */
    static const char others[] = "compare|explain|grad|patch|steer|embeds|ids|source-file|"
                                 "source-ids|key-mask|config|vocab|weights|adapter|queries|"
                                 "figure|with-prompt";
    const char *other = args->is_live ? option_find_given(served->call, others) : NULL;

    if (!args->is_live && (args->story || args->words || args->limit > 0))
        return refuse(err, NULL, "--%s is of a live page, expected --live too",
                      args->story   ? "story"
                      : args->words ? "live-words"
                                    : "live-limit");
    if (args->is_live && !has_page(&served->args->output))
        return refuse(err, "add --html FILE", "--live makes a page, and none is written");
    if (other)
        return refuse(err, NULL,
                      "--live and --%s do not go together: the page runs the model on a text of "
                      "its reader",
                      other);
    return ATTN_OK;
}

/* Lists in LIVE the options that say how PROMPT is read. */
static enum attn_status list_reading(const struct prompt_args *prompt, const struct call *call,
                                     struct live *live, size_t *n, struct attn_error *err)
{
    struct option_walk walk = {.command = call->command};

    ATTN_TRY(
        ALLOCATE(live->reading, options_count(call->command) + prompt->asked.predict.n_label, err));
    while (option_next(&walk)) {
        const char *value = call->given[walk.n - 1];

        if (value && word_find("special|special-tokens|image|source", walk.name) >= 0)
            live->reading[(*n)++] = (struct attn_option){walk.name, value};
    }
    for (size_t i = 0; i < prompt->asked.predict.n_label; i++)
        live->reading[(*n)++] = (struct attn_option){"label", prompt->asked.predict.labels[i]};
    return ATTN_OK;
}

enum attn_status live_open(const struct live_args *args, const struct model_args *model,
                           const struct prompt_args *prompt, struct served *served,
                           struct live *live, struct attn_error *err)
{
    const struct running_args quiet = {.is_quiet = true};
    const size_t limit = args->limit > 0 ? args->limit : DEFAULT_LIMIT;
    struct attn_live_args made = {.given = model->name,
                                  .most = limit << 20,
                                  .module = getenv("ATTN_LIVE_MODULE"),
                                  .story = args->story,
                                  .words = args->words,
                                  .request = &served->request,
                                  .image = prompt->asked.input.image};
    struct model_source source;

    if (!args->is_live)
        return ATTN_OK;
    ATTN_TRY(model_source_find(model, &quiet, &source, err));
    ATTN_TRY(list_reading(prompt, served->call, live, &made.n_reading, err));
    made.reading = live->reading;
    made.source = &source.source;
    ATTN_TRY(attn_live_open(&made, served->host, &live->files, err));
    served->picture.live = attn_live_of(live->files);
    if (served->picture.live->n_file == 0)
        note("the model has %.1f MiB, more than the %zu of --live-limit: the page asks for its "
             "files",
             (double)attn_live_n_byte(live->files) / (1 << 20), limit);
    return ATTN_OK;
}

void live_release(struct live *live)
{
    attn_live_free(live->files);
    free(live->reading);
}
