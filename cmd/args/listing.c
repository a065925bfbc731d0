/* listing.c - see listing.h. */
#include "cmd/args/listing.h"

#include "cmd/line/report.h"
#include "tool.h"

#include <string.h>

/* Refuses options of CALL that only apply to one text. */
static enum attn_status check_options(const struct call *call, const char *headings,
                                      const char *names, struct attn_error *err)
{
    static const char known_headings[] = "Items|Model|Compute|Attention|Interventions|Other";
    static const char known_names[] =
        "special|special-tokens|prompt-name|max-input|source|source-"
        "file|continuation|chat|system|messages|"
        "tower|tiles|image-tiles|csv|json|jsonl|max-errors|resume|shard";

    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *name = walk.name;
        char label[OPTION_LABEL_SIZE];

        if (!name || !option_is_typed(call, &walk) || word_find(known_names, name) >= 0 ||
            word_find(names, name) >= 0)
            continue;
        if (word_find(known_headings, walk.heading) < 0 && word_find(headings, walk.heading) < 0)
            return refuse(err, NULL, "%s goes with one text, not with `items`",
                          option_label(&walk, label));
    }
    return ATTN_OK;
}

enum attn_status listing_begin(struct question *question, const struct listing *listing,
                               struct attn_error *err)
{
    static const char *const formats[] = {"csv", "json", "jsonl"};
    struct question_args *args = question->call->args;
    const char *found = NULL, *path = NULL;

    ATTN_TRY(check_options(question->call, listing->headings, listing->names, err));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!output_path(&args->tables.output, formats[i]))
            continue;
        if (found)
            return refuse(err, NULL, "`%s` and `%s` are given, expected one of them with `items`",
                          found, formats[i]);
        found = formats[i];
        path = output_path(&args->tables.output, found);
        ATTN_TRY(attn_format_check_name(attn_format_find(found), found, path, false, err));
    }
    args->items.is_listed = true;
    args->items.asked.each.path = found || listing->has_no_rows ? path : "-";
    args->tables = (struct tables_args)TABLES_ARGS_DEFAULT; /* items have no table */
    ATTN_TRY(question_begin_items(question, err));
    question->items.each.form = !found || found[0] != 'j'    ? ATTN_EACH_CSV
                                : strcmp(found, "json") == 0 ? ATTN_EACH_DOCUMENT
                                : listing->has_records       ? ATTN_EACH_RECORDS
                                                             : ATTN_EACH_JSON_LINES;
    return ATTN_OK;
}
