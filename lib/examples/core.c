/*
 * core.c - the core of the library alone: a sentence in; patterns and context vectors out, as text,
 * CSV, NPZ and JSON.
 *
 *     make core
 *     build/release/lib/examples/core "Life is short, eat dessert first"
 *     build/release/lib/examples/core -m models/tiny-gpt2 --csv DIR --npz FILE --json FILE "The cat
 * sat"
 *
 * It is linked with libattn-core.a: lib/core, and lib/core_parts.c for lib/parts.c.
 */
#include <attn/attn.h>
#include <attn/extra.h>

#include <stdio.h>
#include <string.h>

enum { MOST_OUTPUT = 3 };

struct asked {
    const char *model, *sentence;
    struct attn_output outputs[MOST_OUTPUT];
    size_t n_output;
};

/* Reads the arguments. Returns false if they are not as above. */
static bool read_arguments(int argc, char **argv, struct asked *asked)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];

        if (strcmp(name, "-m") == 0 && i + 1 < argc) {
            asked->model = argv[++i];
        } else if (strncmp(name, "--", 2) == 0 && i + 1 < argc) {
            const struct attn_format *format = attn_format_find(name + 2);

            if (!format || asked->n_output == MOST_OUTPUT)
                return false;
            asked->outputs[asked->n_output++] =
                (struct attn_output){.format = format, .path = argv[++i]};
        } else if (name[0] != '-' && !asked->sentence) {
            asked->sentence = name;
        } else {
            return false;
        }
    }
    return asked->sentence;
}

static void print_rows(const float *rows, size_t n_row, size_t n_col)
{
    for (size_t i = 0; i < n_row; i++)
        for (size_t j = 0; j < n_col; j++)
            printf("%s%.4f%s", j > 0 ? " " : "    ", (double)rows[i * n_col + j],
                   j + 1 < n_col ? "" : "\n");
}

/* Prints the pattern [T, T] and the context vectors [T, d_head] of each head. */
static void print_heads(const struct attn_capture *capture, const struct attn_dims *dims)
{
    for (int layer = 0; layer < (int)dims->n_layer; layer++)
        for (int head = 0; head < (int)dims->n_head; head++) {
            const struct attn_location pattern = {
                .site = ATTN_SITE_PATTERN, .layer = layer, .head = head};
            const struct attn_location z = {.site = ATTN_SITE_Z, .layer = layer, .head = head};

            printf("head %d.%d\n  pattern\n", layer, head);
            print_rows(attn_capture_head(capture, &pattern), dims->n_position, dims->n_position);
            printf("  context vectors\n");
            print_rows(attn_capture_head(capture, &z), dims->n_position, dims->d_head);
        }
}

/* Runs the sentence: writes the outputs, or prints if there is none. */
static enum attn_status run(struct attn_host *host, const struct asked *asked,
                            struct attn_error *err)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_result result = {0};
    struct attn_capture *capture = NULL;
    enum attn_status status;

    request.input.text = asked->sentence;
    request.input.n_text = strlen(asked->sentence);
    request.selection.sites = "pattern,z";
    request.outputs.items = asked->outputs;
    request.outputs.n = asked->n_output;
    if (asked->n_output > 0) {
        status = attn_run_request(host, &request, &result, err);
    } else {
        status = attn_run_capture(host, &request, &capture, &result, err);
        if (status == ATTN_OK) {
            const struct attn_dims dims =
                attn_config_dims(attn_model_config(attn_host_model(host)), result.n_token);

            print_heads(capture, &dims);
        }
    }
    attn_capture_free(capture);
    attn_result_release(&result);
    return status;
}

int main(int argc, char **argv)
{
    struct asked asked = {.model = "life-is-short"};
    struct attn_source source = {0};
    struct attn_host *host = NULL;
    struct attn_error err = {0};
    enum attn_status status;

    if (!read_arguments(argc, argv, &asked)) {
        fprintf(stderr, "usage: core [-m MODEL] [--csv DIR] [--npz FILE] [--json FILE] SENTENCE\n");
        return 2;
    }
    if (!attn_builtin_find(asked.model, &source))
        source.directory = asked.model;
    status = attn_host_create(&source, NULL, &host, &err);
    if (status == ATTN_OK)
        status = run(host, &asked, &err);
    attn_host_free(host);
    if (status != ATTN_OK)
        fprintf(stderr, "core: %s\n", err.message);
    return status == ATTN_OK ? 0 : 1;
}
