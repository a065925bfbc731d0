/* batch_params.c - see batch_params.h. */
#include "batch/batch_params.h"

#include "base/number.h"
#include "base/param_internal.h"
#include "base/status_internal.h"
#include "records/restart_params.h"

#include <string.h>

static const int forms[] = {ATTN_ITEMS_BY_NAME, ATTN_ITEMS_JSON_LINES, ATTN_ITEMS_LINES,
                            ATTN_ITEMS_FASTA};

static const struct attn_param records[] = {
    ATTN_PARAM(CHOICE, "items_format", NULL, struct attn_batch_args, options.form,
               "default: auto, by the name of INPUT, .fasta, else JSON Lines, objects with 'text', "
               "'ids' or 'image', or FASTA if it begins with > or ;. lines: a text a line, without "
               "a final \\r",
               .words = "auto|jsonl|lines|fasta", .values = forms),
    ATTN_PARAM(TEXT, "text_key", "NAME", struct attn_batch_args, options.text_key,
               "key of a record's text; default: text"),
    ATTN_PARAM(TEXT, "id_key", "NAME", struct attn_batch_args, options.id_key,
               "key of a record's id; default: id. A record without one gets its number, from 0"),
    ATTN_PARAM(TEXT, "labels", "NAME,...|all", struct attn_batch_args, options.labels,
               "write these keys of a record beside its results: JSON has an object labels, CSV "
               "columns after id. all: those that mean nothing else; in CSV those of the first "
               "record"),
    ATTN_SHARD_PARAM(struct attn_batch_args, options.shard, options.n_shard),
    ATTN_FAILED_PARAM(struct attn_batch_args, options.max_failed),
    ATTN_RESUME_PARAM(struct attn_batch_args, options.is_resumed),
};
const struct attn_param_list attn_batch_record_params = ATTN_PARAM_LIST("Input", records);

static const struct attn_param limits[] = {
    ATTN_PARAM(SEED, "limit", "N", struct attn_batch_args, options.max_record,
               "take only the first N records; 0: all, the default", .most = INT64_MAX),
    ATTN_PARAM(COUNT, "max_line", "BYTES", struct attn_batch_args, options.max_line,
               "longest line in bytes; the record of a longer one fails, however long it is; "
               "default: 16777216",
               .least = 1, .most = INT32_MAX),
};
const struct attn_param_list attn_batch_limit_params = ATTN_PARAM_LIST("Input", limits);

/* --- Results ---------------------------------------------------------------------------------- */

static enum attn_status read_fields(const struct attn_param *param, void *home, const char *label,
                                    const char *text, struct attn_error *err)
{
    void *fields = (char *)home + param->offset;

    (void)label;
    return attn_error_at(attn_record_fields_parse(text, fields, err), ATTN_STAGE_OPTIONS, err);
}

static enum attn_status read_measures(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err)
{
    void *measures = (char *)home + param->offset;

    (void)label;
    return attn_error_at(attn_measures_parse(text, measures, err), ATTN_STAGE_OPTIONS, err);
}

static enum attn_status read_precision(const struct attn_param *param, void *home,
                                       const char *label, const char *text, struct attn_error *err)
{
    int64_t digits;

    if (!attn_parse_int(text, strlen(text), param->least, param->most, &digits))
        return attn_param_refuse(err, label, text, "a whole number 0 to 17");
    *(int *)(void *)((char *)home + param->offset) = (int)digits;
    return ATTN_OK;
}

static const struct attn_param fields[] = {
    ATTN_PARAM(OWN, "fields", "LIST", struct attn_batch_args, options.fields,
               "what each line holds besides id and n_token: ids, tokens, offsets, measures, "
               "surprisal, predictions, tensors; default: ids,measures, and predictions with "
               "`top` or `next`",
               .read = read_fields),
    ATTN_PARAM(OWN, "measures", "LIST", struct attn_batch_args, many.measures,
               "measures of each head, by their names in \140attn-cli heads\140; default: all but "
               "punctuation, next, separator and the counts of these",
               .read = read_measures),
};
const struct attn_param_list attn_batch_field_params = ATTN_PARAM_LIST("Output", fields);

static const struct attn_param edges[] = {
    ATTN_PARAM(COUNT, "edges_per_query", "K", struct attn_batch_args, many.n_edge,
               "number of keys per query in `edges`, the largest weights first; default: 3",
               .least = 1, .most = INT32_MAX),
};
const struct attn_param_list attn_batch_edge_params = ATTN_PARAM_LIST("Output", edges);

static const struct attn_param writing[] = {
    ATTN_PARAM(OWN, "precision", "N", struct attn_batch_args, options.precision,
               "digits after the point in JSON and CSV; default: as many as bring back the "
               "same number",
               .most = 17, .read = read_precision),
    ATTN_PARAM(FLAG, "sync", NULL, struct attn_batch_args, options.is_synced,
               "wait for the disk at each checkpoint, and for each file and its name at the "
               "end: what is done survives a power failure"),
};
const struct attn_param_list attn_batch_writing_params = ATTN_PARAM_LIST("Output", writing);
