/* test_forged_state.c - FILE.state with other rows, numbers and values than a question has, and
 * digests made anew, for each question: refused, unless it is a number that the rows do not have;
 * never memory that is not the study's. A run under ASan (make MODE=asan) sees what lies outside.
 */
#include "base/random.h"
#include "extra.h"
#include "stream/digest.h"
#include "tests/support/folder.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 1 << 22, MOST_ARGS = 1024, N_HEADER = 8, N_FACT = 3, MOST_CELLS = 1 << 16 };

static const char texts[] = "{\"text\":\"The keys to the cabinet near the doors of the "
                            "house\",\"target\":\" are\",\"foil\":\" is\","
                            "\"pos.a\":\"keys\",\"gold\":\"a\"}\n"
                            "{\"text\":\"The dogs near the house saw the chicken by the "
                            "road\",\"target\":\" are\",\"foil\":\" is\","
                            "\"pos.a\":\"dogs\",\"gold\":\"a\"}\n";
static const char pairs[] = "{\"clean\":\"The keys are\",\"corrupted\":\"The key "
                            "are\",\"target\":\" are\",\"foil\":\" is\","
                            "\"a\":\"The keys\",\"b\":\"The key\"}\n"
                            "{\"clean\":\"The dogs are\",\"corrupted\":\"The dog "
                            "are\",\"target\":\" are\",\"foil\":\" is\","
                            "\"a\":\"The dogs\",\"b\":\"The dog\"}\n";
static const char translated[] =
    "{\"source\":\"Mary gives Anna the book.\",\"text\":\"a b\",\"gold\":\"0-0\"}\n"
    "{\"source\":\"Tom has the key.\",\"text\":\"a b\",\"gold\":\"0-0\"}\n";

/* Arguments that begin with their size, and where their study is. */
#define ARGS(type, ...)                                                                            \
    (const struct type[]){{.size = sizeof(struct type), __VA_ARGS__}}, offsetof(struct type, study)

static const struct question {
    const char *name;
    const void *args;
    size_t study;
    const char *items, *model;
} questions[] = {
    {"heads", ARGS(attn_heads_args, .has_effect = false), texts, "fable"},
    {"heads", ARGS(attn_heads_args, .has_effect = true), texts, "fable"},
    {"ablate", ARGS(attn_ablate_args, .n_control = 3), texts, "fable"},
    {"ablate",
     ARGS(attn_ablate_args, .by = ATTN_ABLATE_BY_ATTN, .is_cumulative = true, .n_control = 3),
     texts, "fable"},
    {"align", ARGS(attn_align_args, .has_score = true), translated, "interpreter"},
    {"attribute", ARGS(attn_attribute_args, .n_most = 0), texts, "fable"},
    {"diff", ARGS(attn_diff_args, .host = NULL), pairs, "fable"},
    {"examples", ARGS(attn_examples_args, .n_bin = 2), texts, "fable"},
    {"lens", ARGS(attn_lens_args, .top = 0), texts, "fable"},
    {"lens", ARGS(attn_lens_args, .fit = "J.npz", .skip = 1), texts, "fable"},
    {"patch", ARGS(attn_patch_args, .site = "z", .n_control = 3), pairs, "fable"},
    {"patch", ARGS(attn_patch_args, .site = "z", .method = ATTN_PATCH_ATP), pairs, "fable"},
    {"circuit", ARGS(attn_circuit_args, .method = ATTN_CIRCUIT_EAP), pairs, "fable"},
    {"score", ARGS(attn_score_args, .stride = 0), texts, "fable"},
    {"sinks", ARGS(attn_sinks_args, .threshold = 0.1), texts, "fable"},
    {"spans", ARGS(attn_spans_args, .has_effect = true, .by = ATTN_SPANS_BY_SPAN), texts, "fable"},
};

enum { N_QUESTION = sizeof questions / sizeof *questions };

static struct attn_host *host;
static struct attn_source source;

/* Asks QUESTION about its items; the rows are in rows.csv. */
static enum attn_status ask(const struct question *question, bool is_resumed,
                            struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    const struct attn_study_args *asked_study = &study;
    struct attn_each_options each = ATTN_EACH_OPTIONS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_ablate_sum ablated = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_score_sum scored = ATTN_SCORE_SUM_DEFAULT;
    struct attn_patch_sum patched = ATTN_PATCH_SUM_DEFAULT;
    struct attn_diff_sum diffed = ATTN_DIFF_SUM_DEFAULT;
    char args[MOST_ARGS];
    const struct attn_question_call asked = {question->name, host, &request, args};
    void *const sum = strcmp(question->name, "score") == 0   ? (void *)&scored
                      : strcmp(question->name, "patch") == 0 ? (void *)&patched
                      : strcmp(question->name, "diff") == 0  ? (void *)&diffed
                                                             : (void *)&ablated;
    struct attn_table *table = NULL;
    enum attn_status status;

    options.path = "in.jsonl", options.data = question->items,
    options.n_data = strlen(question->items);
    ATTN_TRY(attn_items_open(&options, &study.items, err));
    each.path = "rows.csv", each.source = &source, each.is_resumed = is_resumed;
    study.each = &each;
    memcpy(args, question->args, *(const size_t *)question->args);
    memcpy(args + question->study, &asked_study, sizeof asked_study);
    status = attn_question_ask(&asked, &table, sum, err);
    attn_table_free(table);
    attn_items_free(study.items);
    return status;
}

/* --- The file --------------------------------------------------------------------------------- */

static size_t read_file(const char *path, char *bytes)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    ck_assert_msg(file, "%s", path);
    size = fread(bytes, 1, SIZE - 1, file);
    bytes[size] = '\0';
    fclose(file);
    return size;
}

/* Writes the STATE [size], and its size and digest to the MANIFEST. */
static void sign(const char *manifest, const char *state, size_t size)
{
    static char made[SIZE];
    const char *line = strstr(manifest, "{\"path\": \"rows.csv.state\""), *rest = strchr(line, '}');
    char hex[ATTN_DIGEST_HEX_SIZE];
    size_t n;

    attn_folder_write("rows.csv.state", state, size);
    attn_digest_bytes(state, size, hex);
    n = (size_t)snprintf(made, SIZE,
                         "%.*s{\"path\": \"rows.csv.state\", \"bytes\": %zu, "
                         "\"sha256\": \"%s\"%.*s",
                         (int)(line - manifest), manifest, size, hex,
                         (int)(strstr(rest, ",\n\"manifest_sha256\"") - rest), rest);
    attn_digest_bytes(made, n, hex);
    n += (size_t)snprintf(made + n, SIZE - n, ",\n\"manifest_sha256\": \"%s\"\n}\n", hex);
    attn_folder_write("rows.csv.run.json", made, n);
}

/* An item of the file: facts, then cells, which begin at ENDS[i - 1], and numbers beside the rows.
 */
struct kept {
    uint64_t facts[N_FACT];
    const char *cells;
    size_t ends[MOST_CELLS], n_cell;
};

/* Reads the item at *AT. */
static void parse(const char **at, struct kept *kept)
{
    size_t end = 0;

    memcpy(kept->facts, *at, sizeof kept->facts);
    kept->cells = *at + sizeof kept->facts;
    for (kept->n_cell = 0; end < kept->facts[0]; kept->n_cell++) {
        const unsigned first = (unsigned char)kept->cells[end], type = first & 15, n = first >> 4;
        uint64_t number = 0;

        ck_assert_uint_lt(kept->n_cell, MOST_CELLS);
        memcpy(&number, kept->cells + end + 1, n);
        end += 1 + n +
               (type == ATTN_VALUE_TEXT   ? number
                : type >= ATTN_VALUE_LIST ? 8 * number
                                          : 0);
        kept->ends[kept->n_cell] = end;
    }
    *at = kept->cells + end;
}

/* Changes to an item: rows and numbers beside them that are appended (copies) or left out, and a
 * cell that is replaced. */
struct change {
    int rows, numbers;
    size_t cell; /* SIZE_MAX: none */
    const char *bytes;
    size_t n_byte;
};

static size_t begin_of(const struct kept *kept, size_t cell)
{
    return cell > 0 ? kept->ends[cell - 1] : 0;
}

/* Appends cells FIRST to END of KEPT, COUNT times, to BODY. */
static void copy(const struct kept *kept, size_t first, size_t end, int count, char **body)
{
    const size_t begin = begin_of(kept, first), size = begin_of(kept, end) - begin;

    for (; count > 0; count--, *body += size)
        memcpy(*body, kept->cells + begin, size);
}

/* Appends KEPT with CHANGE to *OUT. */
static void append(const struct kept *kept, const struct change *change, char **out)
{
    const size_t n_more = (size_t)kept->facts[2], n_cell = kept->n_cell - n_more;
    const size_t n_row = (size_t)kept->facts[1], n_column = n_row > 0 ? n_cell / n_row : 0;
    const int rows = n_row == 0 && change->rows < 0 ? 0 : change->rows;
    const int numbers = n_more == 0 && change->numbers < 0 ? 0 : change->numbers;
    uint64_t facts[N_FACT] = {0, n_row + (uint64_t)(int64_t)rows,
                              n_more + (uint64_t)(int64_t)numbers};
    const size_t last = n_cell - (rows < 0 ? n_column : 0);
    char *begin = *out + sizeof facts, *body = begin;

    copy(kept, 0, change->cell < last ? change->cell : last, 1, &body);
    if (change->cell < last) {
        memcpy(body, change->bytes, change->n_byte);
        body += change->n_byte;
        copy(kept, change->cell + 1, last, 1, &body);
    }
    copy(kept, n_cell - n_column, n_cell, rows, &body);
    copy(kept, n_cell, kept->n_cell - (numbers < 0), 1, &body);
    for (int i = 0; i < numbers; i++)
        *body++ = ATTN_VALUE_REAL; /* 0 */
    facts[0] = (uint64_t)(body - begin);
    memcpy(*out, facts, sizeof facts);
    *out = body;
}

/* Writes STATE [size] with CHANGE in the items whose bits are in ITEMS. */
static void forge(const char *manifest, const char *state, size_t size, const struct change *change,
                  unsigned items)
{
    static const struct change nothing = {.cell = SIZE_MAX};
    static struct kept kept;
    static char made[SIZE];
    const char *at = state + N_HEADER;
    char *out = made + N_HEADER;

    memcpy(made, state, N_HEADER);
    for (unsigned i = 0; at < state + size; i++) {
        parse(&at, &kept);
        append(&kept, items >> i & 1 ? change : &nothing, &out);
    }
    sign(manifest, made, (size_t)(out - made));
}

/* --- The tests -------------------------------------------------------------------------------- */

/* Computes the rows of QUESTION, and reads the files. */
static void begin(const struct question *question, char *manifest, char *state, size_t *size)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_error err = {0};
    static char path[4096];

    ck_assert_ptr_nonnull(getcwd(path, sizeof path - 64));
    snprintf(path + strlen(path), 64, "/models/%s", question->model);
    source = (struct attn_source){.directory = path};
    options.n_thread = 1;
    host = attn_open_host(path, &options);
    attn_folder_enter();
    ck_assert_msg(ask(question, false, &err) == ATTN_OK, "%s: %s", question->name, err.message);
    read_file("rows.csv.run.json", manifest);
    ck_assert_msg(strstr(manifest, "\"failed\": {}"), "%s", question->name);
    *size = read_file("rows.csv.state", state);
}

static void end(void)
{
    attn_folder_leave();
    attn_host_free(host);
}

static char manifest[SIZE], state[SIZE];

START_TEST(other_rows_and_numbers_are_refused)
{
    static const struct change changes[] = {{.numbers = 1, .cell = SIZE_MAX},
                                            {.numbers = 1000, .cell = SIZE_MAX},
                                            {.numbers = -1, .cell = SIZE_MAX},
                                            {.rows = 1, .cell = SIZE_MAX},
                                            {.rows = -1, .cell = SIZE_MAX}};

    for (size_t i = 0; i < N_QUESTION; i++) {
        size_t size;

        begin(&questions[i], manifest, state, &size);
        for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
            uint64_t n_more;
            struct attn_error err = {0};

            memcpy(&n_more, state + N_HEADER + 16, sizeof n_more);
            if (changes[k].numbers < 0 && n_more <= 4) /* those of the study alone: 4 */
                continue;
            forge(manifest, state, size, &changes[k], ~0U);
            ck_assert_msg(ask(&questions[i], true, &err) != ATTN_OK &&
                              (strstr(err.message, "does not hold the rows of items") ||
                               strstr(err.message, "do not agree") ||
                               (changes[k].rows && strstr(err.message, "the first item has"))),
                          "%zu %s %zu: %s", i, questions[i].name, k, err.message);
        }
        end();
    }
}
END_TEST

/* Values that are possible in no row, or in few. */
static const struct {
    const char *bytes;
    size_t n;
} cells[] = {
    {"\0", 1},
    {"\x11\xff", 2},
    {"\x81\xff\xff\xff\xff\xff\xff\xff\x7f", 9},
    {"\x41\xff\xff\xff\x7f", 5},
    {"\x14\x02", 2},
    {"\x22\xf0\x7f", 3},
    {"\x22\xf8\x7f", 3},
    {"\x82\xff\xff\xff\xff\xff\xff\xef\x7f", 9},
    {"\x13\x04"
     "base",
     6},
    {"\x03", 1},
};

START_TEST(forged_values_stay_inside)
{
    const size_t n = 60 / attn_one_of(6) * attn_one_of(1), n_cell = sizeof cells / sizeof *cells;
    struct attn_random random;

    attn_random_seed(&random, 72);
    for (size_t i = 0; i < N_QUESTION; i++) {
        size_t size;

        begin(&questions[i], manifest, state, &size);
        for (size_t k = 0; k < n; k++) {
            const size_t value = attn_random_u32(&random) % n_cell;
            const struct change change = {.rows = (int)(attn_random_u32(&random) % 4) - 1,
                                          .numbers = (int)(attn_random_u32(&random) % 3) - 1,
                                          .cell = attn_random_u32(&random) % (k % 2 ? 600 : 30),
                                          .bytes = cells[value].bytes,
                                          .n_byte = cells[value].n};
            struct attn_error err = {0};
            enum attn_status status;

            forge(manifest, state, size, &change, 1 + attn_random_u32(&random) % 3);
            status = ask(&questions[i], true, &err);
            ck_assert_msg(status == ATTN_OK || (*err.message && status != ATTN_NO_MEMORY),
                          "%zu %s %zu: %d", i, questions[i].name, k, status);
        }
        end();
    }
}
END_TEST

/* --- Items that change ------------------------------------------------------------------------ */

/* Makes the first of the items USER shorter, after it was measured and before it is read again. */
static void shorten(void *user, enum attn_note code, const char *message)
{
    static const char text[] = "{\"text\":\"The\"}";

    (void)message;
    if (code != ATTN_NOTE_TIE)
        return;
    memset(user, ' ', strcspn(user, "\n"));
    memcpy(user, text, sizeof text - 1);
}

START_TEST(rows_of_examples_are_in_their_texts)
{
    static char items[] = "{\"text\":\"The cat near the dog\"}\n"
                          "{\"text\":\"The cat near the dog\"}\n";
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_examples_args args = ATTN_EXAMPLES_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_error err = {0};
    struct attn_table *table = NULL;

    host = attn_open_host("models/fable", NULL);
    options.path = "in.jsonl", options.data = items, options.n_data = sizeof items - 1;
    ck_assert_int_eq(attn_items_open(&options, &study.items, &err), ATTN_OK);
    args.study = &study, args.n_bin = 2;
    request.on_note = shorten, request.user = items;
    ck_assert_int_eq(attn_examples(host, &request, &args, &table, &err), ATTN_INVALID);
    ck_assert_str_eq(err.message, "the items changed while they were read");
    attn_items_free(study.items);
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("forged_state", other_rows_and_numbers_are_refused, forged_values_stay_inside,
           rows_of_examples_are_in_their_texts)
