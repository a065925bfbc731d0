/*
 * test_cli_vision.c - models that read a picture beside a text, as a user runs them: each case of
 * `cases.json` of the models of tests/fixtures/vision.tar, sight.tar and several.tar, which
 * PROVENANCE.md describes.
 * A number is good if it differs by at most 4 times the error of float32 there and 1e-6 of the
 * largest one.
 */
#include "base/memory.h"
#include "base/status.h"
#include "formats/json.h"
#include "tests/support/command.h"
#include "tests/support/csv.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096, MOST_ARGS = 64 };

static const char *const models[] = {"smolvlm",
                                     "planted",
                                     "qwen2_5_vl",
                                     "llava",
                                     "qwen2_vl",
                                     "paligemma",
                                     "gemma3",
                                     "sight/smolvlm",
                                     "sight/llava",
                                     "sight/gemma3",
                                     "sight/paligemma",
                                     "sight/qwen2_5_vl",
                                     "sight/qwen3_vl",
                                     "sight/internvl",
                                     "sight/mistral3",
                                     "sight/pixtral",
                                     "sight/llava_next",
                                     "sight/llava_onevision",
                                     "several/qwen3_vl",
                                     "several/smolvlm",
                                     "several/paligemma",
                                     "several/gemma3"};

static char folder[PATH_SIZE / 4], made[PATH_SIZE / 4]; /* fixtures, and what the tool writes */

static void make_folder(char *path, size_t size)
{
    const char *base = getenv("TMPDIR");

    snprintf(path, size, "%s/attn-test-XXXXXX", base ? base : P_tmpdir);
    ck_assert_msg(mkdtemp(path) != NULL, "%s: %s", path, strerror(errno));
}

static void run_shell(const char *command)
{
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void unpack(void)
{
    char command[PATH_SIZE];

    make_folder(folder, sizeof folder);
    make_folder(made, sizeof made);
    snprintf(
        command, sizeof command,
        "for set in vision sight several; do tar -xf tests/fixtures/$set.tar -C '%s' || exit; done",
        folder);
    run_shell(command);
}

static void remove_all(void)
{
    char command[PATH_SIZE];

    snprintf(command, sizeof command, "rm -rf -- '%s' '%s'", folder, made);
    run_shell(command);
}

/* --- Cases ------------------------------------------------------------------------------------ */

struct test_case {
    const char *model, *name;
    const struct attn_node *node;
    const struct attn_node *prompt; /* of info.json, for the sections forward and tower */
    char directory[PATH_SIZE / 2];  /* of the model */
    struct attn_ran ran;
};

static struct attn_json *read_json(const char *path, const char *name)
{
    const struct attn_source source = {.directory = path};
    struct attn_json *json = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_json_read_part(&source, name, attn_json_any, &json, &err) == ATTN_OK, "%s",
                  err.message);
    return json;
}

static double number_of(const struct attn_node *object, const char *key)
{
    const struct attn_node *node = attn_node_find(object, key);
    double value = 0;

    ck_assert_msg(node && attn_node_double(node, &value), "'%s' is missing", key);
    return value;
}

/* Writes the argument ARG: @ is the model, & a folder for what is made. */
static char *expand(const struct test_case *test, const char *arg)
{
    char text[PATH_SIZE];

    snprintf(text, sizeof text, "%s%s%s",
             arg[0] == '@'   ? test->directory
             : arg[0] == '&' ? made
                             : arg,
             (arg[0] == '@' || arg[0] == '&') && arg[1] ? "/" : "",
             arg[0] == '@' || arg[0] == '&' ? arg + 1 : "");
    return strdup(text);
}

/* Replaces members of a file of the model, which is a copy. */
static void edit(const struct test_case *test, const struct attn_node *edits)
{
    for (const struct attn_node *file = edits ? attn_node_first(edits) : NULL; file;
         file = attn_node_next(file))
        for (const struct attn_node *key = attn_node_first(file); key; key = attn_node_next(key)) {
            const struct attn_node *inner = attn_node_is_object(key) ? attn_node_first(key) : NULL;
            double value = 0;
            char command[PATH_SIZE];

            /* the members are one to a line, or the whole file is one line: sed sees one line */
            if (inner && attn_node_double(inner, &value))
                snprintf(command, sizeof command,
                         "sed -i -z 's/\"%s\": *{[^}]*}/\"%s\": {\"%s\": %.15g}/' '%s/%s'",
                         attn_node_key(key), attn_node_key(key), attn_node_key(inner), value,
                         test->directory, attn_node_key(file));
            else if (!attn_node_string(key)) /* true, where null is */
                snprintf(command, sizeof command,
                         "sed -i -z 's/\"%s\": *null/\"%s\": true/' '%s/%s'", attn_node_key(key),
                         attn_node_key(key), test->directory, attn_node_key(file));
            else
                snprintf(command, sizeof command,
                         "sed -i -z 's/\"%s\": *\"[^\"]*\"/\"%s\": \"%s\"/' '%s/%s'",
                         attn_node_key(key), attn_node_key(key), attn_node_string(key),
                         test->directory, attn_node_key(file));
            run_shell(command);
        }
}

static void run(struct test_case *test)
{
    const struct attn_node *edits = attn_node_find(test->node, "edit");
    const char *args[MOST_ARGS] = {NULL};
    char command[PATH_SIZE];
    size_t n = 0;

    if (edits) {
        snprintf(command, sizeof command, "cp -r '%s/%s' '%s/edited'", folder, test->model, made);
        run_shell(command);
        snprintf(test->directory, sizeof test->directory, "%s/edited", made);
        edit(test, edits);
    }
    for (const struct attn_node *arg = attn_node_first(attn_node_find(test->node, "args")); arg;
         arg = attn_node_next(arg))
        args[n++] = expand(test, attn_node_string(arg));
    ck_assert_uint_lt(n, MOST_ARGS);
    test->ran = attn_command(args);
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)args[i]);
    snprintf(command, sizeof command, "rm -rf -- '%s/edited'", made);
    run_shell(command);
    snprintf(test->directory, sizeof test->directory, "%s/%s", folder, test->model);
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/* One array of an archive, or a part of one. */
struct part {
    const double *values;
    size_t n;
};

static void compare(const struct test_case *test, const char *name, struct part found,
                    struct part expected, double yard)
{
    double largest = 0;

    ck_assert_msg(found.n == expected.n, "%s %s: %s has %zu numbers, expected %zu", test->model,
                  test->name, name, found.n, expected.n);
    for (size_t i = 0; i < expected.n; i++)
        if (!isnan(expected.values[i]))
            largest = fmax(largest, fabs(expected.values[i]));
    for (size_t i = 0; i < expected.n; i++) {
        const double error = fabs(found.values[i] - expected.values[i]);

        ck_assert_msg(isnan(expected.values[i]) ? isnan(found.values[i])
                                                : error <= 4 * yard + 1e-6 * largest,
                      "%s %s: %s[%zu] is %.9g, expected %.9g", test->model, test->name, name, i,
                      found.values[i], expected.values[i]);
    }
}

static struct attn_npy read_array(const char *archive, const char *name)
{
    char path[2 * PATH_SIZE];
    struct attn_npy array;

    snprintf(path, sizeof path, "%s/%s.npy", archive, name);
    ck_assert_msg(attn_npy_read(path, &array), "%s is missing", path);
    return array;
}

static const char *made_archive(void)
{
    static char path[PATH_SIZE / 2];

    snprintf(path, sizeof path, "%s/o.npz", made);
    return path;
}

/* Compares the array NAME that was written with slice I of the N along axis 0 of EXPECTED, or
 * axis 1 if there are pictures. */
static void compare_slice(const struct test_case *test, const char *name,
                          const struct attn_npy *expected, size_t i, bool is_of_tower, double yard)
{
    const size_t n_outer = is_of_tower ? expected->shape[0] : 1;
    const size_t n_layer = expected->shape[is_of_tower], n = expected->n / n_outer / n_layer;
    struct attn_npy found = read_array(made_archive(), name);

    ck_assert_msg(found.n == n * n_outer, "%s %s: %s has %zu numbers", test->model, test->name,
                  name, found.n);
    for (size_t outer = 0; outer < n_outer; outer++)
        compare(test, name, (struct part){found.values + outer * n, n},
                (struct part){expected->values + (outer * n_layer + i) * n, n}, yard);
    attn_npy_release(&found);
}

/* Compares the arrays of all layers with TENSOR of expected/K.npz: patterns, or streams, whose last
 * item is the output of the last layer. */
static void compare_layers(const struct test_case *test, const char *archive, const char *tensor,
                           bool is_of_tower)
{
    const bool is_stream = strstr(tensor, "hidden");
    const double yard = number_of(attn_node_find(test->prompt, "float32_minus_float64"), tensor);
    struct attn_npy expected = read_array(archive, tensor);
    const size_t n = expected.shape[is_of_tower];

    for (size_t i = 0; i < n; i++) {
        char name[128];

        snprintf(name, sizeof name, "%s.%zu.%s", is_of_tower ? "tower" : "blocks",
                 is_stream && i + 1 == n ? i - 1 : i,
                 !is_stream   ? "attn.hook_pattern"
                 : i + 1 == n ? "hook_resid_post"
                              : "hook_resid_pre");
        compare_slice(test, name, &expected, i, is_of_tower, yard);
    }
    attn_npy_release(&expected);
}

static void compare_whole(const struct test_case *test, const char *archive, const char *name,
                          double yard)
{
    struct attn_npy expected = read_array(archive, name), found = read_array(made_archive(), name);
    size_t skipped; /* numbers of the first rows of logits, which some archives lack */

    skipped = strcmp(name, "logits") == 0 && found.n > expected.n ? found.n - expected.n : 0;
    ck_assert_int_eq(found.rank, expected.rank);
    compare(test, name, (struct part){found.values + skipped, found.n - skipped},
            (struct part){expected.values, expected.n}, yard);
    attn_npy_release(&expected);
    attn_npy_release(&found);
}

/* Compares the ids and regions with those of info.json. */
static void compare_prompt(const struct test_case *test)
{
    const char *region = attn_node_string(attn_node_find(test->prompt, "region"));
    const struct attn_node *id = attn_node_first(attn_node_find(test->prompt, "ids"));
    struct attn_npy ids = read_array(made_archive(), "ids"),
                    regions = read_array(made_archive(), "region");
    size_t n = 0;

    ck_assert_uint_eq(regions.n, strlen(region));
    for (; id; id = attn_node_next(id), n++) {
        int64_t value = 0;

        ck_assert(attn_node_int(id, &value) && n < ids.n);
        ck_assert_msg(ids.values[n] == (double)value, "%s %s: id %zu is %g, expected %lld",
                      test->model, test->name, n, ids.values[n], (long long)value);
        ck_assert_msg("opqa"[(int)regions.values[n]] == region[n],
                      "%s %s: position %zu is in region %g, expected '%c'", test->model, test->name,
                      n, regions.values[n], region[n]);
    }
    ck_assert_uint_eq(ids.n, n);
    attn_npy_release(&ids);
    attn_npy_release(&regions);
}

/* --- The kinds of cases ----------------------------------------------------------------------- */

static void check_forward(const struct test_case *test, bool is_of_tower)
{
    static const char *const whole[] = {"logits", "image_features", "pixel_values",
                                        "pixel_values.0", "pixel_values.1"};
    char archive[PATH_SIZE];
    double number = number_of(test->node, is_of_tower ? "tower" : "forward");

    snprintf(archive, sizeof archive, "%s/expected/%.0f.npz", test->directory, number);
    compare_layers(test, archive, is_of_tower ? "tower_attn" : "attn", is_of_tower);
    compare_layers(test, archive, is_of_tower ? "tower_hidden" : "hidden", is_of_tower);
    for (size_t i = 0; i < sizeof whole / sizeof *whole && !is_of_tower; i++) {
        const struct attn_node *yards = attn_node_find(test->prompt, "float32_minus_float64");
        const bool has_several = attn_node_find(test->prompt, "images");
        const bool is_of_one = i < 3, is_of_pixels = i >= 2;

        if (!is_of_pixels || is_of_one != has_several)
            compare_whole(test, archive, whole[i],
                          attn_node_find(yards, whole[i]) ? number_of(yards, whole[i]) : 0);
    }
    if (!is_of_tower)
        compare_prompt(test);
}

static void check_npz(const struct test_case *test, const char *file)
{
    char archive[PATH_SIZE];

    snprintf(archive, sizeof archive, "%s/%s", test->directory, file);
    for (const struct attn_node *yard = attn_node_first(attn_node_find(test->node, "yard")); yard;
         yard = attn_node_next(yard)) {
        double value = 0;

        attn_node_double(yard, &value);
        compare_whole(test, archive, attn_node_key(yard), value);
    }
}

static size_t column_of(const struct attn_csv *csv, const char *name)
{
    size_t i = 0;

    while (i < csv->n_col && strcmp(csv->cells[i], name) != 0)
        i++;
    ck_assert_msg(i < csv->n_col, "there is no column '%s'", name);
    return i;
}

/* Finds the row of FOUND with the keys of row ROW of EXPECTED. */
static size_t row_of(const struct test_case *test, const struct attn_csv *found,
                     const struct attn_csv *expected, size_t row)
{
    size_t i = 0;
    bool is_it = false;

    while (!is_it && ++i < found->n_row) {
        is_it = true;
        for (const struct attn_node *key = attn_node_first(attn_node_find(test->node, "keys")); key;
             key = attn_node_next(key)) {
            const char *name = attn_node_string(key);

            is_it &=
                strcmp(found->cells[i * found->n_col + column_of(found, name)],
                       expected->cells[row * expected->n_col + column_of(expected, name)]) == 0;
        }
    }
    ck_assert_msg(is_it, "%s %s: row %zu is missing in\n%s", test->model, test->name, row,
                  test->ran.out);
    return i;
}

static const char *cell_of(const struct attn_csv *csv, size_t row, const char *name)
{
    return csv->cells[row * csv->n_col + column_of(csv, name)];
}

static void compare_row(const struct test_case *test, const struct attn_csv *found, size_t at,
                        const struct attn_csv *expected, size_t row)
{
    for (const struct attn_node *node = attn_node_first(attn_node_find(test->node, "exact")); node;
         node = attn_node_next(node)) {
        const char *name = attn_node_string(node), *cell = cell_of(expected, row, name);

        ck_assert_msg(strcmp(cell, "*") == 0 || strcmp(cell_of(found, at, name), cell) == 0,
                      "%s %s: %s of row %zu is '%s', expected '%s'", test->model, test->name, name,
                      row, cell_of(found, at, name), cell);
    }
    for (const struct attn_node *node = attn_node_first(attn_node_find(test->node, "numbers"));
         node; node = attn_node_next(node)) {
        const char *name = attn_node_key(node), *cell = cell_of(expected, row, name);
        const char *own = cell_of(found, at, name);
        double yard = 0, largest = 0;

        attn_node_double(attn_node_first(node), &yard);
        attn_node_double(attn_node_next(attn_node_first(node)), &largest);
        if (strcmp(cell, "*") == 0)
            continue;
        ck_assert_msg((cell[0] == '\0') == (own[0] == '\0') &&
                          (cell[0] == '\0' || fabs(strtod(own, NULL) - strtod(cell, NULL)) <=
                                                  4 * yard + 1e-6 * largest),
                      "%s %s: %s of row %zu is '%s', expected '%s'", test->model, test->name, name,
                      row, own, cell);
    }
}

static void check_csv(const struct test_case *test, const char *file)
{
    char path[PATH_SIZE], *text = NULL;
    struct attn_csv found = attn_csv_parse(test->ran.out), expected;
    size_t size = 0;
    FILE *stream;

    snprintf(path, sizeof path, "%s/%s", test->directory, file);
    stream = fopen(path, "r");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_gt(getdelim(&text, &size, '\0', stream), 0);
    fclose(stream);
    expected = attn_csv_parse(text);
    for (size_t row = 1; row < expected.n_row; row++)
        compare_row(test, &found, row_of(test, &found, &expected, row), &expected, row);
    ck_assert_uint_eq(found.n_row, expected.n_row);
    attn_csv_release(&found);
    attn_csv_release(&expected);
    free(text);
}

/* The new ids of `generate --json -` are those of the case. */
static void check_ids(const struct test_case *test)
{
    char expected[1024] = "";
    size_t size = 0;

    for (const struct attn_node *id = attn_node_first(attn_node_find(test->node, "ids")); id;
         id = attn_node_next(id)) {
        int64_t value = 0;

        attn_node_int(id, &value);
        size += (size_t)snprintf(expected + size, sizeof expected - size, "%s%lld",
                                 size > 0 ? ", " : "", (long long)value);
    }
    ck_assert_msg(strstr(test->ran.out, expected), "%s %s: expected %s in\n%s", test->model,
                  test->name, expected, test->ran.out);
}

static void check(struct test_case *test)
{
    const struct attn_node *npz = attn_node_find(test->node, "npz"),
                           *csv = attn_node_find(test->node, "csv"),
                           *code = attn_node_find(test->node, "exit");
    int64_t expected = 0;

    run(test);
    if (code) {
        attn_node_int(code, &expected);
        ck_assert_msg(test->ran.exit == (int)expected, "%s %s: exit %d, expected %d\n%s",
                      test->model, test->name, test->ran.exit, (int)expected, test->ran.err);
        attn_assert_failed(test->name, &test->ran, (int)expected);
        return;
    }
    ck_assert_msg(test->ran.exit == 0, "%s %s: %s", test->model, test->name, test->ran.err);
    if (attn_node_find(test->node, "forward"))
        check_forward(test, false);
    else if (attn_node_find(test->node, "tower"))
        check_forward(test, true);
    else if (npz)
        check_npz(test, attn_node_string(npz));
    else if (csv)
        check_csv(test, attn_node_string(csv));
    else if (attn_node_find(test->node, "ids"))
        check_ids(test);
    else
        ck_assert_msg(strstr(test->ran.out, "layer") && strstr(test->ran.out, "<image"),
                      "%s %s: no picture, or no title with 'layer'", test->model, test->name);
}

/* Checks the cases of SECTION of all models. */
static void check_section(const char *section)
{
    size_t n = 0;

    if (!dlopen("libpng16.so.16", RTLD_LAZY) || !dlopen("libturbojpeg.so.0", RTLD_LAZY)) {
        attn_skip_test("there is no libpng or TurboJPEG");
        return;
    }
    unpack();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct test_case test = {.model = models[i]};
        struct attn_json *cases, *info;

        snprintf(test.directory, sizeof test.directory, "%s/%s", folder, models[i]);
        cases = read_json(test.directory, "cases.json");
        info = read_json(test.directory, "info.json");
        for (test.node = attn_node_first(attn_json_root(cases)); test.node;
             test.node = attn_node_next(test.node)) {
            const struct attn_node *of = attn_node_find(test.node, "forward");
            int64_t number = 0;

            test.name = attn_node_string(attn_node_find(test.node, "name"));
            if (strcmp(attn_node_string(attn_node_find(test.node, "section")), section) != 0 ||
                strcmp(test.name, "two pictures") == 0) /* of vision.tar; they are read now */
                continue;
            of = of ? of : attn_node_find(test.node, "tower");
            test.prompt = attn_node_first(attn_node_find(attn_json_root(info), "prompts"));
            if (of)
                attn_node_int(of, &number);
            while (number-- > 0)
                test.prompt = attn_node_next(test.prompt);
            check(&test);
            attn_ran_release(&test.ran);
            n++;
        }
        attn_json_free(cases);
        attn_json_free(info);
    }
    ck_assert_uint_gt(n, 0);
    remove_all();
}

START_TEST(gemma_3_with_a_tower_has_no_cap_of_logits)
{
    struct attn_ran plain, capped;
    char model[PATH_SIZE], command[2 * PATH_SIZE];
    const char *args[] = {"run",     "-q",     "-m",    model, "--ids", "5,6,7",
                          "--sites", "logits", "--csv", "-",   NULL};

    unpack();
    snprintf(model, sizeof model, "%s/gemma3", folder);
    plain = attn_command(args);
    snprintf(command, sizeof command,
             "sed -i 's/\"final_logit_softcapping\": null/\"final_logit_softcapping\": 0.1/' "
             "'%s/config.json'",
             model);
    run_shell(command);
    capped = attn_command(args);
    ck_assert_msg(plain.exit == 0 && strlen(plain.out) > 100, "%s", plain.err);
    ck_assert_str_eq(plain.out, capped.out);
    attn_ran_release(&plain);
    attn_ran_release(&capped);
    remove_all();
}
END_TEST

#define SECTION(test, section)                                                                     \
    START_TEST(test)                                                                               \
    {                                                                                              \
        check_section(section);                                                                    \
    }                                                                                              \
    END_TEST

SECTION(gives_patterns_streams_and_logits, "forward")
SECTION(gives_the_tensors_of_the_tower, "tower")
SECTION(turns_by_position, "rotary")
SECTION(reads_texts_alone, "text")
SECTION(generates_greedily, "generate")
SECTION(maps_where_the_answer_looks, "maps")
SECTION(cuts_attention_to_cells, "knockout")
SECTION(takes_a_neutral_question_away, "neutral")
SECTION(shares_attention_among_regions, "heads")
SECTION(averages_shares_over_layers, "layers")
SECTION(leaves_sinks_out, "sinks")
SECTION(ranks_heads_that_point_at_a_place, "localize")
SECTION(takes_parts_of_the_picture_away, "ablate")
SECTION(goes_back_through_the_picture, "gradients")
SECTION(attributes_the_answer_to_cells, "attribute")
SECTION(draws_the_map_over_the_picture, "figures")
SECTION(reads_several_pictures, "several")
SECTION(refuses_with_one_line, "refusals")

ATTN_SUITE("cli_vision", gemma_3_with_a_tower_has_no_cap_of_logits,
           gives_patterns_streams_and_logits, gives_the_tensors_of_the_tower, turns_by_position,
           reads_texts_alone, generates_greedily, maps_where_the_answer_looks,
           cuts_attention_to_cells, takes_a_neutral_question_away, shares_attention_among_regions,
           averages_shares_over_layers, leaves_sinks_out, ranks_heads_that_point_at_a_place,
           takes_parts_of_the_picture_away, goes_back_through_the_picture,
           attributes_the_answer_to_cells, draws_the_map_over_the_picture, reads_several_pictures,
           refuses_with_one_line)
