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

enum attn_status texts_check(const struct texts_args *args, const struct prompt_args *prompt,
                             const char *example, struct attn_error *err)
{
    if (args->is_lines && !args->path)
        return refuse(err, NULL, "--lines needs --texts");
    if (args->path && prompt_is_given(prompt))
        return refuse(err, NULL, "a text and --texts are given, expected one of them");
    return args->path ? ATTN_OK : prompt_check(prompt, example, err);
}

enum attn_status texts_read(const struct texts_args *args, struct attn_texts **texts,
                            const struct attn_input **items, size_t *n, struct attn_error *err)
{
    const char *path = args->path && strcmp(args->path, "-") == 0 ? "/dev/stdin" : args->path;
    enum attn_status status;

    if (!path)
        return ATTN_OK;
    status = attn_texts_read(path, args->is_lines ? ATTN_TEXTS_LINES : ATTN_TEXTS_JSON_LINES, texts,
                             err);
    if (status == ATTN_FORMAT && !args->is_lines)
        attn_error_hint(err, "with --lines each line is a text");
    ATTN_TRY(status);
    *items = attn_texts_items(*texts, n);
    return ATTN_OK;
}
