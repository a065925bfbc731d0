/*
 * inspect_json.c - an inspection as one JSON document: numbers exact, sizes in bytes, names
 * as they are. What an inspection of a single file lacks is null.
 */
#include "cmd/inspect_internal.h"

#include "cmd/line/command.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <inttypes.h>
#include <string.h>

/* Of the names and their meaning, not of the values: it grows when one of them changes. */
/* What is printed, where, and the first failure. */
struct page {
    const struct inspection *inspection;
    struct attn_sink *out;
    int code;
};

static void note_failure(struct page *page, const struct attn_error *err)
{
    if (page->code == EXIT_DONE)
        page->code = report(err, EXIT_OUTPUT);
}

/* ROW of PART as an object. */
static void put_row(struct page *page, enum attn_inspected part, size_t row)
{
    struct attn_error err = {0};
    if (attn_table_write_row(page->inspection->tables[part], row, ATTN_TABLE_JSON, -1, page->out,
                             &err) != ATTN_OK)
        note_failure(page, &err);
}

/* The members of PART, a table of one row, without the braces of its object. */
static void put_members(struct page *page, enum attn_inspected part)
{
    struct attn_error err = {0};
    struct attn_sink *object = NULL;
    size_t size;
    enum attn_status status = attn_sink_create_memory(&object, &err);
    if (status == ATTN_OK)
        status = attn_table_write_row(page->inspection->tables[part], 0, ATTN_TABLE_JSON, -1,
                                      object, &err);
    if (status == ATTN_OK)
        status = attn_sink_check(object, &err);
    if (status == ATTN_OK) {
        const char *bytes = attn_sink_bytes(object, &size);
        attn_sink_write(page->out, bytes + 1, size - 2);
    } else {
        note_failure(page, &err);
    }
    attn_sink_free(object);
}

/* "NAME": [all rows of PART], with FIRST before the first row and NEXT before each other. */
static void put_rows(struct page *page, const char *name, enum attn_inspected part,
                     const char *first, const char *next)
{
    size_t n = attn_table_n_row(page->inspection->tables[part]);
    print(page->out, "\"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        print_text(page->out, i == 0 ? first : next);
        put_row(page, part, i);
    }
    print_text(page->out, "]");
}

static void put_model(struct page *page)
{
    if (!page->inspection->model) {
        print_text(page->out,
                   "  \"config\": null,\n  \"differences\": null,\n  \"parameters\": null,\n");
        return;
    }
    print_text(page->out, "  \"config\": {");
    put_members(page, ATTN_INSPECTED_CONFIG);
    print_text(page->out, ",\n    ");
    put_rows(page, "attention", ATTN_INSPECTED_ATTENTION, "\n      ", ",\n      ");
    print_text(page->out, "},\n  ");
    put_rows(page, "differences", ATTN_INSPECTED_DIFFERENCES, "\n    ", ",\n    ");
    print_text(page->out, ",\n  \"parameters\": ");
    put_row(page, ATTN_INSPECTED_PARAMETERS, 0);
    print_text(page->out, ",\n");
}

static void put_tokenizer(struct page *page)
{
    if (!page->inspection->tokenizer) {
        print_text(page->out, "  \"tokenizer\": null,\n");
        return;
    }
    print_text(page->out, "  \"tokenizer\": {");
    put_members(page, ATTN_INSPECTED_TOKENIZER);
    print_text(page->out, ", ");
    put_rows(page, "special", ATTN_INSPECTED_SPECIAL, "", ", ");
    print_text(page->out, "},\n");
}

static void put_run(struct page *page)
{
    if (!page->inspection->model) {
        print_text(page->out, "  \"run\": null");
        return;
    }
    print_text(page->out, "  \"run\": {");
    put_members(page, ATTN_INSPECTED_RUN);
    print_text(page->out, ",\n    \"multiply_adds\": ");
    put_row(page, ATTN_INSPECTED_MULTIPLY_ADDS, 0);
    print_text(page->out, ",\n    \"memory\": ");
    put_row(page, ATTN_INSPECTED_MEMORY, 0);
    print_text(page->out, ",\n    ");
    put_rows(page, "outputs", ATTN_INSPECTED_OUTPUTS, "\n      ", ",\n      ");
    if (page->inspection->tables[ATTN_INSPECTED_KINDS]) {
        print_text(page->out, ",\n    ");
        put_rows(page, "kinds", ATTN_INSPECTED_KINDS, "\n      ", ",\n      ");
    }
    print_text(page->out, "}");
}

int inspection_print_json(const struct inspection *inspection, struct attn_sink *out)
{
    struct page page = {inspection, out, EXIT_DONE};
    print(out, "{\n  \"schema\": %d,\n  \"model\": ", ATTN_JSON_SCHEMA);
    page.code = print_json_string(out, inspection->name, strlen(inspection->name));
    print_text(out, ",\n");
    put_model(&page);
    print_text(out, "  ");
    put_rows(&page, "tensors", ATTN_INSPECTED_TENSORS, "\n    ", ",\n    ");
    print_text(out, ",\n");
    put_tokenizer(&page);
    print_text(out, "  ");
    put_rows(&page, "files", ATTN_INSPECTED_FILES, "\n    ", ",\n    ");
    print(out, ",\n  \"bytes\": %" PRIu64 ",\n", inspection_n_byte(inspection));
    put_run(&page);
    if (inspection->tables[ATTN_INSPECTED_NON_FINITE]) {
        print(out, ",\n  \"check\": {\"n_tensor\": %zu, ",
              attn_safetensors_count(inspection->weights));
        put_rows(&page, "non_finite", ATTN_INSPECTED_NON_FINITE, "\n    ", ",\n    ");
        print_text(out, "}");
    }
    print_text(out, "\n}\n");
    return page.code;
}
