#include "frame/questions_internal.h"

#include "base/os/os.h"
#include "base/text/number.h"
#include "base/text/path.h"
#include "params/param_internal.h"

#include <string.h>

static const int forms[] = {ATTN_ITEMS_BY_NAME, ATTN_ITEMS_JSON_LINES, ATTN_ITEMS_CSV,
                            ATTN_ITEMS_TSV,     ATTN_ITEMS_LINES,      ATTN_ITEMS_FASTA,
                            ATTN_ITEMS_WORDS};

#define FILE_PARAMS                                                                                \
    ATTN_PARAM(TEXT, "items", "FILE", struct attn_items_args, items.path,                          \
               "instead of one text, take the items of FILE: JSON Lines, or CSV with a header, "   \
               "separated by commas, semicolons or tabs; '-' is standard input. An item may have " \
               "its own target, foil, at and other positions; the options are for items without, " \
               "and refused where all items have their own. `attn-cli run` and generate write "    \
               "the rows of each item, the others means over items, with their standard "          \
               "deviations and errors"),                                                           \
        ATTN_PARAM(CHOICE, "items_format", NULL, struct attn_items_args, items.form,               \
                   "default: auto, by the name of FILE, .csv, .tsv, .fasta, else JSON Lines, or "  \
                   "FASTA if it begins with > or ;. lines: a text a line",                         \
                   .words = "auto|jsonl|csv|tsv|lines|fasta|words", .values = forms),              \
        ATTN_PARAM(FLAG, "marks", NULL, struct attn_items_args, items.has_marks,                   \
                   "in the texts \140[verb are]\140 is \140are\140 and its place pos.verb")

static const struct attn_param listed[] = {
    FILE_PARAMS,
};
const struct attn_param_list attn_listing_params = ATTN_PARAM_LIST("Items", listed);

/* Returns true if the file name TEXT has an ending for CSV or JSON, or no ending, as in
 * /dev/fd/3. */
static bool is_name_of_rows(const char *text)
{
    static const char *const endings[] = {".csv", ".jsonl", ".json"};
    const char *slash = attn_os_last_slash(text), *name = slash ? slash + 1 : text;

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (attn_path_has_ending(name, endings[i]))
            return true;
    return !strchr(name, '.');
}

static enum attn_status read_each(const struct attn_param *param, void *home, const char *label,
                                  const char *text, struct attn_error *err)
{
    if (!is_name_of_rows(text))
        return attn_param_refuse(err, label, text, "a name that ends in .csv or .jsonl");
    *(const char **)(void *)((char *)home + param->offset) = text;
    return ATTN_OK;
}

static const struct attn_param studied[] = {
    FILE_PARAMS,
    ATTN_PARAM(LIST, "group_by", "LABEL[,LABEL]", struct attn_items_args, study.group_by,
               "a table for each value of these labels, the keys of an item that mean nothing "
               "else"),
    ATTN_PARAM(TEXT, "paired", "LABEL=A:B", struct attn_items_args, study.paired,
               "the differences B - A of items that have the same id and differ in LABEL. Keeps "
               "the numbers of an item until its partner comes"),
    ATTN_PARAM(SEEDED, "bootstrap", "N[:SEED]", struct attn_items_args, study.n_bootstrap,
               "add the percentile interval of each mean over N resamples of the items. Keeps 8 "
               "bytes for each number of each item",
               .second = offsetof(struct attn_items_args, study.seed), .least = 1),
    ATTN_PARAM_WITH_SETTINGS("stats", "statistics of the means over items"),
    ATTN_PARAM(REAL, "interval", "PERCENT", struct attn_items_args, study.interval,
               "of `bootstrap`; default: 95", .of = "stats", .most = 100,
               .traits = ATTN_PARAM_IS_OPEN),
    ATTN_PARAM(TEXT, "cluster", "LABEL", struct attn_items_args, study.cluster,
               "items with one value of this label depend on each other, as the sentences of a "
               "verb do: standard errors are cluster-robust, `bootstrap` draws whole clusters. At "
               "most 10,000 values. Keeps 16 bytes for each number of each cluster",
               .of = "stats"),
    ATTN_PARAM(FLAG, "contrast", NULL, struct attn_items_args, study.has_contrasts,
               "with `group_by`: after the groups, the difference of each from the first; with "
               "`paired` the difference of differences",
               .of = "stats"),
    ATTN_PARAM(TEXT, "fdr", "COLUMN", struct attn_items_args, study.fdr,
               "add p, of a t test of each row's mean in COLUMN against 0, and q, the false "
               "discovery rate over all rows (Benjamini and Hochberg); p of control_rank is the "
               "rank itself",
               .of = "stats"),
    ATTN_PARAM(TEXT, "each", "FILE", struct attn_items_args, each.path,
               "also write one line per item and row, with the item's labels: FILE.csv, "
               "FILE.jsonl, or '-', standard output, where the table is left out then",
               .read = read_each),
};
const struct attn_param_list attn_study_params = ATTN_PARAM_LIST("Items", studied);

/* Reads "3/8" into two size_t (`read` of struct attn_param). */
static enum attn_status read_shard(const struct attn_param *param, void *home, const char *label,
                                   const char *text, struct attn_error *err)
{
    enum { MOST_SHARDS = 1000000 };
    size_t *shard = (size_t *)(void *)((char *)home + param->offset);
    size_t *n_shard = (size_t *)(void *)((char *)home + param->second);
    const char *slash = strchr(text, '/');
    int64_t i = 0, n = 0;

    if (!slash || !attn_parse_int(slash + 1, strlen(slash + 1), 1, MOST_SHARDS, &n) ||
        !attn_parse_int(text, (size_t)(slash - text), 0, n - 1, &i))
        return attn_param_refuse(err, label, text, "I/N with 0 <= I < N, such as 3/8");
    *shard = (size_t)i;
    *n_shard = (size_t)n;
    return ATTN_OK;
}

static const struct attn_param restarts[] = {
    ATTN_PARAM(OWN, "shard", "I/N", struct attn_items_args, items.shard,
               "take only part I of N of a file, 0 <= I < N; names of outputs say which: "
               "rows-00003-of-00008.jsonl",
               .second = offsetof(struct attn_items_args, items.shards), .read = read_shard),
    ATTN_PARAM(SEED, "max_errors", "N", struct attn_items_args, study.max_errors,
               "number of items that may fail; one more ends the run. Default: any "
               "number, and the exit code is 6",
               .most = INT64_MAX),
    ATTN_PARAM(
        FLAG, "resume", NULL, struct attn_items_args, each.is_resumed,
        "go on after the rows that a run of the same command left in the output file, and "
        "begin if there are none. Other options or items are an error (FILE.part.key), and so "
        "are other rows of the last item, which is computed again. The table covers all items"),
};
const struct attn_param_list attn_restart_params = ATTN_PARAM_LIST("Items", restarts);

/* Rules about arguments: the first one holds for all items, the others for items with a table. */
static const struct attn_param_rule rules[] = {
    {.given = "items_format|group_by|paired|bootstrap|interval|cluster|contrast|fdr|max_errors|"
              "each|resume|shard|marks",
     .needs = "items"},
    {.given = "interval", .needs = "bootstrap"},
    {.given = "resume", .needs = "each", .message = "@ needs # FILE, the file to continue"},
    {.given = "resume", .when = "each:-", .message = "@ needs `each` FILE, the file to continue"},
};

static const struct attn_param_part parts[] = {{&attn_study_params, 0}, {&attn_restart_params, 0}};
static const struct attn_param_part listing_parts[] = {{&attn_listing_params, 0},
                                                       {&attn_restart_params, 0}};

static const struct attn_items_args defaults = {.items.size = sizeof(struct attn_items_options),
                                                .study.size = sizeof(struct attn_study_args),
                                                .study.max_errors = -1,
                                                .each.size = sizeof(struct attn_each_options)};

const struct attn_question attn_question_items = {
    .name = "items",
    ATTN_QUESTION_PARAMS(parts, rules),
    .defaults = &defaults,
    .args_size = sizeof defaults,
};

const struct attn_question attn_question_listing = {
    .name = "listing",
    .parts = listing_parts,
    .n_part = sizeof listing_parts / sizeof *listing_parts,
    .rules = {rules, 1},
    .defaults = &defaults,
    .args_size = sizeof defaults,
};
