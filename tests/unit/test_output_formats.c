/*
 * test_output_formats.c - every format of tensors over a table of runs: the bytes, or the refusal,
 * are those of tests/golden/outputs/RUN.FORM, however the rows come; and what failures leave.
 *
 * ATTN_REFRESH=yes writes these files; look at what changed, then `make fixtures`.
 */
#include "tests/support/folder.h"
#include "tests/support/npy.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "tests/support/written.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Runs ------------------------------------------------------------------------------------- */

static const bool is_cross[] = {true};

/* clang-format off */
#define DIMS(layers, heads, kv, model, head, value, mlp, vocab, positions, rank, source)           \
    {.n_layer = layers, .n_head = heads, .n_kv_head = kv, .d_model = model, .d_head = head,        \
     .d_value = value, .d_mlp = mlp, .n_vocab = vocab, .n_position = positions, .n_rank = rank,    \
     .n_source = source, .is_cross = (source) > 0 ? is_cross : NULL}

static const struct attn_dims
/*               layers heads kv  model head value mlp  vocab positions rank source */
    wide    = DIMS(3,     4,   2,   7,   2,    3,   5,   11,     6,      5,   0),
    deep    = DIMS(101,   2,   1,   3,   2,    2,   0,    0,     3,      0,   0),
/* tables show 16 positions, 8 components */
    sixteen = DIMS(1,     1,   1,   3,   2,    2,   0,    0,    16,      0,   0),
    twenty  = DIMS(1,     2,   1,   3,   2,    2,   0,    5,    20,     20,   0),
    sixty   = DIMS(1,     9,   3,   3,   2,   11,   0,    0,    60,      0,   0),
/* attention to a source; on arrays, causal queries see two and three of the keys */
    source  = DIMS(1,     1,   1,   1,   1,    1,   0,    5,     2,      0,   3),
    arrays  = DIMS(1,     4,   2,   0,   2,    2,   0,    0,     2,      2,   3),
    one_array = DIMS(1,   1,   1,   0,   2,    2,   0,    0,     2,      2,   3);
/* clang-format on */

static const char *const quotes[ATTN_MADE_UP_MAX] = {"Life", "a,b", " say \"hi\"\n"};
static const char *const formulas[ATTN_MADE_UP_MAX] = {"=1+1", "+", "-,\"@"};
static const char *const blanks[ATTN_MADE_UP_MAX] = {" a", " ", "incomprehensible"};
static const char *const cats[ATTN_MADE_UP_MAX] = {
    "\xe7\x8c\xab\xe7\x8c\xab", "\x1b[31m",
    ("\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
     "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80")};
static const char *const bytes[ATTN_MADE_UP_MAX] = {"Life",     "\"is\"",  "\xf0\x9f",
                                                    "a\\b\x1b", "dessert", "\xe7\x8c\xab"};
static const char *const source_tokens[] = {"le", "petit,", "\xffx"};
static const size_t source_sizes[] = {2, 6, 2};
static const size_t begin[] = {0, 4, 9, 12, 15, 18}, end[] = {4, 8, 11, 15, 18, 20};
static const struct attn_option options[] = {{"heads", "1.2"}, {"queries", "0,\"2\"\xff\n"}};

/* What a run has beside tokens, ids and the name of its model, or lacks. */
enum { BARE = 1, NO_TOKENS = 2, OFFSETS = 4, ADDED = 8, SOURCE = 16, FAILS = 32 };

static const struct run {
    const char *name, *sites, *heads, *queries;
    const struct attn_dims *dims; /* NULL: attn_made_up_small */
    const char *const *words;     /* NULL: "w" */
    unsigned has;                 /* FAILS: memory runs out and devices are full, too */
    int n_digit;                  /* precision and 1; 0: exact */
    const char *forms;            /* NULL: all but streams */
    struct attn_array_axes axes;  /* set for attention on arrays */
    size_t step;                  /* of feeds, other than that of the ways */
} runs[] = {
    {"everything", "*", "all", "all", .words = quotes, .forms = "text csv/ tidy safetensors"},
    {"everything-wide", "*", "all", "all", .dims = &wide, .words = bytes, .forms = "npy/ npz json"},
    {"matrix", "pattern", "1.0", "all", .words = quotes},
    {"vectors", "z", "0.1", "0,2", .words = quotes},
    {"key-vectors", "k,resid_mid", "1.*", "all", .words = quotes},
    {"sites", "pattern,z,attn_scores", "1.0", "all", .words = quotes, .has = FAILS},
    {"one-query", "pattern", "0.1", "2", .words = quotes},
    {"two-heads", "pattern", "0.1,1.0", "1", .words = quotes},
    {"no-mask", "qk", "0.0", "all", .words = quotes},
    {"keys-so-far", "qk,attn_scores,pattern", "all", "all", .dims = &wide, .step = 2},
    {"two-digits", "pattern", "0.1", "0", .words = quotes, .n_digit = 3},
    {"formulas", "pattern", "0.1", "2", .words = formulas, .n_digit = 1},
    {"blanks", "pattern", "0.0", "all", .words = blanks},
    {"wide-characters", "pattern", "0.0", "all", .words = cats},
    {"bytes", "pattern,z", "1.2", "0,2", .dims = &wide, .words = bytes, .has = OFFSETS | ADDED},
    {"selection", "pattern,z,v,resid_pre", "1.1,1.3,2.0", "1,4-5", .dims = &wide, .words = bytes,
     .has = FAILS, .forms = "text csv csv/ tidy npy/ npy> npz npz> safetensors json"},
    {"feeds", "pattern,attn_scores,k,z,resid_mid,logits", "all", "1-3", .dims = &wide,
     .words = bytes},
    {"no-tokens", "pattern", "0.1", "0", .has = NO_TOKENS},
    {"bare", "embed", "all", "0", .has = BARE, .n_digit = 2},
    {"bare-patterns", "pattern", "all", "all", .dims = &wide, .has = BARE},
    {"layers", "pattern", "7.1", "all", .dims = &deep, .words = quotes},
    {"sixteen", "pattern,z", "all", "all", .dims = &sixteen, .forms = "text"},
    {"twenty", "pattern,attn_scores,z,k,logits", "all", "all", .dims = &twenty, .forms = "text"},
    {"twenty-projected", "pattern_lowrank", "0.0", "0", .dims = &twenty, .forms = "text"},
    {"sixty", "pattern,z", "all", "all", .dims = &sixty, .forms = "text"},
    {"source", "pattern", "all", "all", .dims = &source},
    {"source-keys", "v", "all", "all", .dims = &source},
    {"source-tokens", "pattern", "all", "all", .dims = &source, .has = SOURCE},
    {"source-tokens-keys", "v", "all", "all", .dims = &source, .has = SOURCE},
    {"array-pattern", "pattern", "all", "all", .dims = &one_array, .axes = {2, 1}},
    {"array-scores", "attn_scores", "all", "all", .dims = &one_array, .axes = {2, 1}},
    {"array-lowrank", "pattern_lowrank", "all", "all", .dims = &one_array, .axes = {2, 1}},
    {"array-z", "z", "all", "all", .dims = &one_array, .axes = {2, 1}},
    {"array-k", "k", "all", "all", .dims = &one_array, .axes = {2, 1}},
    {"arrays-3", "pattern,pattern_lowrank,k,z", "all", "all", .dims = &arrays, .axes = {3, 1}},
    {"arrays-3-head", "pattern,k", "1,3", "all", .dims = &arrays, .axes = {3, 1}},
    {"arrays-4", "pattern,pattern_lowrank,k,z", "all", "all", .dims = &arrays, .axes = {4, 2}},
    {"arrays-4-head", "pattern,z", "3", "all", .dims = &arrays, .axes = {4, 2}},
    {"arrays-4-numbered", "pattern,z", "1,2", "all", .dims = &arrays, .axes = {4, 2}},
    {"arrays-4-batches", "pattern,k,z", "1,3", "all", .dims = &arrays, .has = FAILS,
     .axes = {4, 2}},
    {"axes-1", "pattern", "all", "all", .dims = &arrays, .axes = {1, 1}},
    {"axes-5", "pattern", "all", "all", .dims = &arrays, .axes = {5, 1}},
    {"axes-2-heads", "pattern", "all", "all", .dims = &arrays, .axes = {2, 1}},
    {"axes-3-batches", "pattern", "all", "all", .dims = &arrays, .axes = {3, 2}},
    {"axes-4-no-batch", "pattern", "all", "all", .dims = &arrays, .axes = {4, 0}},
    {"axes-4-batches", "pattern", "all", "all", .dims = &arrays, .axes = {4, 4}},
};
enum { N_RUN = sizeof runs / sizeof *runs };

static struct attn_made_up_run made;

/* Sets up RUN; an empty folder is the working directory then. */
static void set_up(const struct run *run)
{
    const bool is_bare = run->has & BARE || run->axes.rank > 0;

    attn_made_up_run_init(&made, run->dims ? run->dims : &attn_made_up_small, run->words);
    attn_made_up_run_select(&made, run->sites, run->heads, run->queries);
    made.is_causal = run->dims != &source;
    if (is_bare)
        made.run = (struct attn_labels){.selection = made.selection};
    if (run->axes.rank > 0)
        made.run.axes = &run->axes, made.ahead = 1;
    if (run->has & NO_TOKENS)
        made.run.tokens = NULL, made.run.token_sizes = NULL;
    if (run->has & OFFSETS) {
        made.run.begin = begin, made.run.end = end;
        made.run.options = options, made.run.n_option = 2;
    }
    if (run->has & ADDED)
        made.run.n_front = 1, made.run.n_back = 2;
    if (run->has & SOURCE)
        made.run.source_tokens = source_tokens, made.run.source_token_sizes = source_sizes;
    attn_folder_enter();
}

static void tear_down(void)
{
    attn_folder_leave();
    attn_made_up_run_release(&made);
}

/* --- Forms ------------------------------------------------------------------------------------ */

static void append(struct attn_part *part, const void *more, size_t size)
{
    part->bytes = realloc(part->bytes, part->size + size + 1);
    ck_assert_ptr_nonnull(part->bytes);
    memcpy(part->bytes + part->size, more, size);
    part->size += size;
}

/* Replaces the version of the library, and the size of a header, which that changes. */
static struct attn_part without_version(struct attn_part part, const char *form)
{
    static const char version[] = ATTN_VERSION;
    const bool has_size = strcmp(form, "safetensors") == 0 && part.size > 8 && part.bytes[7] == 0;
    struct attn_part result = {0};
    size_t i = 0, at;

    if (has_size) {
        ck_assert_int_eq(part.bytes[0] % 8, 0);
        i = 8;
    }
    for (; i < part.size; i = at) {
        const unsigned char *found =
            memmem(part.bytes + i, part.size - i, version, sizeof version - 1);

        at = found ? (size_t)(found - part.bytes) : part.size;
        append(&result, part.bytes + i, at - i);
        if (found)
            append(&result, "VERSION", 7), at += sizeof version - 1;
    }
    if (has_size) { /* the blanks that align the data */
        unsigned char *header_end = memmem(result.bytes, result.size, "}}", 2);
        size_t n = 0;

        ck_assert_ptr_nonnull(header_end);
        while (header_end[2 + n] == ' ')
            n++;
        result.size -= n;
        memmove(header_end + 2, header_end + 2 + n,
                (size_t)(result.bytes + result.size - header_end - 2));
    }
    free(part.bytes);
    return result;
}

/* What the current run is in FORM, which may end with > for a stream that differs from a file; or
 * the message of its refusal. */
static struct attn_part written(const struct run *run, const char *form, struct attn_way way)
{
    struct attn_writer_options given = ATTN_WRITER_OPTIONS_DEFAULT;
    char name[20], text[1500];
    struct attn_error err = {0};
    struct attn_part part;

    given.precision = run->n_digit - 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(form, ">"), form);
    part = attn_written(&made, name, &given, way, &err);
    ck_assert_uint_eq(attn_folder_count(), 0);
    if (err.status != ATTN_OK) {
        snprintf(text, sizeof text, "refused: %s\n%s\n", err.message, err.hint);
        append(&part, text, strlen(text));
    }
    return without_version(part, form);
}

static const struct attn_way ways[] = {
    {.n_row = SIZE_MAX}, {.n_row = SIZE_MAX, .is_stream = true},
    {.n_row = 1},        {.n_row = 2, .is_stream = true},
    {.n_row = 3},        {.step = 1},
    {.step = 2},         {.step = 4, .is_stream = true},
};
enum { N_WAY = sizeof ways / sizeof *ways };

/* Fails unless PART is EXPECTED, which is freed with it, and shows where they differ. */
static void assert_same(struct attn_part part, struct attn_part expected, const char *path,
                        size_t i)
{
    size_t at = 0;

    while (at < part.size && at < expected.size && part.bytes[at] == expected.bytes[at])
        at++;
    ck_assert_msg(at == part.size && at == expected.size,
                  "%s, way %zu, from byte %zu:\n%.*s\nexpected:\n%.*s", path, i, at,
                  (int)(part.size - at < 200 ? part.size - at : 200), part.bytes + at,
                  (int)(expected.size - at < 200 ? expected.size - at : 200), expected.bytes + at);
    free(part.bytes);
    free(expected.bytes);
}

/* The file of RUN in FORM in FOLDER. */
static void kept_path(char path[1200], const char *folder, const struct run *run, const char *form)
{
    const size_t n = strcspn(form, "/>");
    const char *ending = form[n] == '/' ? ".files" : form[n] == '>' ? ".stream" : "";

    snprintf(path, 1200, "%s/tests/golden/outputs/%s.%.*s%s", folder, run->name, (int)n, form,
             ending);
}

/* Way I of RUN in FORM; false if it writes other bytes. */
static bool choose_way(const struct run *run, const char *form, size_t i, struct attn_way *way)
{
    const bool is_one_head = strchr(run->heads, '.') && !strpbrk(run->heads, ",*");

    *way = run->step ? (struct attn_way){.step = run->step} : ways[i];
    if (strncmp(form, "npz", 3) == 0) /* a stream describes its members afterwards */
        way->is_stream = form[3] == '>';
    if (run->step)
        return i == 0;
    /* Tidy CSV has the rows of all heads as they come. Early rows of qk never see later keys. */
    if (strcmp(form, "tidy") == 0 && !is_one_head)
        return way->n_row == SIZE_MAX;
    return way->step == 0 || (!strstr(run->sites, "qk") && !strchr(run->sites, '*'));
}

/* Each run in FORM. */
static void assert_form(const char *form)
{
    const bool is_refreshed = getenv("ATTN_REFRESH") != NULL;
    char folder[1000], path[1200];
    struct attn_way way;

    ck_assert_ptr_nonnull(getcwd(folder, sizeof folder));
    for (const struct run *run = runs; run < runs + N_RUN; run++) {
        if (run->forms ? !strstr(run->forms, form) : strchr(form, '>') != NULL)
            continue;
        kept_path(path, folder, run, form);
        set_up(run);
        for (size_t i = 0; i < N_WAY; i++)
            if (choose_way(run, form, i, &way)) {
                const struct attn_part part = written(run, form, way);

                if (is_refreshed && i == 0)
                    attn_folder_write(path, part.bytes, part.size);
                assert_same(part, attn_part_read(path), path, i);
            }
        tear_down();
    }
}

#define FORM_TEST(name, form)                                                                      \
    START_TEST(name)                                                                               \
    {                                                                                              \
        assert_form(form);                                                                         \
    }                                                                                              \
    END_TEST

FORM_TEST(tables_are_as_kept, "text")
FORM_TEST(csv_is_as_kept, "csv")
FORM_TEST(folders_of_csv_are_as_kept, "csv/")
FORM_TEST(tidy_csv_is_as_kept, "tidy")
FORM_TEST(folders_of_npy_are_as_kept, "npy/")
FORM_TEST(streams_of_npy_are_refused, "npy>")
FORM_TEST(npz_is_as_kept, "npz")
FORM_TEST(streams_of_npz_are_as_kept, "npz>")
FORM_TEST(safetensors_are_as_kept, "safetensors")
FORM_TEST(json_is_as_kept, "json")

/* --- Numbers ---------------------------------------------------------------------------------- */

/* Number I of a site's array. */
static float value_at(enum attn_site site, int layer, const size_t shape[3], size_t i)
{
    enum attn_site_layout layout = attn_site_layout(site);
    const size_t width = shape[2] > 0 ? shape[2] : 1; /* two axes have no third */
    const size_t last = i % width, middle = i / width % shape[1], first = i / width / shape[1];

    if (!attn_site_has_heads(site))
        return attn_made_up_value(site, layer, ATTN_ALL_HEADS, i / shape[1], i % shape[1]);
    if (layout == ATTN_LAYOUT_HEADS)
        return attn_made_up_value(site, layer, (int)(i / shape[1]), i % shape[1], 0);
    if (layout == ATTN_LAYOUT_MATRIX || layout == ATTN_LAYOUT_RANK)
        return attn_made_up_value(site, layer, (int)first, middle, last);
    return attn_made_up_value(site, layer, (int)middle, first, last);
}

/* The array of a site of the whole run in FOLDER, a directory or an archive. */
static void assert_site(const char *folder, enum attn_site site, int layer)
{
    const struct attn_location at = {.site = site, .layer = layer};
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE], path[ATTN_SITE_ARCHIVE_NAME_SIZE + 10];
    struct attn_npy array;
    size_t shape[3] = {1, 1, 1};

    attn_site_archive_name(site, layer, name);
    snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    ck_assert_msg(attn_npy_read(path, &array), "there is no '%s'", path);
    ck_assert_int_eq(array.rank, attn_selection_shape(made.selection, &at, shape));
    for (int i = 0; i < array.rank; i++)
        ck_assert_uint_eq(array.shape[i], shape[i]);
    for (size_t i = 0; i < array.n; i++)
        ck_assert_msg((float)array.values[i] == value_at(site, layer, shape, i),
                      "%s: number %zu is %g", path, i, array.values[i]);
    attn_npy_release(&array);
}

START_TEST(arrays_hold_every_number_of_every_tensor)
{
    struct attn_error err = {0};

    set_up(&runs[1]);
    attn_written_to(&made, "npy", NULL, "d", (struct attn_way){.n_row = 2}, &err);
    attn_written_to(&made, "npz", NULL, "a.npz", (struct attn_way){.n_row = 3}, &err);
    ck_assert_int_eq(err.status, ATTN_OK);
    for (int site = 0; site < ATTN_N_SITE; site++)
        for (int layer = 0; layer < (int)wide.n_layer; layer++) {
            const int of = attn_site_is_in_layer(site) ? layer : ATTN_NO_LAYER;

            if (!attn_sites_have(made.dims.sites, site))
                continue;
            assert_site("d", site, of);
            assert_site("a.npz", site, of);
        }
    attn_written_remove("d");
    tear_down();
}
END_TEST

/* --- Failures --------------------------------------------------------------------------------- */

START_TEST(every_failure_leaves_nothing)
{
    const bool can_draw = attn_can_draw();

    for (size_t r = 0; r < N_RUN; r++)
        for (size_t i = 0; i < attn_n_format() && runs[r].has & FAILS; i++) {
            const struct attn_format *format = attn_format_at(i);
            struct attn_error err = {0};

            if (!format->tensors || (attn_is_drawn(format) && !can_draw))
                continue;
            set_up(&runs[r]);
            attn_written_fails_whole(&made, format->name, "written");
            ck_assert_int_eq(
                attn_written_to(&made, format->name, NULL, "absent/written", ATTN_WHOLE, &err),
                ATTN_IO);
            err = (struct attn_error){0};
            if (!format->is_directory) {
                ck_assert_int_eq(
                    attn_written_to(&made, format->name, NULL, "/dev/full", ATTN_WHOLE, &err),
                    ATTN_IO);
                ck_assert_ptr_nonnull(strstr(err.message, "/dev/full"));
            }
            ck_assert_uint_eq(attn_folder_count(), 0);
            tear_down();
        }
}
END_TEST

/* The arrays before the failure are whole. */
START_TEST(a_full_device_in_a_folder_is_reported)
{
    struct attn_error err = {0};

    set_up(&(struct run){"", "pattern,z,resid_post", "all", "1-3", .dims = &wide});
    ck_assert_int_eq(mkdir("d", 0700), 0);
    ck_assert_int_eq(symlink("/dev/full", "d/blocks.1.attn.hook_pattern.npy"), 0);
    ck_assert_int_eq(attn_written_to(&made, "npy", NULL, "d", (struct attn_way){.n_row = 2}, &err),
                     ATTN_IO);
    ck_assert_int_eq(access("d/blocks.0.hook_resid_post.npy", R_OK), 0);
    ck_assert_int_eq(access("d/blocks.1.attn.hook_z.npy", R_OK), -1);
    ck_assert_int_eq(unlink("d/blocks.1.attn.hook_pattern.npy"), 0);
    attn_written_remove("d");
    tear_down();
}
END_TEST

START_TEST(a_folder_that_exists_is_written_into)
{
    struct attn_error err = {0};

    set_up(&(struct run){"", "z", "0.1", "0", .words = NULL});
    ck_assert_int_eq(mkdir("d", 0700), 0);
    attn_folder_write("d/other.txt", "mine", 4);
    for (int i = 0; i < 2; i++) /* the second replaces */
        ck_assert_int_eq(attn_written_to(&made, "csv", NULL, "d", ATTN_WHOLE, &err), ATTN_OK);
    attn_folder_assert("d/L00H01.z.csv", "token,0,1\n0|w,8256,-8255.984\n", 29);
    attn_folder_assert("d/other.txt", "mine", 4);
    attn_folder_write("f", "", 0);
    ck_assert_int_eq(attn_written_to(&made, "csv", NULL, "f", ATTN_WHOLE, &err), ATTN_IO);
    ck_assert_ptr_nonnull(strstr(err.message, "is a file, expected a directory"));
    attn_written_remove("d");
    tear_down();
}
END_TEST

ATTN_SUITE("output_formats", tables_are_as_kept, csv_is_as_kept, folders_of_csv_are_as_kept,
           tidy_csv_is_as_kept, folders_of_npy_are_as_kept, streams_of_npy_are_refused,
           npz_is_as_kept, streams_of_npz_are_as_kept, safetensors_are_as_kept, json_is_as_kept,
           arrays_hold_every_number_of_every_tensor, every_failure_leaves_nothing,
           a_full_device_in_a_folder_is_reported, a_folder_that_exists_is_written_into)
