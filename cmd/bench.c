/* bench.c - attn-cli bench: measures how fast a model runs here, relative to the limits of the
 * machine. */
#include "cmd/args/document.h"
#include "cmd/args/model.h"
#include "cmd/args/running.h"
#include "cmd/line/command.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum bench_format { FORMAT_TEXT, FORMAT_CSV, FORMAT_JSON };

struct bench_args {
    struct model_args model;
    struct running_args running;
    const char *parts;
    const char *lengths;
    double seconds; /* negative: not given */
    int clock;      /* 1: processor time */
    int format;     /* enum bench_format */
    struct document_args document;
};

/* Describes the machine on which the benchmark runs. */
struct machine {
    struct attn_processor processor;
    char products[ATTN_GEMM_LIBRARY_SIZE];
    int n_thread;
};

struct bench {
    const struct bench_args *args;
    struct attn_sink *out;
    struct model_source source;
    struct attn_model *model;
    struct attn_pool *pool;
    struct machine machine;
    struct attn_table *rows; /* owned; the measurements so far */
};

static const struct attn_param measuring_rows[] = {
    ATTN_PARAM(TEXT, "parts", "LIST", struct bench_args, parts,
               "what to measure, separated by commas: prefill (prompts, with every attention "
               "matrix), feed (without), decode (a token at a time); default: all"),
    ATTN_PARAM(TEXT, "lengths", "N,...", struct bench_args, lengths,
               "tokens of the prompts; default: 6,32,128,512,1024, as far as the model takes "
               "them"),
    ATTN_PARAM(CHOICE, "clock", NULL, struct bench_args, clock,
               "how times and limits are measured: as they pass (default), or as processor "
               "time, which a busy machine changes less, on one thread",
               .words = "wall|cpu"),
    ATTN_PARAM(REAL, "seconds", "S", struct bench_args, seconds,
               "how long to measure each row, default 0.5"),
};

static const struct attn_param output_rows[] = {
    ATTN_PARAM(CHOICE, "format", NULL, struct bench_args, format,
               "a table (default), CSV or one JSON document", .words = "text|csv|json"),
};

static const struct attn_param_part parts[] = {
    MODEL_OPTIONS(offsetof(struct bench_args, model)),
    {OPTION_LIST("Measuring", measuring_rows), 0},
    {OPTION_LIST("Output", output_rows), 0},
    {&document_options, offsetof(struct bench_args, document)},
    {&running_options, offsetof(struct bench_args, running)},
};

static enum attn_status run_bench(struct call *call, struct attn_error *err);

static enum attn_status tabulate(size_t i, const char **when, struct attn_table **table,
                                 struct attn_error *err)
{
    (void)when;
    return i == 0 ? attn_bench_table(table, err) : ATTN_OK;
}

const struct command command_bench = {
    .name = "bench",
    .summary = "how fast a model runs on this machine",
    .usage = "[OPTIONS]",
    .description =
        "Runs a model on prompts of several lengths, and token by token. Prints median\n"
        "times, and the share of what this machine can do at most: the multiply-adds that\n"
        "the same threads do on registers, or the bytes that they read from memory,\n"
        "whichever limits it. Both limits are measured again in every round, so that\n"
        "shares can be compared even where times cannot. The table names the processor\n"
        "and the limits.\n"
        "\n"
        "Times are those of this machine as it is now. They do not say how fast another\n"
        "machine is.\n",
    .examples = "  attn-cli bench -m fable\n"
                "  attn-cli bench -m fable --parts prefill,decode --seconds 5\n"
                "  attn-cli bench -t 1 --csv bench.csv\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct bench_args),
    .defaults = &(const struct bench_args){.seconds = -1},
    .work = run_bench,
    .tabulate = tabulate,
};

static enum attn_status open_model(struct bench *bench, struct attn_error *err)
{
    const struct model_args *args = &bench->args->model;
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;

    ATTN_TRY(model_source_find(args, &bench->args->running, &bench->source, err));
    options.load = (enum attn_load)args->load;
    options.reuse = true;
    options.compute = (enum attn_compute)args->compute;
    options.isa = running_isa();
    options.pool = bench->pool;
    ATTN_TRY(at_stage(ATTN_STAGE_MODEL,
                      attn_model_open(&bench->source.source, &options, &bench->model, err), err));
    interrupt_watch_model(bench->model);
    if (attn_model_config(bench->model)->n_token == 0)
        return refuse(err, NULL, "'%s' reads pictures, and bench has none",
                      attn_model_name(bench->model));
    for (size_t layer = 0; layer < attn_model_config(bench->model)->n_layer; layer++)
        if (attn_model_config(bench->model)->is_cross[layer])
            return refuse(err, NULL, "'%s' attends to a second sequence, and bench has none",
                          attn_model_name(bench->model));
    return ATTN_OK;
}

static enum attn_isa isa_in_use(void)
{
    const enum attn_isa best = attn_isa_detect();

    return running_isa() < best ? running_isa() : best;
}

static enum attn_status print_machine_json(const struct bench *bench, struct attn_error *err)
{
    const struct machine *machine = &bench->machine;
    struct attn_buffer text = {0};
    struct attn_json_writer json = {.out = &text, .comma = ",\n"};
    enum attn_status status;

    attn_json_begin(&json, '{');
    attn_json_line(&json);
    attn_json_integer(attn_json_key(&json, "schema"), ATTN_JSON_SCHEMA);
    attn_json_text(attn_json_key(&json, "model"), attn_model_name(bench->model));
    attn_json_text(attn_json_key(&json, "processor"), machine->processor.name);
    attn_json_text(attn_json_key(&json, "features"), machine->processor.features);
    attn_json_size(attn_json_key(&json, "cores"), machine->processor.n_core);
    attn_json_size(attn_json_key(&json, "hardware_threads"), machine->processor.n_thread);
    attn_json_integer(attn_json_key(&json, "threads"), machine->n_thread);
    attn_json_text(attn_json_key(&json, "instructions"), attn_isa_name(isa_in_use()));
    attn_json_text(attn_json_key(&json, "products"), machine->products);
    attn_json_text(attn_json_key(&json, "compiler"), "gcc " __VERSION__);
    attn_json_text(attn_json_key(&json, "version"), ATTN_VERSION);
    attn_json_begin(attn_json_key(&json, "rows"), '['); /* added as they are measured */
    status = print_buffer(bench->out, &text, err);
    attn_buffer_release(&text);
    return status;
}

static enum attn_status begin(struct bench *bench, struct attn_error *err)
{
    const struct machine *machine = &bench->machine;
    const struct attn_processor *processor = &machine->processor;

    ATTN_TRY(attn_bench_table(&bench->rows, err));
    if (bench->args->format == FORMAT_JSON)
        return print_machine_json(bench, err);
    if (bench->args->format == FORMAT_CSV) {
        print_text(bench->out, "part,name,seconds,share,gflops,gbytes_per_second,rounds,"
                               "limit_gflops,limit_gbytes_per_second,"
                               "processor,features,threads,products,version," ATTN_ROW_TYPE "\n");
        return ATTN_OK;
    }
    /* for example "AMD EPYC, family 26, model 2; 2 cores, 2 hardware threads; avx2 avx512f";
     * unknown parts are left out */
    print_text(bench->out, processor->name);
    if (processor->n_core > 0)
        print(bench->out, "; %zu core%s", processor->n_core, processor->n_core == 1 ? "" : "s");
    if (processor->n_thread > 0)
        print(bench->out, "%s %zu hardware thread%s", processor->n_core > 0 ? "," : ";",
              processor->n_thread, processor->n_thread == 1 ? "" : "s");
    print(bench->out, "%s%s\n", processor->features[0] != '\0' ? "; " : "", processor->features);
    print(bench->out,
          "%d thread%s, %s, %s, gcc %s, attn-cli %s\n"
          "share: of what the machine can do at most, measured beside each round\n",
          machine->n_thread, machine->n_thread == 1 ? "" : "s", attn_isa_name(isa_in_use()),
          machine->products, __VERSION__, ATTN_VERSION);
    return ATTN_OK;
}

/* Prints a number with three significant digits, 8 columns wide; blanks for 0. */
static void print_figure(struct attn_sink *out, double value)
{
    if (value <= 0)
        print(out, "%8s", "");
    else
        print(out, "%8.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

/* The indices of the table's columns. */
enum { PART, NAME, SECONDS, SHARE, GFLOPS, GBYTES, ROUNDS, LIMIT_GFLOPS, LIMIT_GBYTES };

static double real_of(const struct bench *bench, size_t row, size_t column)
{
    return attn_table_cell(bench->rows, row, column).real;
}

static void print_text_row(struct bench *bench, size_t row)
{
    struct attn_sink *out = bench->out;
    struct attn_cell part = attn_table_cell(bench->rows, row, PART);
    struct attn_cell name = attn_table_cell(bench->rows, row, NAME);
    struct attn_cell last = row > 0 ? attn_table_cell(bench->rows, row - 1, PART) : part;
    double share = real_of(bench, row, SHARE);

    if (row == 0 || last.size != part.size || memcmp(last.text, part.text, part.size) != 0)
        print(out, "\n%-34.*s       ms   share   GF/s    GB/s\n", (int)part.size, part.text);
    print(out, "  %-30.*s %10.3f", (int)name.size, name.text, 1e3 * real_of(bench, row, SECONDS));
    if (share > 0)
        print(out, " %6.0f%%", 100 * share);
    else
        print(out, "%8s", "");
    print_figure(out, real_of(bench, row, GFLOPS));
    print_figure(out, real_of(bench, row, GBYTES));
    print_text(out, "\n");
}

/* Texts are always quoted, whether or not they have commas. */
static void print_csv_row(struct bench *bench, size_t row)
{
    const struct machine *machine = &bench->machine;
    struct attn_cell part = attn_table_cell(bench->rows, row, PART);
    struct attn_cell name = attn_table_cell(bench->rows, row, NAME);

    print(bench->out, "%.*s,\"%.*s\",%.9g,%.4g,%.6g,%.6g,%d,%.6g,%.6g", (int)part.size, part.text,
          (int)name.size, name.text, real_of(bench, row, SECONDS), real_of(bench, row, SHARE),
          real_of(bench, row, GFLOPS), real_of(bench, row, GBYTES),
          (int)attn_table_cell(bench->rows, row, ROUNDS).integer, real_of(bench, row, LIMIT_GFLOPS),
          real_of(bench, row, LIMIT_GBYTES));
    print(bench->out, ",\"%s\",\"%s\",%d,\"%s\",%s," ATTN_ROW_DATA "\n", machine->processor.name,
          machine->processor.features, machine->n_thread, machine->products, ATTN_VERSION);
}

/* Sets *first and *last to the least and the largest positive number of a column. If it has none,
 * *first > *last. */
static void find_range(const struct bench *bench, size_t column, double *first, double *last)
{
    *first = (double)INFINITY, *last = 0;
    for (size_t row = 0; row < attn_table_n_row(bench->rows); row++) {
        double value = real_of(bench, row, column);

        *first = value > 0 && value < *first ? value : *first;
        *last = value > *last ? value : *last;
    }
}

static enum attn_status take_row(void *user, const struct attn_bench_row *measured,
                                 struct attn_error *err)
{
    struct bench *bench = user;
    const size_t row = attn_table_n_row(bench->rows);

    ATTN_TRY(attn_bench_table_append(bench->rows, measured, err));
    if (bench->args->format == FORMAT_TEXT) {
        print_text_row(bench, row);
    } else if (bench->args->format == FORMAT_CSV) {
        print_csv_row(bench, row);
    } else {
        print_text(bench->out, row > 0 ? ",\n" : "\n");
        ATTN_TRY(attn_table_write_row(bench->rows, row, ATTN_TABLE_JSON, -1, bench->out, err));
    }
    return attn_sink_check(bench->out, err);
}

static enum attn_status measure(struct bench *bench, struct attn_error *err)
{
    const struct bench_args *args = bench->args;
    struct attn_bench_options options = ATTN_BENCH_OPTIONS_DEFAULT;
    double flops[2], bytes[2];
    enum attn_status status;

    if (args->lengths && args->parts && strcmp(args->parts, "decode") == 0)
        return refuse(err, NULL, "`lengths` has no effect with `parts` decode");
    options.model = bench->model;
    options.pool = bench->pool;
    options.parts = args->parts;
    options.lengths = args->lengths;
    options.is_cpu = args->clock == 1;
    options.seconds = args->seconds >= 0 ? args->seconds : options.seconds;
    options.on_row = take_row;
    options.user = bench;
    options.cancel = interrupt_flag();
    options.gemm = running_gemm();
    options.isa = running_isa();
    status = attn_bench_run(&options, err);
    /* the reader closed the pipe */
    if (status == ATTN_IO && attn_sink_is_closed_pipe(bench->out)) {
        *err = (struct attn_error){0};
        return ATTN_OK;
    }
    if (status == ATTN_INVALID && !args->lengths)
        attn_error_hint(err, "`make bench-parts` of the source measures parts of a model");
    ATTN_TRY(at_stage(status == ATTN_INVALID ? ATTN_STAGE_OPTIONS
                      : status == ATTN_IO    ? ATTN_STAGE_OUTPUT
                                             : ATTN_STAGE_MODEL,
                      status, err));
    if (args->format == FORMAT_JSON)
        print_text(bench->out, "\n]\n}\n");
    if (args->format != FORMAT_TEXT)
        return ATTN_OK;
    find_range(bench, LIMIT_GFLOPS, &flops[0], &flops[1]);
    find_range(bench, LIMIT_GBYTES, &bytes[0], &bytes[1]);
    if (flops[1] > 0) /* limits of the machine, measured together with the rows */
        print(bench->out,
              "\nlimits beside the rows: %.0f to %.0f GF/s on registers, %.1f to %.1f GB/s read\n",
              flops[0], flops[1], bytes[0], bytes[1]);
    return ATTN_OK;
}

static enum attn_status work(struct bench *bench, struct attn_error *err)
{
    interrupt_catch();
    ATTN_TRY(attn_pool_create((int)bench->args->running.threads, &bench->pool, err));
    attn_processor_find(&bench->machine.processor);
    attn_gemm_library(running_gemm(), running_isa(), bench->machine.products);
    bench->machine.n_thread = attn_pool_n_thread(bench->pool);
    ATTN_TRY(interrupt_check(err));
    ATTN_TRY(open_model(bench, err));
    ATTN_TRY(interrupt_check(err));
    ATTN_TRY(begin(bench, err));
    return measure(bench, err);
}

static enum attn_status run_bench(struct call *call, struct attn_error *err)
{
    struct bench_args *args = call->args;
    struct bench bench = {.args = args};
    enum attn_status status;

    ATTN_TRY(document_open(call, &args->document, err));
    if (args->document.json || args->document.csv)
        args->format = args->document.json ? FORMAT_JSON : FORMAT_CSV;
    ATTN_TRY(model_check_projector(call, false, err));
    bench.out = call->out;
    status = work(&bench, err);
    attn_table_free(bench.rows);
    attn_pool_free(bench.pool);
    interrupt_watch_model(NULL);
    attn_model_free(bench.model);
    return status;
}
