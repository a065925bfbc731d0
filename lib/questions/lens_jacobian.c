/*
 * lens_jacobian.c - the file of a Jacobian lens, an archive of numpy with the members
 *
 *     jacobian  float32 [L - 1, D, D]
 *     n_texts, skip, first  int64
 *     model     text, a SHA-256 of the names, types, shapes and edges of all tensors
 *     corpus    text, the name of the file of texts
 */
#include "questions/lens_internal.h"

#include "base/dtype_internal.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/utf8.h"
#include "formats/npz.h"
#include "formats/tensor_files.h"
#include "model/model_internal.h"
#include "stream/digest.h"
#include "tensors/npz_archive.h"

#include <stdio.h>
#include <string.h>

enum attn_status attn_jacobian_check(const struct attn_model *model, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    const struct attn_quote name = attn_quote_string(attn_model_name(model));

    if (config->is_encoder || config->stack.has_encoder || attn_config_has_cross(config))
        return attn_error_set(err, ATTN_INVALID,
                              "a Jacobian lens is of causal decoders, and '%s' is not one",
                              name.text);
    if (config->n_layer < 2)
        return attn_error_set(err, ATTN_INVALID,
                              "a Jacobian lens carries a layer to the last one, and '%s' has one "
                              "layer",
                              name.text);
    return ATTN_OK;
}

/* Hashes each tensor of FILES: name, type, shape, and the bytes at its begin and end. Other weights
 * differ there, too, and a model is not read as a whole for a note. */
static void hash_tensors(struct attn_sha256 *hash, const struct attn_tensor_files *files)
{
    enum { N_EDGE = 4096 };

    for (size_t i = 0; i < attn_tensor_files_count(files); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(files, i);
        const struct attn_tensor *tensor = &entry.tensor;
        const size_t n = attn_tensor_n_byte(tensor), n_edge = n < N_EDGE ? n : N_EDGE;
        char shape[ATTN_SHAPE_TEXT_SIZE];

        attn_shape_text(tensor->rank, tensor->shape, shape);
        attn_sha256_update(hash, entry.name, entry.name_size + 1);
        attn_sha256_update(hash, attn_dtype_name(tensor->dtype),
                           strlen(attn_dtype_name(tensor->dtype)));
        attn_sha256_update(hash, shape, strlen(shape));
        attn_sha256_update(hash, tensor->data, n_edge);
        attn_sha256_update(hash, (const char *)tensor->data + n - n_edge, n_edge);
    }
}

/* Computes a digest of MODEL's weights, and of the adapter that changed them. */
static void digest_weights(const struct attn_model *model, char hex[ATTN_DIGEST_HEX_SIZE])
{
    const struct attn_adapter *adapter = attn_model_adapter(model);
    struct attn_sha256 hash;

    attn_sha256_init(&hash);
    hash_tensors(&hash, model->st);
    if (adapter)
        hash_tensors(&hash, adapter->files);
    for (size_t i = 0; adapter && i < adapter->n; i++)
        attn_sha256_update(&hash, &adapter->changes[i].scale, sizeof adapter->changes[i].scale);
    attn_digest_hex(&hash, hex);
}

static size_t find_member(const struct attn_npz *npz, const char *name)
{
    size_t i = 0;

    while (i < attn_npz_n_member(npz) && strcmp(attn_npz_name(npz, i), name) != 0)
        i++;
    return i;
}

/* Notes that the file PATH records other weights than those of HOST's model. */
static void compare_weights(const struct attn_npz *npz, const char *path,
                            const struct attn_host *host, const struct attn_notes *notes)
{
    const size_t i = find_member(npz, "model");
    char hex[ATTN_DIGEST_HEX_SIZE];
    uint32_t text[ATTN_DIGEST_HEX_SIZE - 1];
    const void *bytes;
    size_t size;

    if (i == attn_npz_n_member(npz))
        return;
    digest_weights(attn_host_model(host), hex);
    for (size_t k = 0; k < ATTN_DIGEST_HEX_SIZE - 1; k++)
        text[k] = (uint32_t)hex[k];
    bytes = attn_npz_bytes(npz, i, &size);
    if (size < sizeof text ||
        memcmp((const char *)bytes + size - sizeof text, text, sizeof text) != 0)
        attn_note(notes->on_note, notes->user, ATTN_NOTE_OTHER_WEIGHTS,
                  "'%s' was fitted to other weights than those of '%s'",
                  attn_quote_string(path).text,
                  attn_quote_string(attn_model_name(attn_host_model(host))).text);
}

/* Returns an error unless the array SHAPE [rank] of TYPE, such as "float32", fits MODEL. PATH is
 * its file, or NULL if it is an array of a program. */
static enum attn_status check_shape(const char *path, int rank, const size_t *shape,
                                    const char *type, const struct attn_model *model,
                                    struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    char found[ATTN_SHAPE_TEXT_SIZE];

    if (rank == 3 && shape[0] == config->n_layer - 1 && shape[1] == config->d_model &&
        shape[2] == config->d_model && strncmp(type, "float", strlen("float")) == 0)
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT,
                   "the jacobian%s%s%s is %s %s, expected floats [%zu, %zu, %zu] for '%s'",
                   path ? " of '" : "", path ? attn_quote_string(path).text : "", path ? "'" : "",
                   type, attn_shape_text(rank, shape, found), config->n_layer - 1, config->d_model,
                   config->d_model, attn_quote_string(attn_model_name(model)).text);
    return attn_error_at(ATTN_FORMAT, ATTN_STAGE_MODEL, err);
}

static enum attn_status read_matrices(struct attn_jacobian *jacobian, const char *path,
                                      const struct attn_model *model, struct attn_error *err)
{
    const size_t i = find_member(jacobian->npz, "jacobian");

    if (i == attn_npz_n_member(jacobian->npz))
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no array 'jacobian'",
                              attn_quote_string(path).text);
    ATTN_TRY(attn_npz_read(jacobian->npz, i, &jacobian->npy, err));
    ATTN_TRY(check_shape(path, attn_npy_rank(jacobian->npy), attn_npy_shape(jacobian->npy),
                         attn_npy_dtype_name(jacobian->npy), model, err));
    jacobian->n = attn_npy_shape(jacobian->npy)[0];
    jacobian->d = attn_npy_shape(jacobian->npy)[1];
    jacobian->data = attn_npy_floats_in_place(jacobian->npy);
    if (jacobian->data)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(jacobian->owned, attn_npy_n_element(jacobian->npy), err));
    attn_npy_read_floats(jacobian->npy, jacobian->owned);
    jacobian->data = jacobian->owned;
    return ATTN_OK;
}

enum attn_status attn_jacobian_read(const struct attn_lens_args *args, const struct attn_host *host,
                                    const struct attn_notes *notes, struct attn_jacobian *jacobian,
                                    struct attn_error *err)
{
    const struct attn_ndarray *array = args->jacobian_array;
    const char *path = args->jacobian;
    enum attn_status status;

    if (array) {
        status =
            check_shape(NULL, array->rank, array->shape, "float32", attn_host_model(host), err);
        if (status == ATTN_OK)
            *jacobian = (struct attn_jacobian){
                .n = array->shape[0], .d = array->shape[1], .data = array->data};
        return status;
    }
    status = attn_npz_open(path, &jacobian->npz, err);
    if (status == ATTN_OK)
        status = read_matrices(jacobian, path, attn_host_model(host), err);
    if (status == ATTN_OK)
        compare_weights(jacobian->npz, path, host, notes);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

void attn_jacobian_release(struct attn_jacobian *jacobian)
{
    attn_free(jacobian->owned);
    attn_npy_free(jacobian->npy);
    attn_npz_free(jacobian->npz);
    *jacobian = (struct attn_jacobian){.data = NULL};
}

void attn_jacobian_apply(const struct attn_jacobian *jacobian, size_t i, const float *x, float *y)
{
    const size_t d = jacobian->d;

    for (size_t r = 0; r < d; r++) {
        const float *row = jacobian->data + (i * d + r) * d;
        double sum = 0;

        for (size_t k = 0; k < d; k++)
            sum += (double)row[k] * (double)x[k];
        y[r] = (float)sum;
    }
}

/* Writes the whole ARRAY as the next member. */
static enum attn_status put(struct attn_npz_archive *npz, const struct attn_array *array,
                            const void *data, struct attn_error *err)
{
    struct attn_npz_member member;

    ATTN_TRY(attn_npz_plan(npz, array->name, array, &member, err));
    attn_npz_sum(npz, &member, 0, data, array->size);
    attn_npz_write(npz, &member, 0, data, array->size);
    attn_npz_complete(npz, &member);
    attn_npz_list(npz, &member);
    return ATTN_OK;
}

static enum attn_status put_count(struct attn_npz_archive *npz, const char *name, size_t count,
                                  struct attn_error *err)
{
    const int64_t number = (int64_t)count;
    struct attn_array array = {.dtype = "<i8", .size = sizeof number};

    snprintf(array.name, sizeof array.name, "%s", name);
    return put(npz, &array, &number, err);
}

/* Writes TEXT, as UTF-32 like numpy. */
static enum attn_status put_text(struct attn_npz_archive *npz, const char *name, const char *text,
                                 struct attn_error *err)
{
    const size_t size = strlen(text);
    struct attn_array array = {.rank = 0};
    uint32_t *codes;
    enum attn_status status;
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(codes, size + 1, err));
    for (size_t at = 0; at < size; n++)
        at += attn_utf8_decode(text + at, size - at, &codes[n]);
    n = n > 0 ? n : 1; /* numpy has no text without room */
    array.size = n * sizeof *codes;
    snprintf(array.name, sizeof array.name, "%s", name);
    snprintf(array.dtype, sizeof array.dtype, "<U%zu", n);
    status = put(npz, &array, codes, err);
    attn_free(codes);
    return status;
}

static enum attn_status put_all(struct attn_npz_archive *npz, const struct attn_jacobian *jacobian,
                                const struct attn_jacobian_facts *facts, const char *digest,
                                struct attn_error *err)
{
    const struct attn_array array = {.name = "jacobian",
                                     .dtype = "<f4",
                                     .rank = 3,
                                     .shape = {jacobian->n, jacobian->d, jacobian->d},
                                     .size = jacobian->n * jacobian->d * jacobian->d *
                                             sizeof *jacobian->data};

    ATTN_TRY(put(npz, &array, jacobian->data, err));
    ATTN_TRY(put_count(npz, "n_texts", facts->n_text, err));
    ATTN_TRY(put_count(npz, "skip", facts->skip, err));
    ATTN_TRY(put_count(npz, "first", facts->first, err));
    ATTN_TRY(put_text(npz, "model", digest, err));
    ATTN_TRY(put_text(npz, "corpus", facts->corpus, err));
    return attn_npz_finish(npz, 0, err);
}

enum attn_status attn_jacobian_write(const struct attn_jacobian *jacobian,
                                     const struct attn_jacobian_facts *facts,
                                     const struct attn_model *model, struct attn_sink *sink,
                                     struct attn_error *err)
{
    struct attn_npz_archive npz;
    char hex[ATTN_DIGEST_HEX_SIZE];
    enum attn_status status;

    digest_weights(model, hex);
    attn_npz_begin(&npz, ATTN_NPZ_STREAMED, sink, 0);
    status = put_all(&npz, jacobian, facts, hex, err);
    attn_npz_release(&npz);
    return status == ATTN_OK ? attn_sink_check(sink, err) : status;
}
