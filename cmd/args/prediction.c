/* prediction.c - see prediction.h. */
#include "cmd/args/prediction.h"

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

/* A line a row, what comes next after a blank one; and the outputs that hold tables. */
static enum attn_status write_tables(struct attn_table *const tables[2],
                                     const struct output_args *args, bool is_standard_used,
                                     struct attn_sink *out, struct attn_error *err)
{
    for (size_t i = 0; !is_standard_used && i < 2; i++) {
        if (i > 0 && tables[0] && tables[1])
            print_text(out, "\n");
        if (tables[i])
            ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT,
                              attn_table_write(tables[i], ATTN_TABLE_TABBED, -1, out, err), err));
    }
    return outputs_write_tables(args, tables, 2, out, err);
}

enum attn_status prediction_write(const struct attn_result *result, const struct output_args *args,
                                  bool is_standard_used, struct attn_sink *out,
                                  struct attn_error *err)
{
    struct attn_table *tables[2] = {NULL, NULL};
    enum attn_status status =
        at_stage(ATTN_STAGE_NONE, attn_result_tables(result, &tables[0], &tables[1], err), err);

    if (status == ATTN_OK)
        status = write_tables(tables, args, is_standard_used, out, err);
    attn_table_free(tables[0]);
    attn_table_free(tables[1]);
    return status;
}
