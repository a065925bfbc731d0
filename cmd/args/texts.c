/* texts.c - see texts.h. */
#include "cmd/args/texts.h"

#include "cmd/line/report.h"

#include "tool.h"

#include <string.h>

static const struct option rows[] = {
    OPTION_TEXT("texts", "FILE", struct texts_args, path,
                "instead of one text, take those of FILE, JSON Lines with `text` or `ids`; '-' "
                "is standard input. Print means and standard deviations over texts, in which "
                "each text counts once"),
    OPTION_FLAG("lines", struct texts_args, is_lines, "each line of --texts is a text"),
};

const struct option_group texts_options = OPTION_GROUP("Input", rows);

int texts_check(const struct texts_args *args, const struct prompt_args *prompt,
                const char *example)
{
    if (args->is_lines && !args->path)
        return report_problem(EXIT_USAGE, NULL, "--lines needs --texts");
    if (args->path && prompt_has_text(prompt))
        return report_problem(EXIT_USAGE, NULL,
                              "a text and --texts are given, expected one of them");
    return args->path ? EXIT_DONE : prompt_check(prompt, example);
}

int texts_read(const struct texts_args *args, struct attn_texts **texts,
               const struct attn_input **items, size_t *n)
{
    struct attn_error err = {0};
    if (!args->path)
        return EXIT_DONE;
    const char *path = strcmp(args->path, "-") == 0 ? "/dev/stdin" : args->path;
    if (attn_texts_read(path, args->is_lines ? ATTN_TEXTS_LINES : ATTN_TEXTS_JSON_LINES, texts,
                        &err) != ATTN_OK) {
        if (!args->is_lines && err.status == ATTN_FORMAT)
            attn_error_hint(&err, "with --lines each line is a text");
        return report_error(&err);
    }
    *items = attn_texts_items(*texts, n);
    return EXIT_DONE;
}
