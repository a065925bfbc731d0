/*
 * directions.c - control vectors of llama.cpp (its tools cvector-generator and repeng): a GGUF file
 * of the architecture "controlvector" with tensors direction.N, F32, of one dimension. direction.N
 * belongs to the output of layer N, counted from 0. llama.cpp keeps it at place N - 1 of a buffer
 * and reads place i - 1 for layer i, so nothing is shifted, and layer 0 has none.
 *
 * And features of a dictionary (dictionary_internal.h), PATH#NUMBER.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "edits/edits_internal.h"
#include "foreign/dictionary_internal.h"
#include "formats/tensor_files_internal.h"
#include "gguf/gguf.h"

#include <stdio.h>
#include <string.h>

static const char architecture[] = "controlvector";

/* Checks that ENTRY is a direction of SIZE numbers, and sets *layer. PATH is for messages. */
static enum attn_status read_entry(const struct attn_tensor_entry *entry, size_t size,
                                   const char *path, int64_t *layer, struct attn_error *err)
{
    static const char prefix[] = "direction.";
    const size_t n = sizeof prefix - 1;

    if (entry->name_size <= n || strncmp(entry->name, prefix, n) != 0 ||
        !attn_parse_int(entry->name + n, entry->name_size - n, 1, INT32_MAX, layer))
        return attn_refuse_in(err, ATTN_UNSUPPORTED, path, entry->name,
                              "is of no layer, expected direction.1 and so on");
    if (entry->tensor.dtype != ATTN_DTYPE_F32)
        return attn_refuse_in(err, ATTN_UNSUPPORTED, path, entry->name,
                              "is of the type %s, expected F32",
                              attn_dtype_name(entry->tensor.dtype));
    if (entry->tensor.rank != 1 || entry->tensor.shape[0] != size)
        return attn_refuse_in(err, ATTN_FORMAT, path, entry->name,
                              "has another shape than the first direction");
    return ATTN_OK;
}

/* Copies the directions of FILES into MADE. */
static enum attn_status copy_all(const struct attn_tensor_files *files, const char *path,
                                 struct attn_intervention *made, struct attn_error *err)
{
    const size_t n = attn_tensor_files_count(files);
    const struct attn_tensor first =
        n > 0 ? attn_tensor_files_entry(files, 0).tensor : (struct attn_tensor){0};
    const size_t size = first.rank == 1 ? first.shape[0] : 0;
    struct attn_ndarray *values = &made->values;

    if (n == 0)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no directions",
                              attn_quote_string(path).text);
    ATTN_TRY(ATTN_ALLOC(made->made_layers, n, err));
    ATTN_TRY(ATTN_NEW(values->converted, attn_alloc(n, size * sizeof(float), err)));
    for (size_t i = 0; i < n; i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(files, i);

        ATTN_TRY(read_entry(&entry, size, path, &made->made_layers[i], err));
        memcpy(values->converted + i * size, entry.tensor.data, size * sizeof(float));
    }
    values->name = path;
    values->data = values->converted;
    values->rank = 2;
    values->shape[0] = n, values->shape[1] = size;
    made->vector_layers = made->made_layers;
    made->n_vector = n;
    return ATTN_OK;
}

/* --- Features --------------------------------------------------------------------------------- */

/* A feature that is taken out. Its direction [d] comes first in memory, which steering adds; the
 * path of its dictionary comes last. */
struct taken_out {
    struct attn_sae_feature feature;
    float factor, offset;
    char remark[448];
    double column[]; /* [d] */
};

static struct taken_out *taken_out_of(float *direction, size_t d)
{
    return (void *)(direction + (d + 1) / 2 * 2);
}

/* x' = x - K f(x) d + C d for the rows of EVENT (attn_edit_fn). */
static enum attn_status take_out(void *user, const struct attn_trace_event *event, float *values,
                                 struct attn_error *err)
{
    const size_t d = event->n_col;
    const float *direction = user;
    const struct taken_out *out = taken_out_of(user, d);

    for (size_t row = 0; row < event->n_row; row++, values += d) {
        const double pre = attn_feature_pre(&out->feature, values, d);
        const double step =
            (double)out->offset -
            (double)out->factor * (double)attn_feature_activate(&out->feature, (float)pre);

        ATTN_TRY(attn_feature_check(&out->feature, pre, err));
        for (size_t j = 0; j < d; j++)
            values[j] = (float)((double)values[j] + step * (double)direction[j]);
    }
    return ATTN_OK;
}

/* Makes the values of MADE those of feature I. */
static enum attn_status take_feature(const struct attn_dictionary *dictionary, uint64_t i,
                                     struct attn_intervention *made, struct attn_error *err)
{
    const size_t d = dictionary->d, n_path = strlen(dictionary->path) + 1;
    const size_t n_more = sizeof(struct taken_out) + d * sizeof(double) + n_path;
    const struct attn_location *at = &dictionary->at;
    const struct attn_quote path = attn_quote_string(dictionary->path);
    float *direction;

    if (i >= dictionary->n)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' has no feature %llu, expected 0 to %zu",
                           path.text, (unsigned long long)i, dictionary->n - 1);
    if (made->op == ATTN_EDIT_PROJECT && dictionary->kind == ATTN_DICTIONARY_TOPK)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "'%s' is of the kind topk, whose features depend on each other: "
                           "`project` cannot take one out",
                           path.text);
    ATTN_TRY(ATTN_NEW(direction, attn_alloc((d + 1) / 2 * sizeof(double) + n_more, 1, err)));
    struct taken_out *out = taken_out_of(direction, d);

    out->feature = attn_dictionary_feature(dictionary, (size_t)i, out->column, direction);
    out->feature.path = memcpy(out->column + d, dictionary->path, n_path);
    made->remark = out->remark;
    out->factor = made->factor;
    out->offset = made->offset;
    made->values = (struct attn_ndarray){.name = made->values.name,
                                         .rank = 1,
                                         .shape = {d},
                                         .data = direction,
                                         .converted = direction};
    made->function = made->op == ATTN_EDIT_PROJECT ? take_out : NULL;
    if (at->layer != ATTN_NO_LAYER && (at->site != made->at.site || made->layers.text ||
                                       attn_location_compare(at, &made->at) != 0))
        snprintf(out->remark, sizeof out->remark, "the features of '%s' are of %s", path.text,
                 attn_dictionary_tensor(at).text);
    if (made->at.site == ATTN_SITE_Z && made->at.head == ATTN_ALL_HEADS)
        made->at.head = ATTN_HEADS_TOGETHER;
    return ATTN_OK;
}

/* Reads the feature PATH#NUMBER into MADE. */
static enum attn_status read_feature(const char *path, const char *number,
                                     struct attn_intervention *made, struct attn_error *err)
{
    struct attn_dictionary *dictionary = NULL;
    enum attn_status status;
    uint64_t i = 0;
    char *folder;

    if (!attn_parse_uint(number, strlen(number), &i))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' names no feature, expected PATH#NUMBER",
                           attn_quote_string(path).text);
    ATTN_TRY(ATTN_NEW(folder, attn_strndup(path, (size_t)(number - 1 - path), err)));
    made->values.name = path;
    status = attn_dictionary_open(folder, &dictionary, err);
    ATTN_THEN(status, take_feature(dictionary, i, made, err));
    attn_dictionary_free(dictionary);
    attn_free(folder);
    return status;
}

/* The row of parts.c. */
attn_directions_fn attn_directions_of_gguf;

enum attn_status attn_directions_of_gguf(const char *path, bool *is_one,
                                         struct attn_intervention *made, struct attn_error *err)
{
    const char *number = strrchr(path, '#');
    struct attn_file file = {0};
    struct attn_bundle *gguf;
    const char *name = NULL;
    size_t size = 0;
    enum attn_status status;

    *is_one = number && !attn_os_exists(path);
    if (*is_one)
        return read_feature(path, number + 1, made, err);
    if (attn_file_open_regular(path, ATTN_MAP, &file, NULL) != ATTN_OK ||
        !attn_gguf_is_file(&file)) {
        attn_file_release(&file);
        return ATTN_OK; /* the reader of arrays says what is wrong */
    }
    *is_one = true;
    ATTN_TRY(attn_gguf_take(&file, ATTN_MAP, &gguf, err));
    status = attn_gguf_get_text(gguf, "general.architecture", &name, &size, err);
    if (status == ATTN_OK &&
        (size != sizeof architecture - 1 || memcmp(name, architecture, size) != 0))
        status = attn_error_set(
            err, ATTN_UNSUPPORTED, "'%s' is a GGUF file of the architecture '%s', expected '%s'",
            attn_quote_string(path).text, attn_quote(name, size).text, architecture);
    ATTN_THEN(status, copy_all(attn_gguf_files(gguf), path, made, err));
    attn_gguf_free(gguf);
    return status;
}
