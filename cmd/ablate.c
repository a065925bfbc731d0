/* ablate.c - attn-cli ablate: finds out whether a part of the model matters. */
#include "cmd/args/question.h"
#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "parts.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* The texts of a file, one per line, from which means or rows are computed. */
struct references {
    struct text text;         /* owned; the file */
    struct attn_input *items; /* owned; [n] its lines */
    size_t n;
};

static void references_release(void *own)
{
    struct references *references = own;

    text_release(&references->text);
    free(references->items);
}

/* Reads the lines of PATH, without empty ones. PATH "-" is standard input. */
static enum attn_status references_read(const char *path, struct references *references,
                                        struct attn_error *err)
{
    const struct prompt_args args = {.file = path};
    const char *at, *end;
    size_t n_line = 1;

    ATTN_TRY(prompt_read(&args, &references->text, err));
    end = references->text.data + references->text.size;
    for (at = references->text.data; at < end; at++)
        n_line += *at == '\n';
    ATTN_TRY(ALLOCATE(references->items, n_line, err));
    for (at = references->text.data; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        stop = stop ? stop : end;
        if (stop > at)
            references->items[references->n++] =
                (struct attn_input){.text = at, .n_text = (size_t)(stop - at)};
        at = stop + 1;
    }
    if (references->n == 0)
        return problem(err, ATTN_STAGE_INPUT, NULL, "'%s' holds no text", path);
    return ATTN_OK;
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    const struct question_args *args = question->args;
    struct attn_ablate_args *how = question->how;
    struct references *references = question->own;
    const char *file = option_text(question->call, "reference");
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;

    ATTN_TRY(question_check(question, err));
    question->reuse = true;
    if (file)
        ATTN_TRY(references_read(file, references, err));
    ATTN_TRY(question_begin(question, err));
    how->references = references->items;
    how->n_reference = references->n;
    ATTN_TRY(attn_ablate(question->host, &question->request, how, &question->table, &sum, err));
    ATTN_TRY(question_write(question, err));
    if (args->running.is_verbose && !args->items.asked.items.path)
        note("the first part changed %zu row%s of %s; %zu runs", sum.n_row,
             sum.n_row == 1 ? "" : "s", sum.sites, sum.n_feed);
    return ATTN_OK;
}

const struct command command_ablate = {
    QUESTION_COMMAND(ablate),
    .usage = "[OPTIONS] --target TEXT TEXT",
    .examples = "  attn-cli ablate --target ' are' --foil ' is' \"The keys to the cabinet\"\n"
                "  attn-cli ablate --by layer --metric kl \"The keys to the cabinet\"\n"
                "  attn-cli ablate --target ' are' --cumulative --control 20:1 -f text.txt\n"
                "  attn-cli ablate --target ' are' --set number=1.1,2.5 --set 1.* \"The keys\"\n",
    .ask = work,
    .own_size = sizeof(struct references),
    .release = references_release,
};
