/* restart.c - see restart.h. */
#include "cmd/args/restart.h"

#include "cmd/line/report.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SHARDS = 1000000 };

enum attn_status restart_read_shard(const char *text, size_t *shard, size_t *n_shard,
                                    struct attn_error *err)
{
    int64_t i = 0, n = 0;
    const char *slash = text ? strchr(text, '/') : NULL;

    if (!text)
        return ATTN_OK;
    if (!slash || !attn_parse_int(slash + 1, strlen(slash + 1), 1, MOST_SHARDS, &n) ||
        !attn_parse_int(text, (size_t)(slash - text), 0, n - 1, &i))
        return refuse(err, NULL, "'--shard' is '%s', expected I/N with 0 <= I < N, such as 3/8",
                      text);
    *shard = (size_t)i;
    *n_shard = (size_t)n;
    return ATTN_OK;
}

void restart_describe(const struct call *call, const struct restart_form *form,
                      struct attn_buffer *out)
{
    struct attn_json_writer json = {.out = out, .comma = ",", .colon = ":"};

    attn_json_begin(&json, '{');
    if (form->has_command)
        attn_json_text(attn_json_key(&json, "command"), call->command->name);
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const struct option *option = &walk.option;
        const char *given = call->given[walk.n - 1];

        if (!given || !option->name || word_find(form->names, option->name) >= 0 ||
            (form->headings && walk.heading && word_find(form->headings, walk.heading) >= 0))
            continue;
        attn_json_key(&json, option->name);
        if (form->outputs && word_find(form->outputs, option->name) >= 0) {
            attn_json_bool(&json, true);
        } else if (option->kind == OPTION_KIND_LIST) {
            const struct text_list *list =
                (const struct text_list *)(const void *)((const char *)call->args + option->offset);

            attn_json_begin(&json, '[');
            for (size_t i = 0; i < list->n; i++)
                attn_json_text(&json, list->items[i]);
            attn_json_end(&json);
        } else {
            attn_json_text(&json, given);
        }
    }
    attn_json_end(&json);
}

enum attn_status restart_keep_command(const struct call *call, const char ***command, size_t *n,
                                      struct attn_error *err)
{
    const char **words = calloc((size_t)call->argc + 2, sizeof *words);

    if (!words)
        return attn_error_no_memory(err);
    words[0] = "attn-cli";
    words[1] = call->command->name;
    for (int i = 0; i < call->argc; i++)
        words[i + 2] = call->argv[i];
    *command = words;
    *n = (size_t)call->argc + 2;
    return ATTN_OK;
}
