/* listing.c - see listing.h. */
#include "cmd/args/listing.h"

#include "cmd/line/progress.h"
#include "cmd/line/report.h"

#include <string.h>

/* Refuses options of CALL that only apply to one text. */
static enum attn_status check_options(const struct call *call, const char *headings,
                                      const char *names, struct attn_error *err)
{
    static const char known_headings[] = "Items|Model|Precision|Attention|Interventions|Other";
    static const char known_names[] =
        "special|special-tokens|with-prompt|max-input|source|source-file|csv|json|jsonl|sync|"
        "max-errors|resume|shard";

    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *name = walk.name;
        char label[OPTION_LABEL_SIZE];

        if (!name || !option_is_typed(call, &walk) || word_find(known_names, name) >= 0 ||
            word_find(names, name) >= 0)
            continue;
        if (strcmp(name, "compare") == 0 ||
            (word_find(known_headings, walk.heading) < 0 && word_find(headings, walk.heading) < 0))
            return refuse(err, NULL, "%s goes with one text, not with --items",
                          option_label(&walk, label));
    }
    return ATTN_OK;
}

enum attn_status listing_begin(struct question *question, struct attn_error *err)
{
    static const char *const formats[] = {"csv", "json", "jsonl"};
    const struct listing *listing = question->own;
    const char *found = NULL;

    ATTN_TRY(check_options(question->call, listing->headings, listing->names, err));
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!output_path(&listing->request->output, formats[i]))
            continue;
        if (found)
            return refuse(err, NULL, "--%s and --%s are given, expected one of them with --items",
                          found, formats[i]);
        found = formats[i];
    }
    listing->args->items.is_listed = true;
    listing->args->items.asked.each.path = found ? output_path(&listing->request->output, found)
                                           : listing->has_no_rows ? NULL
                                                                  : "-";
    ATTN_TRY(question_begin_items(question, err));
    question->items.each.form = found && found[0] == 'j' ? ATTN_EACH_JSON_LINES : ATTN_EACH_CSV;
    return ATTN_OK;
}

enum attn_status listing_answer(struct call *call, struct listing *listing,
                                enum attn_status (*ask)(struct question *, struct attn_error *),
                                struct attn_error *err)
{
    struct question_args args = QUESTION_ARGS_DEFAULT;
    struct question question = {
        .call = call, .args = &args, .own = listing, .example = listing->example};

    listing->args = &args;
    args.prompt = *listing->prompt;
    args.items = *listing->items;
    args.model = *listing->model;
    args.attention = listing->request->attention;
    args.edits = listing->request->edits;
    args.places = listing->request->places;
    args.running = listing->request->running;
    args.tables.output.is_synced = listing->request->output.is_synced;
    ATTN_TRY(question_answer(&question, ask, err));
    progress_clear();
    if (question.items.sum.n_failed > 0 && question.items.args.max_failed < 0)
        call->exit_code = EXIT_FAILED_RECORDS;
    return ATTN_OK;
}
