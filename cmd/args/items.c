/* items.c - see items.h. */
#include "cmd/args/items.h"

#include "cmd/line/interrupt.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct option items_rows[] = {
    OPTION_TEXT("items", "FILE", struct items_args, path,
                "instead of one text, take the items of FILE: JSON Lines, or CSV with a header, "
                "separated by commas, semicolons or tabs; '-' is standard input. An item may have "
                "its own target, foil, at and other positions; the options are for items without, "
                "and refused where all items have their own. Print means over items, with their "
                "standard deviations and errors"),
    OPTION_ITEMS_FORMAT,
    OPTION_TEXT("group-by", "LABEL[,LABEL]", struct items_args, group_by,
                "a table for each value of these labels, the keys of an item that mean nothing "
                "else"),
    OPTION_TEXT("paired", "LABEL=A:B", struct items_args, paired,
                "the differences B - A of items that have the same id and differ in LABEL. Keeps "
                "the numbers of an item until its partner comes"),
    OPTION_TEXT("bootstrap", "N[:SEED]", struct items_args, bootstrap,
                "add the percentile interval of each mean over N resamples of the items. Keeps 8 "
                "bytes for each number of each item"),
    OPTION_REAL("interval", "PERCENT", struct items_args, interval, "of --bootstrap; default: 95",
                .max = 100),
    OPTION_TEXT("cluster", "LABEL", struct items_args, cluster,
                "items with one value of this label depend on each other, as the sentences of a "
                "verb do: standard errors are cluster-robust, --bootstrap draws whole clusters. At "
                "most 10,000 values. Keeps 16 bytes for each number of each cluster"),
    OPTION_FLAG("contrast", struct items_args, has_contrasts,
                "with --group-by: after the groups, the difference of each from the first; with "
                "--paired the difference of differences"),
    OPTION_TEXT("fdr", "COLUMN", struct items_args, fdr,
                "add p, of a t test of each row's mean in COLUMN against 0, and q, the false "
                "discovery rate over all rows (Benjamini and Hochberg); p of control_rank is the "
                "rank itself"),
    OPTION_TEXT(
        "each", "FILE", struct items_args, each,
        "also write one line per item and row, with the item's labels: FILE.csv, FILE.jsonl, "
        "or '-', standard output, where the table is left out then"),
};

const struct option_group items_options = OPTION_GROUP("Items", items_rows);

/* Refuses options that are for items where there are none. */
static enum attn_status check_alone(const struct call *call, struct attn_error *err)
{
    const char *name = option_find_given(
        call,
        "items-format|group-by|paired|bootstrap|interval|cluster|contrast|fdr|max-errors|each|"
        "resume|shard|marks");

    return name ? refuse(err, NULL, "--%s needs --items", name) : ATTN_OK;
}

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Whether --each and what belongs to it go together. */
static enum attn_status check_each(const struct items_args *args, struct attn_error *err)
{
    const char *slash = args->each ? strrchr(args->each, '/') : NULL;
    const char *name = slash ? slash + 1 : args->each;

    if (args->restart.is_resumed && (!name || is_standard(name)))
        return refuse(err, NULL, "--resume needs %s FILE, the file to continue",
                      args->is_listed ? "--csv or --jsonl" : "--each");
    if (!name || args->is_listed || is_standard(name) || !strchr(name, '.') ||
        ends_with(name, ".csv") || ends_with(name, ".jsonl") || ends_with(name, ".json"))
        return ATTN_OK;
    return refuse(err, NULL, "'--each' is '%s', expected a name that ends in .csv or .jsonl",
                  args->each);
}

static enum attn_status read_bootstrap(const char *value, struct attn_study_args *study,
                                       struct attn_error *err)
{
    const size_t size = value ? strcspn(value, ":") : 0;
    int64_t n;

    if (!value)
        return ATTN_OK;
    if (!attn_parse_int(value, size, 1, INT32_MAX, &n) ||
        (value[size] && !attn_parse_uint(value + size + 1, strlen(value + size + 1), &study->seed)))
        return refuse(err, NULL, "'--bootstrap' is '%s', expected N or N:SEED, N from 1", value);
    study->n_bootstrap = (size_t)n;
    return ATTN_OK;
}

enum attn_status items_open(const struct call *call, const struct items_args *args,
                            const struct prompt_args *prompt, bool has_texts, struct items *items,
                            struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;

    if (!args->path)
        return check_alone(call, err);
    if (has_texts || (prompt && prompt_is_given(prompt)))
        return refuse(err, NULL, "%s and --items are given, expected one of them",
                      has_texts ? "--texts" : "a text");
    if (prompt && pair_find_given(prompt))
        return refuse(err, prompt->is_raw ? NULL : "an item may have a 'pair' and a 'key_mask'",
                      "--%s goes with one text, not with --items", pair_find_given(prompt));
    if (args->interval >= 0 && !args->bootstrap)
        return refuse(err, NULL, "--interval needs --bootstrap");
    if (args->interval == 0)
        return refuse(err, NULL, "--interval is 0, expected above 0 and less than 100");
    items->args = ATTN_STUDY_ARGS_DEFAULT;
    ATTN_TRY(read_bootstrap(args->bootstrap, &items->args, err));
    options.path = args->path;
    options.form = args->form == ATTN_ITEMS_TEXTS /* fasta has its place */
                       ? ATTN_ITEMS_FASTA
                       : (enum attn_items_form)args->form;
    options.cancel = interrupt_flag();
    options.has_marks = args->has_marks;
    ATTN_TRY(check_each(args, err));
    ATTN_TRY(restart_read_shard(&args->restart, &options.shard, &options.n_shard, err));
    ATTN_TRY(attn_items_open(&options, &items->items, err));
    items->args.items = items->items;
    items->args.group_by = args->group_by;
    items->args.paired = args->paired;
    items->args.cluster = args->cluster;
    items->args.has_contrasts = args->has_contrasts;
    items->args.fdr = args->fdr;
    items->args.interval = args->interval < 0 ? 0 : args->interval;
    items->args.max_failed = args->restart.n_most_failed;
    items->args.sum = &items->sum;
    return ATTN_OK;
}

enum attn_status items_open_texts(const char *path, bool are_lines, struct items *items,
                                  struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;

    options.path = path;
    options.form = are_lines ? ATTN_ITEMS_LINES : ATTN_ITEMS_TEXTS;
    options.cancel = interrupt_flag();
    ATTN_TRY(attn_items_open(&options, &items->items, err));
    items->args = ATTN_STUDY_ARGS_DEFAULT;
    items->args.items = items->items;
    items->args.are_texts = true;
    items->args.sum = &items->sum;
    return ATTN_OK;
}

void items_close(struct items *items)
{
    attn_items_free(items->items);
    restart_end(&items->restart);
}

enum attn_status items_ask_each(const struct items_args *args, const struct call *call,
                                const struct attn_source *source, struct items *items,
                                struct attn_error *err)
{
    static const struct restart_form form = {
        .headings = "Pictures|Model|Rows|Output|Other",
        .names =
            "items|items-format|bootstrap|interval|cluster|contrast|fdr|max-errors|each|resume",
        .has_command = true,
    };
    struct attn_each_options *each = &items->each;

    if (!args->each)
        return ATTN_OK;
    *each = ATTN_EACH_OPTIONS_DEFAULT;
    ATTN_TRY(restart_begin(call, &form, &items->restart, err));
    each->asked = items->restart.asked.data;
    each->command = items->restart.command;
    each->n_command = items->restart.n;
    each->path = is_standard(args->each) ? NULL : args->each;
    each->sink = call->out;
    each->is_resumed = args->restart.is_resumed;
    each->source = source;
    each->is_spoiled = restart_is_spoiled;
    each->result = &items->each_result;
    items->args.each = each;
    return ATTN_OK;
}

bool items_take_standard(const struct items *items)
{
    return items->args.each && !items->args.each->path;
}

void items_write_sum(const struct items *items, struct attn_sink *out)
{
    const struct attn_study_sum *sum = &items->sum;
    char count[ATTN_QUANTITY_SIZE], line[256] = "";
    size_t used = 0;

    if (sum->n_failed > 0)
        attn_fixed_text_append(line, sizeof line, &used, "%s of ",
                               attn_quantity_count(sum->n_item - sum->n_failed, count));
    attn_fixed_text_append(line, sizeof line, &used, "%s item%s",
                           attn_quantity_count(sum->n_item, count), sum->n_item == 1 ? "" : "s");
    if (sum->n_group > 0)
        attn_fixed_text_append(line, sizeof line, &used, ", %zu condition%s", sum->n_group,
                               sum->n_group == 1 ? "" : "s");
    if (items->args.paired)
        attn_fixed_text_append(line, sizeof line, &used, ", %s pair%s",
                               attn_quantity_count(sum->n_pair, count),
                               sum->n_pair == 1 ? "" : "s");
    if (sum->metric)
        attn_fixed_text_append(line, sizeof line, &used, "; %s%s%s %.3g", sum->row ? sum->row : "",
                               sum->row ? " " : "", sum->metric, sum->mean);
    if (sum->metric && isfinite(sum->se))
        attn_fixed_text_append(line, sizeof line, &used, " (se %.2g)", sum->se);
    if (isfinite(sum->right))
        attn_fixed_text_append(line, sizeof line, &used, ", right in %.3g %%", 100 * sum->right);
    if (sum->n_tie > 0)
        attn_fixed_text_append(line, sizeof line, &used, ", %s tie%s",
                               attn_quantity_count(sum->n_tie, count), sum->n_tie == 1 ? "" : "s");
    attn_sink_write(out, line, used);
    attn_sink_write(out, "\n", 1);
}
