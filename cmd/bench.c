/*
 * bench.c - attn-cli bench: how fast the parts and the whole run here, as shares of what the
 * machine can do.
 */
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
    double seconds; /* below 0: not given */
    int format;     /* enum bench_format */
};

/* What the figures are of. */
struct machine {
    struct attn_processor processor;
    char products[ATTN_GEMM_LIBRARY_SIZE];
    const char *compiler;
    int n_thread;
};

struct bench {
    struct bench_args args;
    struct attn_sink *out;
    struct model_source source;
    struct attn_model *model;
    struct attn_pool *pool;
    struct machine machine;
    struct attn_table *rows; /* owned; what was measured so far */
};

static const struct option measuring_rows[] = {
    OPTION_TEXT("parts", "LIST", struct bench_args, parts,
                "what to measure, separated by commas: limit, product, pack, softmax, attention, "
                "prefill, decode, batch, load, write; default: all"),
    OPTION_REAL("seconds", "S", struct bench_args, seconds,
                "how long to measure each row, default 0.5"),
    OPTION_HEADING("Output"),
    OPTION_CHOICE("format", "text|csv|json", struct bench_args, format,
                  "a table (default), CSV or one JSON document"),
};

static const struct option_group measuring_options = OPTION_GROUP("Measuring", measuring_rows);

static const struct option_part parts[] = {
    {&model_all_options, offsetof(struct bench_args, model)},
    {&measuring_options, 0},
    {&running_options, offsetof(struct bench_args, running)},
};

static int bench_main(int argc, char **argv);

const struct command command_bench = {
    .name = "bench",
    .summary = "how fast a model and its parts run on this machine",
    .usage = "[OPTIONS]",
    .description =
        "Runs the parts of a model and the whole model. Prints the median time of each,\n"
        "and its share of what this machine can do at most: the multiply-adds that the\n"
        "same threads do on registers, or the bytes that they read from memory, whichever\n"
        "limits the part. Both limits are measured again in every round, so that shares\n"
        "can be compared even where times cannot. The table names the processor and the\n"
        "limits. Files are written into the current folder and removed.\n"
        "\n"
        "Times are those of this machine as it is now. They do not say how fast another\n"
        "machine is.\n",
    .examples = "  attn-cli bench -m fable\n"
                "  attn-cli bench -m fable --parts prefill,decode --seconds 5\n"
                "  attn-cli bench -t 1 --format csv > bench.csv\n",
    OPTION_PARTS(parts),
    .main = bench_main,
};

static int open_model(struct bench *bench)
{
    struct attn_model_options options = ATTN_MODEL_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    int code = model_source_find(&bench->args.model, &bench->args.running, &bench->source);
    if (code != EXIT_DONE)
        return code;
    options.load = (enum attn_load)bench->args.model.load;
    options.reuse = true;
    options.compute = (enum attn_compute)bench->args.model.compute;
    options.pool = bench->pool;
    if (attn_model_open(&bench->source.source, &options, &bench->model, &err) != ATTN_OK)
        return report(&err, EXIT_MODEL);
    interrupt_watch_model(bench->model);
    for (size_t layer = 0; layer < attn_model_config(bench->model)->n_layer; layer++)
        if (attn_model_config(bench->model)->is_cross[layer])
            return report_problem(EXIT_USAGE, NULL,
                                  "'%s' attends to a second sequence, and bench has none",
                                  attn_model_name(bench->model));
    return EXIT_DONE;
}

static int find_machine(struct bench *bench)
{
    struct attn_error err = {0};
    if (attn_pool_create((int)bench->args.running.threads, &bench->pool, &err) != ATTN_OK)
        return report(&err, EXIT_INTERNAL);
    attn_processor_find(&bench->machine.processor);
    attn_gemm_library(running_gemm(), running_isa(), bench->machine.products);
    bench->machine.compiler = __VERSION__;
    bench->machine.n_thread = attn_pool_n_thread(bench->pool);
    return EXIT_DONE;
}

static void print_machine_json(const struct bench *bench)
{
    const struct machine *machine = &bench->machine;
    struct attn_sink *out = bench->out;
    print(out, "{\n\"schema\": %d,\n\"model\": ", ATTN_JSON_SCHEMA);
    print_json_string(out, attn_model_name(bench->model), strlen(attn_model_name(bench->model)));
    print_text(out, ",\n\"processor\": ");
    print_json_string(out, machine->processor.name, strlen(machine->processor.name));
    print_text(out, ",\n\"features\": ");
    print_json_string(out, machine->processor.features, strlen(machine->processor.features));
    print(out, ",\n\"cores\": %zu,\n\"hardware_threads\": %zu", machine->processor.n_core,
          machine->processor.n_thread);
    print(out, ",\n\"threads\": %d,\n\"instructions\": \"%s\",\n\"products\": \"%s\",\n",
          machine->n_thread, attn_isa_name(attn_isa_detect()), machine->products);
    print(out, "\"compiler\": \"gcc %s\",\n\"version\": \"%s\",\n\"rows\": [", machine->compiler,
          ATTN_VERSION);
}

/* "AMD EPYC, family 26, model 2; 2 cores, 2 hardware threads; avx2 avx512f", without what is not
 * known. */
static void print_processor(struct attn_sink *out, const struct attn_processor *processor)
{
    print_text(out, processor->name);
    if (processor->n_core > 0)
        print(out, "; %zu core%s", processor->n_core, processor->n_core == 1 ? "" : "s");
    if (processor->n_thread > 0)
        print(out, "%s %zu hardware thread%s", processor->n_core > 0 ? "," : ";",
              processor->n_thread, processor->n_thread == 1 ? "" : "s");
    print(out, "%s%s\n", processor->features[0] != '\0' ? "; " : "", processor->features);
}

static int begin(struct bench *bench)
{
    const struct machine *machine = &bench->machine;
    struct attn_error err = {0};
    if (attn_bench_table(&bench->rows, &err) != ATTN_OK)
        return report(&err, EXIT_INTERNAL);
    if (bench->args.format == FORMAT_JSON) {
        print_machine_json(bench);
    } else if (bench->args.format == FORMAT_CSV) {
        print_text(bench->out, "part,name,seconds,share,gflops,gbytes_per_second,rounds,"
                               "limit_gflops,limit_gbytes_per_second,"
                               "processor,features,threads,products,version\n");
    } else {
        print_processor(bench->out, &machine->processor);
        print(bench->out,
              "%d thread%s, %s, %s, gcc %s, attn-cli %s\n"
              "share: of what the machine can do at most, measured beside each round\n",
              machine->n_thread, machine->n_thread == 1 ? "" : "s",
              attn_isa_name(attn_isa_detect()), machine->products, machine->compiler, ATTN_VERSION);
    }
    return EXIT_DONE;
}

/* A number with three digits that matter, in a column of 8; blank for 0. */
static void print_figure(struct attn_sink *out, double value)
{
    if (value <= 0)
        print(out, "%8s", "");
    else
        print(out, "%8.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

/* Columns of the table. */
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

/* With quotes around every text, whether or not it holds a comma. */
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
    print(bench->out, ",\"%s\",\"%s\",%d,\"%s\",%s\n", machine->processor.name,
          machine->processor.features, machine->n_thread, machine->products, ATTN_VERSION);
}

/* The range of a column's numbers above 0; FIRST > LAST when it has none. */
static void find_range(const struct bench *bench, size_t column, double *first, double *last)
{
    *first = (double)INFINITY, *last = 0;
    for (size_t row = 0; row < attn_table_n_row(bench->rows); row++) {
        double value = real_of(bench, row, column);
        *first = value > 0 && value < *first ? value : *first;
        *last = value > *last ? value : *last;
    }
}

/* What the machine could do beside the rows. */
static void print_limits(const struct bench *bench)
{
    double flops[2], bytes[2];
    find_range(bench, LIMIT_GFLOPS, &flops[0], &flops[1]);
    find_range(bench, LIMIT_GBYTES, &bytes[0], &bytes[1]);
    if (flops[1] > 0)
        print(bench->out,
              "\nlimits beside the rows: %.0f to %.0f GF/s on registers, %.1f to %.1f GB/s read\n",
              flops[0], flops[1], bytes[0], bytes[1]);
}

static enum attn_status take_row(void *user, const struct attn_bench_row *measured,
                                 struct attn_error *err)
{
    struct bench *bench = user;
    size_t row = attn_table_n_row(bench->rows);
    enum attn_status status = attn_bench_table_append(bench->rows, measured, err);
    if (status != ATTN_OK)
        return status;
    if (bench->args.format == FORMAT_TEXT) {
        print_text_row(bench, row);
    } else if (bench->args.format == FORMAT_CSV) {
        print_csv_row(bench, row);
    } else {
        print_text(bench->out, row > 0 ? ",\n" : "\n");
        status = attn_table_write_row(bench->rows, row, ATTN_TABLE_JSON, -1, bench->out, err);
    }
    return status == ATTN_OK ? attn_sink_check(bench->out, err) : status;
}

static int measure(struct bench *bench)
{
    const struct bench_args *args = &bench->args;
    struct attn_bench_options bench_options = ATTN_BENCH_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    bench_options.model = bench->model;
    bench_options.source = &bench->source.source;
    bench_options.pool = bench->pool;
    bench_options.directory = ".";
    bench_options.parts = args->parts;
    bench_options.seconds = args->seconds >= 0 ? args->seconds : bench_options.seconds;
    bench_options.on_row = take_row;
    bench_options.user = bench;
    bench_options.cancel = interrupt_flag();
    bench_options.gemm = running_gemm();
    bench_options.isa = running_isa();
    enum attn_status status = attn_bench_run(&bench_options, &err);
    if (status == ATTN_INVALID)
        return report(&err, EXIT_USAGE);
    if (status == ATTN_IO)
        return attn_sink_check(bench->out, NULL) == ATTN_OK ? report(&err, EXIT_OUTPUT) : EXIT_DONE;
    if (status != ATTN_OK)
        return report(&err, EXIT_MODEL);
    if (args->format == FORMAT_JSON)
        print_text(bench->out, "\n]\n}\n");
    else if (args->format == FORMAT_TEXT)
        print_limits(bench);
    return EXIT_DONE;
}

static int perform(struct bench *bench)
{
    static int (*const steps[])(struct bench * bench) = {find_machine, open_model, begin, measure};
    int code = EXIT_DONE;
    interrupt_catch();
    for (size_t i = 0; code == EXIT_DONE && i < sizeof(steps) / sizeof(steps[0]); i++)
        code = interrupt_is_pending() ? EXIT_INTERNAL : steps[i](bench);
    return code;
}

static int bench_main(int argc, char **argv)
{
    struct bench bench = {.args.seconds = -1};
    int code = options_parse(&command_bench, argc, argv, &bench.args);
    if (code == OPTIONS_OK)
        code = print_open(&bench.out);
    if (bench.out)
        code = perform(&bench);
    attn_table_free(bench.rows);
    attn_pool_free(bench.pool);
    interrupt_watch_model(NULL);
    attn_model_free(bench.model);
    return print_close(bench.out, code);
}
