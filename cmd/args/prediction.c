/* prediction.c - see prediction.h. */
#include "cmd/args/prediction.h"

#include "cmd/line/command.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

static const struct option prediction_rows[] = {
    OPTION_NUMBER("top", "K", struct prediction_args, top, 1, INT32_MAX,
                  "print the K most probable next tokens: probability, id, token. With "
                  "--queries, print them after each of these positions; the first column is the "
                  "position"),
    OPTION_LIST("next", "TEXT", struct prediction_args, next,
                "print the natural log-probability that TEXT comes next. With --queries, print "
                "it after each of these positions; the first column is the position. May be "
                "given several times"),
};

const struct option_group prediction_options = OPTION_GROUP("Prediction", prediction_rows);

/* A line a row, what comes next after a blank one. */
static enum attn_status print_tables(const struct attn_table *top, const struct attn_table *next,
                                     struct attn_sink *out, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    if (top)
        status = attn_table_write(top, ATTN_TABLE_TABBED, -1, out, err);
    if (top && next)
        print_text(out, "\n");
    if (status == ATTN_OK && next)
        status = attn_table_write(next, ATTN_TABLE_TABBED, -1, out, err);
    return status;
}

int prediction_write(const struct attn_result *result, const struct output_args *args,
                     bool is_standard_used, struct attn_sink *out)
{
    struct attn_table *tables[2] = {NULL, NULL};
    struct attn_error err = {0};
    enum attn_status status = attn_result_tables(result, &tables[0], &tables[1], &err);
    if (status != ATTN_OK)
        return report(&err, EXIT_INTERNAL);
    if (!is_standard_used)
        status = print_tables(tables[0], tables[1], out, &err);
    int code =
        status == ATTN_OK ? outputs_write_tables(args, tables, 2, out) : report(&err, EXIT_OUTPUT);
    attn_table_free(tables[0]);
    attn_table_free(tables[1]);
    return code;
}
