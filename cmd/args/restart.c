/* restart.c - see restart.h. */
#include "cmd/args/restart.h"

#include "cmd/line/interrupt.h"
#include "cmd/line/report.h"

#include <stdlib.h>
#include <string.h>

static void describe_list(const struct call *call, const struct option_walk *option,
                          struct attn_json_writer *json)
{
    const void *home = (const char *)call->args + option->offset;
    struct attn_buffer text = {0};

    attn_json_begin(json, '[');
    for (size_t i = 0; attn_param_write(option->param, home, i, &text); i++) {
        attn_json_string(json, text.data, text.size);
        attn_buffer_release(&text);
    }
    attn_json_end(json);
}

static void describe(const struct call *call, const struct restart_form *form,
                     struct attn_buffer *out)
{
    struct attn_json_writer json = {.out = out, .comma = ",", .colon = ":"};

    attn_json_begin(&json, '{');
    if (form->has_command)
        attn_json_text(attn_json_key(&json, "command"), call->command->name);
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *given = call->given[walk.n - 1];

        if (!given || !walk.name || word_find(form->names, walk.name) >= 0 ||
            (form->headings && walk.heading && word_find(form->headings, walk.heading) >= 0))
            continue;
        attn_json_key(&json, walk.name);
        if (form->outputs && word_find(form->outputs, walk.name) >= 0) {
            attn_json_bool(&json, true);
        } else if (option_is_list(walk.param)) {
            describe_list(call, &walk, &json);
        } else {
            attn_json_text(&json, given);
        }
    }
    attn_json_end(&json);
}

enum attn_status restart_begin(const struct call *call, const struct restart_form *form,
                               struct restart *restart, struct attn_error *err)
{
    describe(call, form, &restart->asked);
    restart->command = calloc((size_t)call->argc + 2, sizeof *restart->command);
    if (!restart->command || !attn_buffer_string(&restart->asked))
        return attn_error_no_memory(err);
    restart->command[restart->n++] = "attn-cli";
    restart->command[restart->n++] = call->command->name;
    for (int i = 0; i < call->argc; i++)
        restart->command[restart->n++] = call->argv[i];
    return ATTN_OK;
}

void restart_end(struct restart *restart)
{
    attn_buffer_release(&restart->asked);
    free(restart->command);
}

bool restart_is_spoiled(void *user)
{
    (void)user;
    return interrupt_is_model_truncated();
}
