/* record_npy.c - a folder with one growing file per array; each record adds a row of fixed size to
 * each file. The number of rows in the header is 0 until it is written at the end. */
#include "stream/records_internal.h"
#include "tensors/arrays.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "measures/analysis_internal.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_ARRAYS = 4 + ATTN_N_MEASURE };

struct npy_writer {
    struct attn_record_writer base;
    /* [base.n_part] when all are open: [N, shape...], where N is unknown and `size` is the size of
     * a row */
    struct attn_array arrays[MAX_ARRAYS];
    size_t n_array;
    float *row;   /* owns; [n_row] buffer for a row */
    size_t n_row; /* numbers of the longest row */
};

/* Adds an array whose rows have shape [A, B]; an axis of size 0 is omitted. */
static void add_array(struct npy_writer *w, const char *name, const char *dtype, size_t a, size_t b)
{
    struct attn_array *array = &w->arrays[w->n_array++];
    const size_t n = (a > 0 ? a : 1) * (b > 0 ? b : 1);

    *array = (struct attn_array){
        .rank = 1 + (a > 0) + (b > 0), .shape = {0, a, b}, .size = n * sizeof(float)};
    snprintf(array->name, sizeof array->name, "%s", name);
    snprintf(array->dtype, sizeof array->dtype, "%s", dtype);
    w->n_row = n > w->n_row ? n : w->n_row;
}

/* Adds the array of a measure: [N, L, H], or with two stacks [N, L, 2, H] for decoder and cross. */
static void add_measure(struct npy_writer *w, const char *name)
{
    const struct attn_records_form *form = w->base.form;
    struct attn_array *array = &w->arrays[w->n_array];

    add_array(w, name, "<f4", form->n_layer * form->n_stack, form->n_head);
    if (form->n_stack > 1) {
        array->rank = 4;
        array->shape[1] = form->n_layer;
        array->shape[2] = form->n_stack;
        array->shape[3] = form->n_head;
    }
}

/* Opens FOLDER/NAME.npy. Only a regular file is replaced, and no link is followed. */
static enum attn_status open_array(struct npy_writer *w, const char *folder,
                                   const struct attn_array *array, bool is_resumed,
                                   struct attn_error *err)
{
    struct attn_buffer name = {0};
    struct attn_target target = {0};
    enum attn_status status;

    attn_buffer_append_format(&name, "%s.npy", array->name);
    status = attn_buffer_string(&name) ? attn_target_find_in(folder, name.data, &target, err)
                                       : attn_error_no_memory(err);
    if (status == ATTN_OK)
        status = attn_record_writer_add_part(&w->base, target.path, is_resumed, err);
    attn_target_release(&target);
    attn_buffer_release(&name);
    return status;
}

/* Opens the folder PATH, which is created if it is missing. */
static enum attn_status open_npy(struct attn_record_writer *writer, const char *path,
                                 bool is_resumed, struct attn_error *err)
{
    struct npy_writer *w = (struct npy_writer *)writer;
    const struct attn_records_form *form = writer->form;
    struct stat info;

    if (mkdir(path, 0777) != 0 &&
        (errno != EEXIST || stat(path, &info) != 0 || !S_ISDIR(info.st_mode)))
        return attn_error_errno(err, "make the folder", path, errno);
    add_array(w, "n_token", "<i4", 0, 0);
    for (int m = 0; m < ATTN_N_MEASURE; m++)
        if (form->measures & ATTN_MEASURE_BIT(m))
            add_measure(w, attn_measure_name((enum attn_measure)m));
    if (form->n_top > 0) {
        add_array(w, "top_id", "<i4", form->n_top, 0);
        add_array(w, "top_p", "<f4", form->n_top, 0);
    }
    if (form->n_next > 0)
        add_array(w, "next_log_prob", "<f4", form->n_next, 0);
    ATTN_TRY(ATTN_ALLOC(w->row, w->n_row, err));
    for (size_t i = 0; i < w->n_array; i++)
        ATTN_TRY(open_array(w, path, &w->arrays[i], is_resumed, err));
    return ATTN_OK;
}

/* Makes the header of an array with N rows. Its length does not depend on N. */
static size_t make_header(const struct attn_array *array, size_t n, char out[ATTN_NPY_HEADER_SIZE])
{
    struct attn_array sized = *array;
    size_t size;

    sized.shape[0] = SIZE_MAX;
    size = attn_array_header(&sized, 0, out);
    sized.shape[0] = n;
    return attn_array_header(&sized, size, out);
}

static enum attn_status begin_npy(struct attn_record_writer *writer, struct attn_error *err)
{
    struct npy_writer *w = (struct npy_writer *)writer;

    for (size_t i = 0; i < w->n_array; i++) {
        const struct attn_array *array = &w->arrays[i];
        char header[ATTN_NPY_HEADER_SIZE];
        const size_t size = make_header(array, 0, header);

        if (attn_sink_position(writer->parts[i]) == 0)
            attn_sink_write(writer->parts[i], header, size);
        if (attn_sink_position(writer->parts[i]) != size + writer->n_record * array->size)
            return attn_error_set(err, ATTN_IO, "'%s' does not hold %zu rows of %zu bytes",
                                  attn_quote_string(attn_part_path(writer->parts[i])).text,
                                  writer->n_record, array->size);
    }
    return ATTN_OK;
}

/* Fills the row with the predictions after the last position that has some: K ids or probabilities;
 * -1 or NaN if there are fewer. */
static void fill_top(struct npy_writer *w, const struct attn_predictions *found, bool is_id)
{
    const size_t n = w->base.form->n_top;
    size_t first = found->n_top;

    while (first > 0 && found->top[first - 1].position == found->top[found->n_top - 1].position)
        first--;
    for (size_t k = 0; k < n; k++) {
        const struct attn_candidate *top = first + k < found->n_top ? &found->top[first + k] : NULL;
        const int32_t id = top ? top->id : -1;

        if (is_id)
            memcpy(&w->row[k], &id, sizeof id);
        else
            w->row[k] = top ? (float)top->probability : NAN;
    }
}

/* Fills the row with the log probabilities of the continuations after the last position, as many as
 * are requested for all records; NaN if a record has fewer. */
static void fill_next(struct npy_writer *w, const struct attn_predictions *found)
{
    size_t first = found->n_next;

    while (first > 0 && found->next[first - 1].position == found->next[found->n_next - 1].position)
        first--;
    for (size_t k = 0; k < w->base.form->n_next; k++)
        w->row[k] = first + k < found->n_next ? (float)found->next[first + k].log_probability : NAN;
}

static enum attn_status write_npy(struct attn_record_writer *writer,
                                  const struct attn_item_result *result, struct attn_error *err)
{
    struct npy_writer *w = (struct npy_writer *)writer;
    const bool has_failed = result->failure;
    const int32_t n_token = has_failed ? 0 : (int32_t)result->n_token;
    const float *measures = has_failed ? NULL : result->measures;
    const size_t n_measure = (size_t)attn_measures_count(writer->form->measures);

    for (size_t i = 0; i < w->n_array; i++) {
        const size_t n = w->arrays[i].size / sizeof(float);
        const void *row = w->row;

        if (i == 0)
            row = &n_token;
        else if (i > n_measure + (writer->form->n_top > 0 ? 2 : 0))
            fill_next(w, &result->predictions);
        else if (i > n_measure)
            fill_top(w, &result->predictions, i == n_measure + 1);
        else if (measures)
            row = measures + (i - 1) * n;
        else
            for (size_t k = 0; k < n; k++)
                w->row[k] = NAN;
        attn_sink_write(writer->parts[i], row, w->arrays[i].size);
        ATTN_TRY(attn_sink_check(writer->parts[i], err));
    }
    return ATTN_OK;
}

static enum attn_status finish_npy(struct attn_record_writer *writer, struct attn_error *err)
{
    struct npy_writer *w = (struct npy_writer *)writer;

    for (size_t i = 0; i < w->n_array; i++) {
        char header[ATTN_NPY_HEADER_SIZE];
        const size_t size = make_header(&w->arrays[i], writer->n_record, header);

        ATTN_TRY(attn_part_write_at(writer->parts[i], 0, header, size, err));
    }
    return ATTN_OK;
}

static size_t n_changing_npy(const struct attn_record_writer *writer, size_t i)
{
    char header[ATTN_NPY_HEADER_SIZE];

    return make_header(&((const struct npy_writer *)writer)->arrays[i], 0, header);
}

static void release_npy(struct attn_record_writer *writer)
{
    attn_free(((struct npy_writer *)writer)->row);
}

const struct attn_item_sink attn_item_sink_npy = {
    .name = "npy",
    .size = sizeof(struct npy_writer),
    .open = open_npy,
    .begin = begin_npy,
    .add = write_npy,
    .finish = finish_npy,
    .n_changing = n_changing_npy,
    .release = release_npy,
};
