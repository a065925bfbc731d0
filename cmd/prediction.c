/* prediction.c - see prediction.h. */
#include "prediction.h"

#include "command.h"
#include "print.h"
#include "report.h"

static const struct option prediction_rows[] = {
    {.name = "top",
     .argument = "K",
     .heading = "Prediction",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct prediction_args, top),
     .help = "print the K most probable next tokens: probability, id, token"},
    {.name = "next",
     .argument = "TEXT",
     .heading = "Prediction",
     .kind = OPTION_LIST,
     .offset = offsetof(struct prediction_args, next),
     .help = "print the log-probability (natural) that TEXT follows; may be given several times"},
};

const struct option_group prediction_options = OPTION_GROUP(prediction_rows);

int prediction_print(const struct attn_result *result, struct attn_sink *out)
{
    struct attn_table *top, *next;
    struct attn_error err = {0};
    enum attn_status status = attn_result_tables(result, &top, &next, &err);
    if (status != ATTN_OK)
        return report(&err, EXIT_INTERNAL);
    if (top)
        status = attn_table_write(top, ATTN_TABLE_TABBED, -1, out, &err);
    if (top && next)
        print_text(out, "\n");
    if (status == ATTN_OK && next)
        status = attn_table_write(next, ATTN_TABLE_TABBED, -1, out, &err);
    attn_table_free(top);
    attn_table_free(next);
    return status == ATTN_OK ? EXIT_DONE : report(&err, EXIT_OUTPUT);
}
