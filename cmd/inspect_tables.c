/* inspect_tables.c - finds the tables of an inspection that have something to say. */
#include "cmd/inspect_internal.h"

#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/report.h"
#include "tool.h"

/* Whether there is something to say of PART. */
static bool is_there(const struct inspection *inspection, enum attn_inspected part, bool is_checked)
{
    switch (part) {
    case ATTN_INSPECTED_TENSORS:
    case ATTN_INSPECTED_FILES:
        return true;
    case ATTN_INSPECTED_NON_FINITE:
        return is_checked;
    case ATTN_INSPECTED_TOKENIZER:
    case ATTN_INSPECTED_SPECIAL:
        return inspection->tokenizer;
    case ATTN_INSPECTED_KINDS:
        return inspection->model && inspection->has_kinds;
    default:
        return inspection->model;
    }
}

int inspection_find(struct inspection *inspection, bool is_checked)
{
    struct attn_inspection subject = ATTN_INSPECTION_DEFAULT;
    subject.model = inspection->model;
    subject.weights = inspection->weights;
    subject.tokenizer = inspection->tokenizer;
    subject.source = inspection->model ? &inspection->source.source : NULL;
    subject.cost = &inspection->cost;
    subject.cancel = interrupt_flag();
    for (int i = 0; i < INSPECTION_N_PART; i++) {
        enum attn_inspected part = (enum attn_inspected)i;
        struct attn_error err = {0};
        if (is_there(inspection, part, is_checked) &&
            attn_inspect(&subject, part, &inspection->tables[i], &err) != ATTN_OK)
            return report(&err, EXIT_MODEL);
    }
    return EXIT_DONE;
}

uint64_t inspection_n_byte(const struct inspection *inspection)
{
    const struct attn_table *files = inspection->tables[ATTN_INSPECTED_FILES];
    uint64_t n_byte = 0;
    for (size_t i = 0; i < attn_table_n_row(files); i++)
        n_byte += (uint64_t)attn_table_cell(files, i, 1).integer;
    return n_byte;
}

size_t inspection_n_bad(const struct inspection *inspection)
{
    const struct attn_table *bad = inspection->tables[ATTN_INSPECTED_NON_FINITE];
    return bad ? attn_table_n_row(bad) : 0;
}

void inspection_release(struct inspection *inspection)
{
    interrupt_watch_weights(NULL);
    for (int i = 0; i < INSPECTION_N_PART; i++)
        attn_table_free(inspection->tables[i]);
    attn_tokenizer_close(inspection->tokenizer);
    attn_model_close(inspection->model);
    attn_safetensors_close(inspection->alone);
}
