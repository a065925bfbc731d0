/* patch.c - attn-cli patch: finds which activations explain the difference between two texts. */
#include "cmd/args/question.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "parts.h"

#include <stdio.h>
#include <string.h>

#define EXAMPLE                                                                                    \
    "attn-cli patch --clean \"The keys near the door\" --corrupted \"The key near the door\" "     \
    "--target ' are' --foil ' is'"

enum { DEFAULT_NEURONS = 20 };

/* Writes the table. Its pictures show the tokens of both texts at positions where these differ. */
static enum attn_status write_drawn(struct question *question, const struct attn_input *other,
                                    bool has_places, struct attn_error *err)
{
    struct attn_request request = question->request;
    struct attn_run *clean = NULL, *corrupted = NULL;
    enum attn_status status;

    request.on_note = NULL;
    request.edits = (struct attn_request_edits){0}; /* only labels are read from this run */
    request.selection = (struct attn_request_selection){.sites = NULL};
    status = attn_run_prepare(question->host, &request, &clean, err);
    request.input = *other;
    ATTN_THEN(status, attn_run_prepare(question->host, &request, &corrupted, err));
    if (status == ATTN_OK) {
        if (!has_places) {
            question->picture.run = attn_run_labels(clean);
            if (!other->image) /* positions of pictures have the same names */
                question->picture.other_run = attn_run_labels(corrupted);
        }
        status = question_write(question, err);
    }
    attn_run_free(clean);
    attn_run_free(corrupted);
    return status;
}

/* Reads the two texts or pictures, or opens the items. */
static enum attn_status read_pair(struct question *question, struct attn_patch_args *how,
                                  struct attn_error *err)
{
    ATTN_TRY(question_begin_pair(question, &how->corrupted, EXAMPLE, err));
    how->corrupted_source.key_mask = question->request.source.key_mask;
    how->corrupted_source.n_key_mask = question->request.source.n_key_mask;
    return ATTN_OK;
}

/* Notes the summary of one pair. The library itself notes the values of an estimate. */
static void note_sum(const struct question *question, const struct attn_patch_sum *sum)
{
    const struct question_args *args = question->call->args;
    const struct attn_patch_args *how = question->how;
    const bool is_verbose = args->running.is_verbose;
    const bool is_estimated = how->method != ATTN_PATCH_EXACT;

    if (question_is_noted(question) && !is_estimated)
        note("the answer is %.6g for the clean %s, %.6g for the corrupted one", sum->clean,
             how->corrupted.image ? "picture" : "text", sum->corrupted);
    if (is_verbose && is_estimated)
        note("%zu runs for %zu parts", sum->n_feed, sum->n_part);
    else if (is_verbose)
        note("the first piece changed %zu row%s of %s; %zu runs", sum->n_row,
             sum->n_row == 1 ? "" : "s", how->site ? how->site : "resid_pre", sum->n_feed);
}

/* If a hint of the library names the option for ids of one text, changes it to those of both texts.
 * Returns STATUS. */
static enum attn_status name_ids(enum attn_status status, struct attn_error *err)
{
    if (status != ATTN_OK && strncmp(err->hint, "`ids ", strlen("`ids ")) == 0)
        snprintf(err->hint, sizeof err->hint,
                 "`clean_ids 5,17,3` and `corrupted_ids 5,9,3`, or these keys of an item, give "
                 "token ids "
                 "instead of texts");
    return status;
}

/* Sets how many rows of neurons are shown. The library limits the rows of one pair, but items have
 * a row for each neuron. */
static void choose_neurons(const struct call *call, struct question_args *args)
{
    struct tables_args *tables = &args->tables;

    if (!args->items.asked.items.path) {
        tables->order.n_most = 0;
        return;
    }
    tables->order.sort = tables->order.sort ? tables->order.sort : "estimate";
    tables->order.n_most = tables_limit(call, tables) > 0 ? tables->order.n_most : DEFAULT_NEURONS;
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct question_args *args = question->call->args;
    struct attn_patch_args *how = question->how;
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    const bool is_estimated = how->method != ATTN_PATCH_EXACT;

    question->example = EXAMPLE;
    question->has_place_rows = true;
    /* without verification an estimate makes three runs, too few for it */
    question->reuse = !is_estimated || how->n_verified > 0 || how->method == ATTN_PATCH_IG;
    how->n_most = tables_limit(question->call, &args->tables);
    if (is_estimated && how->site && strcmp(how->site, "mlp_post") == 0)
        choose_neurons(question->call, args);
    ATTN_TRY(question_check(question, err));
    if (how->path && tables_have_pictures(&args->tables))
        return refuse(err, "--csv and --json write them", "`path`: edges cannot be drawn");
    how->places = args->places.items;
    how->n_place = args->places.n;
    ATTN_TRY(read_pair(question, how, err));
    ATTN_TRY(name_ids(
        attn_patch(question->host, &question->request, how, &question->table, &sum, err), err));
    if (how->study)
        return question_write(question, err);
    if (tables_have_pictures(&args->tables))
        ATTN_TRY(write_drawn(question, &how->corrupted, how->n_place > 0, err));
    else
        ATTN_TRY(question_write(question, err));
    note_sum(question, &sum);
    return ATTN_OK;
}

const struct command command_patch = {
    QUESTION_COMMAND(patch),
    .usage = "[OPTIONS] --clean TEXT --corrupted TEXT --target TEXT",
    .examples = "  attn-cli patch --clean \"The keys near the door\" \\\n"
                "      --corrupted \"The key near the door\" --target ' are' --foil ' is'\n"
                "  attn-cli patch --items pairs.csv --site z --sort effect --limit 5\n",
    .ask = work,
    .lacks = "TEXT|sentence|file|ids|types|embeds",
};
