/*
 * grammar_mask.c - arrays of 0 and 1 that say which query may look at which key, of any type, with
 * and without heads, beside q, k and v.
 *
 * With a valid one no masked pair has a weight, and the weights of a row add to 1, or to 0 where
 * all of it is masked.
 */
#include "formats/ndarray.h"
#include "formats/npy.h"
#include "formats/tensor_files_internal.h"
#include "run/run.h"
#include "tests/adversary/npy_text.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEAD = 3, MAX_POSITION = 6, WIDTH = 2, MAX_ARRAY = MAX_HEAD * MAX_POSITION * WIDTH };

/* Behind those of every .npy file. */
static const char *const own[] = {"a cell of 2",
                                  "another number of queries",
                                  "another number of keys",
                                  "another number of heads",
                                  "five dimensions",
                                  "one dimension"};
enum { N_OWN = sizeof own / sizeof *own, FIRST_OWN = ATTN_NPY_N_DEFECT };

struct known {
    struct attn_npy_text mask, q, k;
    size_t n_head, n_query, n_key;
};
_Static_assert(sizeof(struct known) <= ATTN_CASE_KNOWN_SIZE, "what is known has room");

static void choose_array(struct attn_case *c, struct attn_npy_text *array, size_t n_head,
                         size_t n_position)
{
    memcpy(array->type, "f4", 3);
    array->order = '<';
    array->rank = 3;
    array->shape[0] = n_head, array->shape[1] = n_position, array->shape[2] = WIDTH;
    attn_npy_text_count(array);
    for (size_t i = 0; i < array->n; i++) {
        const float value = (float)attn_case_below(c, 65) / 16 - 2;
        uint32_t bits;

        memcpy(&bits, &value, sizeof bits);
        array->bits[i] = bits;
    }
}

/* Puts the defect NUMBER of the list above into the array. */
static void spoil(struct attn_case *c, struct attn_npy_text *mask, int number)
{
    const int matrix = mask->rank - 2;

    switch (number) {
    case 0:
        if (mask->type[0] != 'b')
            mask->bits[attn_case_below(c, mask->n)] = attn_npy_text_whole(mask, 2);
        else
            mask->shape[matrix]++;
        break;
    case 1:
    case 2:
        mask->shape[matrix + number - 1]++;
        break;
    case 3:
        mask->shape[2] = mask->shape[matrix + 1], mask->shape[1] = mask->shape[matrix];
        mask->rank = 3, mask->shape[0] = MAX_HEAD + 1;
        break;
    case 4:
        memmove(mask->shape + 5 - mask->rank, mask->shape, (size_t)mask->rank * sizeof(size_t));
        for (; mask->rank < 5; mask->rank++)
            mask->shape[4 - mask->rank] = 1;
        break;
    default:
        mask->rank = 1;
        break;
    }
}

static void make(struct attn_case *c)
{
    static const char types[][4] = {"b1", "i1", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "f8"};
    const char *defects[ATTN_NPY_N_DEFECT + N_OWN];
    struct known *known = (struct known *)c->known.bytes;
    struct attn_npy_text *mask = &known->mask;
    int defect;

    memcpy(defects, attn_npy_defects, sizeof attn_npy_defects);
    memcpy(defects + FIRST_OWN, own, sizeof own);
    defect = attn_case_defect(c, defects, sizeof defects / sizeof *defects);
    known->n_head = 1 + attn_case_below(c, MAX_HEAD);
    known->n_query = 1 + attn_case_below(c, MAX_POSITION);
    known->n_key = 1 + attn_case_below(c, MAX_POSITION);
    choose_array(c, &known->q, known->n_head, known->n_query);
    choose_array(c, &known->k, known->n_head, known->n_key);
    memcpy(mask->type, types[attn_case_below(c, sizeof types / sizeof *types)], sizeof *types);
    attn_npy_text_choose_order(c, mask);
    mask->is_fortran = attn_case_chance(c, 30);
    if (attn_case_chance(c, 50))
        mask->shape[mask->rank++] = known->n_head;
    mask->shape[mask->rank++] = known->n_query;
    mask->shape[mask->rank++] = known->n_key;
    attn_npy_text_count(mask);
    for (size_t i = 0; i < ATTN_NPY_TEXT_MAX; i++)
        mask->bits[i] = attn_npy_text_whole(mask, attn_case_chance(c, 60));
    if (defect >= FIRST_OWN)
        spoil(c, mask, defect - FIRST_OWN);
    attn_npy_text_write(c, mask, defect < FIRST_OWN ? defect : -1, attn_case_file(c, "mask.npy"));
    attn_npy_text_write(c, &known->q, -1, attn_case_file(c, "q.npy"));
    attn_npy_text_write(c, &known->k, -1, attn_case_file(c, "k.npy"));
    attn_case_run(c, 4, "attend", "--q", "q.npy", "--k", "k.npy", "--v", "k.npy", "--mask",
                  "mask.npy", "--npz", "out.npz", "-q", NULL);
}

static void check_pattern(const struct known *known, const float *pattern)
{
    const struct attn_npy_text *mask = &known->mask;
    const size_t n_cell = known->n_query * known->n_key;

    for (size_t row = 0; row < known->n_head * known->n_query; row++) {
        double sum = 0;
        bool sees = false;

        for (size_t key = 0; key < known->n_key; key++) {
            const size_t cell = row * known->n_key + key;
            const size_t at = mask->rank == 2 ? cell % n_cell : cell;
            const bool is_kept = attn_npy_text_value(mask, at) != 0;

            FUZZ_CHECK(is_kept || pattern[cell] == 0);
            sees |= is_kept;
            sum += (double)pattern[cell];
        }
        FUZZ_CHECK(fabs(sum - sees) < 1e-5);
    }
}

/* Serves the request; with a valid mask looks at the pattern. */
static enum attn_status serve(const struct attn_case *c, struct attn_host *host,
                              const struct attn_request *request, struct attn_error *err)
{
    struct attn_capture *capture = NULL;
    struct attn_result result = {0};
    struct attn_run *run = NULL;
    enum attn_status status = attn_run_prepare(host, request, &run, err);

    if (status == ATTN_OK)
        status = attn_capture_create(attn_run_selection(run), &capture, err);
    if (status == ATTN_OK)
        status = attn_run_perform(run, attn_capture_trace(capture), &result, err);
    if (status == ATTN_OK && c->meant == ATTN_MEANT_VALID)
        check_pattern(
            (const struct known *)c->known.bytes,
            attn_capture_tensor(capture, &(struct attn_location){.site = ATTN_SITE_PATTERN}));
    attn_capture_free(capture);
    attn_result_release(&result);
    attn_run_free(run);
    return status;
}

static struct attn_ndarray array_of(const char *name, const struct attn_npy_text *array,
                                    float floats[MAX_ARRAY])
{
    struct attn_ndarray given = {.name = name, .rank = 3, .data = floats};

    memcpy(given.shape, array->shape, sizeof given.shape);
    for (size_t i = 0; i < array->n; i++)
        floats[i] = attn_npy_text_float(array, i);
    return given;
}

static enum attn_status take(struct attn_case *c, struct attn_error *err)
{
    static struct attn_host *host; /* without a model; held for as long as the process lives */
    const struct known *known = (const struct known *)c->known.bytes;
    const struct attn_buffer *bytes = attn_case_find(c, "mask.npy");
    struct attn_file file = attn_fuzz_file("mask.npy", (const uint8_t *)bytes->data, bytes->size);
    float q_floats[MAX_ARRAY], k_floats[MAX_ARRAY];
    const struct attn_ndarray q = array_of("q", &known->q, q_floats),
                              k = array_of("k", &known->k, k_floats);
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_mask_array mask = {.name = "mask.npy"};
    struct attn_attention_change change = {.parts = ATTN_PART_MASK, .mask = &mask};
    enum attn_status status = attn_npy_take(&file, ATTN_NPY_NUMBERS, &mask.file, err);

    if (status != ATTN_OK)
        return status;
    options.n_thread = 1;
    options.gemm = ATTN_GEMM_PORTABLE;
    if (host == NULL)
        FUZZ_CHECK(attn_host_create(NULL, &options, &host, err) == ATTN_OK);
    mask.rank = attn_npy_tensor(mask.file).rank;
    memcpy(mask.shape, attn_npy_tensor(mask.file).shape, sizeof mask.shape);
    change.to.mask = ATTN_MASK_MATRIX;
    request.input = (struct attn_input){.q = &q, .k = &k, .v = &k};
    request.attention.change = &change;
    request.selection.sites = "pattern";
    status = serve(c, host, &request, err);
    attn_mask_array_release(&mask);
    return status;
}

const struct attn_grammar attn_grammar_mask = {
    .name = "mask",
    .make = make,
    .take = take,
    .refused = FUZZ_BIT(ATTN_FORMAT) | FUZZ_BIT(ATTN_UNSUPPORTED) | FUZZ_BIT(ATTN_INVALID)};
