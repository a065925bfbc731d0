/* gguf_models.c - see gguf_models.h. */
#include "tests/support/gguf_models.h"

#include "base/dtype_internal.h"
#include "gguf/gguf.h"
#include "kernels/kernels.h"
#include "model/model.h"
#include "tests/support/assert.h"
#include "tests/support/gguf_image.h"
#include "tests/support/recording.h"
#include "tests/support/stored_zip.h"
#include "tests/support/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attn_buffer attn_gguf_member(const char *archive, const char *name)
{
    struct attn_buffer bytes = {0};
    char path[100];
    size_t size;
    FILE *file;

    snprintf(path, sizeof path, "tests/fixtures/gguf/%s.zip", archive);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "'%s' is missing", path);
    bytes.has_failed = !attn_stored_zip_find(file, path, name, &size);
    if (!bytes.has_failed) {
        char *data = attn_buffer_reserve(&bytes, size + 1);

        ck_assert(data && fread(data, 1, size, file) == size);
        bytes.size = size;
    }
    fclose(file);
    return bytes;
}

static struct attn_bundle *open_bytes(const struct attn_buffer *bytes)
{
    const struct attn_blob blob = {ATTN_GGUF_PART, bytes->data, bytes->size};
    const struct attn_source source = {.name = "made", .blobs = &blob, .n_blob = 1};
    struct attn_file file = {0};
    struct attn_bundle *gguf = NULL;
    struct attn_error err = {0};

    ck_assert(attn_file_open_part(&source, ATTN_GGUF_PART, ATTN_READ, &file, &err) == ATTN_OK);
    ck_assert_msg(attn_gguf_take(&file, ATTN_READ, &gguf, &err) == ATTN_OK, "%s", err.message);
    return gguf;
}

/* The values of a tensor by the portable decoder, whose values test_blocks checks; free() them. */
static float *decode(const struct attn_tensor *tensor)
{
    const size_t n = attn_tensor_n_element(tensor);
    float *values = malloc(n * sizeof *values);

    ck_assert_ptr_nonnull(values);
    attn_kernels_find(ATTN_ISA_BASELINE)->convert(tensor->data, tensor->dtype, n, values);
    return values;
}

/* --- The twin --------------------------------------------------------------------------------- */

/* A line of a recipe. */
struct line {
    char name[128], shape[64], digest[20], change[16], from[64];
    size_t number;
};

/* The row of the file that row I of N of the twin is. */
static size_t row_of(const struct line *line, size_t i, size_t n)
{
    const size_t number = line->number;

    if (strcmp(line->change, "interleaved") == 0) /* components of one head of `number` */
        return i / number * number + i % number % (number / 2) * 2 + i % number / (number / 2);
    if (strcmp(line->change, "by_head") == 0) { /* queries, k and v of one group after the other */
        const size_t n_group = number / 1024, d_head = number % 1024, group = i / (n / n_group);
        const size_t n_q = n / n_group - 2 * d_head, at = i % (n / n_group);

        if (at < n_q)
            return group * n_q + at;
        return n_group * n_q + (at - n_q) / d_head * n_group * d_head + group * d_head +
               (at - n_q) % d_head;
    }
    if (strcmp(line->change, "row") == 0) /* a part of the tensor */
        return number * n + i;
    return i;
}

/* Y [n_row, n_column] from the values X of the file. */
static void change_order(const struct line *line, const float *x, size_t n_row, size_t n_column,
                         float *y)
{
    const bool is_turned = strcmp(line->change, "turned") == 0;
    for (size_t i = 0; i < n_row; i++)
        for (size_t j = 0; j < n_column; j++)
            y[i * n_column + j] =
                is_turned ? x[j * n_row + i] : x[row_of(line, i, n_row) * n_column + j];
}

/* Takes 1 off or puts it back. */
static void add_one(const struct line *line, float *y, size_t n, float one)
{
    if (strcmp(line->change, "minus_one") == 0)
        for (size_t i = 0; i < n; i++)
            y[i] += one;
}

static uint64_t digest_of(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t digest = 0xcbf29ce484222325;

    for (size_t i = 0; i < size; i++)
        digest = (digest ^ bytes[i]) * 0x100000001b3;
    return digest;
}

static void check_digest(const struct line *line, const float *y, size_t n)
{
    char digest[20];

    snprintf(digest, sizeof digest, "%016" PRIx64, digest_of(y, n * sizeof *y));
    ck_assert_msg(line->digest[0] == '-' || strcmp(digest, line->digest) == 0,
                  "'%s' has the digest %s, expected %s", line->name, digest, line->digest);
}

/* What is wrong on purpose; the shape of what is turned allows no other way. */
static void leave_as_it_lies(struct line *line)
{
    if (strcmp(line->change, "turned") != 0)
        memcpy(line->change, "same", sizeof "same");
    memcpy(line->digest, "-", sizeof "-");
}

/* Columns of the gate and of up in turn, in Y [N, D, 2 F] of SIZES; the file has two tensors [N, F,
 * D]. */
static void put_alternate(const struct line *line, const struct attn_bundle *gguf,
                          const float *gate, const size_t *sizes, float *y)
{
    struct attn_tensor_entry entry;
    char from[64];
    float *up;

    snprintf(from, sizeof from, "%.*sup%s", (int)(strstr(line->from, "gate") - line->from),
             line->from, strstr(line->from, "gate") + 4);
    ck_assert(attn_tensor_files_find(attn_gguf_files(gguf), from, &entry));
    up = decode(&entry.tensor);
    for (size_t i = 0; i < sizes[0] * sizes[1] * sizes[2]; i++) {
        const size_t expert = i / (sizes[1] * sizes[2]), d = i / sizes[2] % sizes[1];
        const size_t f = i % sizes[2] / 2;

        y[i] = (i % 2 == 0 ? gate : up)[(expert * sizes[2] / 2 + f) * sizes[1] + d];
    }
    free(up);
}

static void append_tensor(const struct line *line, const struct attn_bundle *gguf,
                          struct attn_buffer *header, struct attn_buffer *data)
{
    struct attn_tensor_entry entry;
    size_t sizes[3] = {1, 1, 1}, n;
    int n_size;
    float *x, *y;

    ck_assert_msg(attn_tensor_files_find(attn_gguf_files(gguf), line->from, &entry), "no '%s'",
                  line->from);
    n_size = sscanf(line->shape, "%zux%zux%zu", &sizes[0], &sizes[1], &sizes[2]);
    ck_assert_int_ge(n_size, 1);
    n = sizes[0] * sizes[1] * sizes[2];
    ck_assert(strcmp(line->change, "row") == 0 || strcmp(line->change, "alternate") == 0 ||
              n == attn_tensor_n_element(&entry.tensor));
    if (n_size < 3) /* one matrix, or biases of experts, which are columns */
        sizes[2] = sizes[1], sizes[1] = sizes[0], sizes[0] = 1;
    x = decode(&entry.tensor);
    y = calloc(n, sizeof *y);
    ck_assert_ptr_nonnull(y);
    if (strcmp(line->change, "alternate") == 0)
        put_alternate(line, gguf, x, n_size == 3 ? sizes : (size_t[]){sizes[1], 1, sizes[2]}, y);
    else
        for (size_t i = 0; i < sizes[0]; i++)
            change_order(line, x + i * sizes[1] * sizes[2], sizes[1], sizes[2],
                         y + i * sizes[1] * sizes[2]);
    add_one(line, y, n, -1);
    add_one(line, y, n, 1); /* the digest is of 1 + w, which is what products see */
    check_digest(line, y, n);
    add_one(line, y, n, -1);
    attn_buffer_append_format(header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[",
                              header->size > 0 ? "," : "{", line->name);
    for (const char *c = line->shape; *c; c++)
        attn_buffer_append_char(header, *c == 'x' ? ',' : *c);
    attn_buffer_append_format(header, "],\"data_offsets\":[%zu,%zu]}", data->size,
                              data->size + n * sizeof *y);
    attn_buffer_append(data, y, n * sizeof *y);
    free(x);
    free(y);
}

struct attn_buffer attn_gguf_twin_by(const char *recipe, const struct attn_buffer *bytes,
                                     enum attn_twin twin)
{
    struct attn_bundle *gguf = open_bytes(bytes);
    struct attn_buffer header = {0}, data = {0}, file = {0};
    uint64_t size;

    for (; recipe; recipe = strchr(recipe, '\n') ? strchr(recipe, '\n') + 1 : NULL) {
        struct line line;

        if (sscanf(recipe, "tensor %127s %63s %19s %15s %zu %63s", line.name, line.shape,
                   line.digest, line.change, &line.number, line.from) != 6)
            continue;
        if (twin == ATTN_TWIN_AS_IT_LIES)
            leave_as_it_lies(&line);
        append_tensor(&line, gguf, &header, &data);
    }
    attn_buffer_append_char(&header, '}');
    while (header.size % 8 != 0)
        attn_buffer_append_char(&header, ' ');
    size = header.size;
    attn_buffer_append(&file, &size, sizeof size);
    attn_buffer_append(&file, header.data, header.size);
    attn_buffer_append(&file, data.data, data.size);
    ck_assert(!file.has_failed && !header.has_failed && !data.has_failed);
    attn_buffer_release(&header);
    attn_buffer_release(&data);
    attn_gguf_free(gguf);
    return file;
}

struct attn_buffer attn_gguf_twin(const char *name, const struct attn_buffer *gguf,
                                  enum attn_twin twin)
{
    struct attn_buffer recipe, file;
    char member[64];

    snprintf(member, sizeof member, "%s/twin.txt", name);
    recipe = attn_gguf_member("models", member);
    ck_assert(!recipe.has_failed);
    file = attn_gguf_twin_by(attn_buffer_string(&recipe), gguf, twin);
    attn_buffer_release(&recipe);
    return file;
}

/* --- The same in other ways ------------------------------------------------------------------- */

/* The number of a type in files. */
static uint32_t code_of(enum attn_dtype dtype)
{
    switch (dtype) {
    case ATTN_DTYPE_F16:
        return 1;
    case ATTN_DTYPE_BF16:
        return 30;
    case ATTN_DTYPE_F64:
        return 28;
#define CODE(name, number, code, values, bytes)                                                    \
    case ATTN_DTYPE_##name:                                                                        \
        return code;
        ATTN_BLOCK_DTYPE_MAP(CODE)
#undef CODE
    default:
        ck_assert_int_eq(dtype, ATTN_DTYPE_F32);
        return 0;
    }
}

static void put(struct attn_gguf_image *image, const char *name, const struct attn_tensor *tensor)
{
    attn_gguf_put_data(image, name, code_of(tensor->dtype), tensor);
}

/* The same values as F32 or F64, in a new block. */
static void *convert_tensor(struct attn_tensor *tensor, bool is_double)
{
    const size_t n = attn_tensor_n_element(tensor);
    float *values = decode(tensor);
    double *wide = malloc(n * sizeof *wide);

    ck_assert_ptr_nonnull(wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)values[i];
    tensor->dtype = is_double ? ATTN_DTYPE_F64 : ATTN_DTYPE_F32;
    tensor->data = is_double ? (void *)wide : (void *)values;
    free(is_double ? (void *)values : (void *)wide);
    return is_double ? (void *)wide : (void *)values;
}

/* What NAME of a layer becomes with its last part changed: "blk.0.attn_q.bias". */
static const char *sibling(const char *name, const char *part, const char *kind, char text[64])
{
    int layer = 0;

    ck_assert_int_eq(sscanf(name, "blk.%d.", &layer), 1);
    snprintf(text, 64, "blk.%d.%s.%s", layer, part, kind);
    return text;
}

static const char *const thirds[] = {"attn_q", "attn_k", "attn_v"};

/* Whether q, k and v of the layer of NAME are of one type. */
static bool can_be_fused(const struct attn_bundle *gguf, const char *name)
{
    struct attn_tensor_entry parts[3];
    char text[64];

    for (int i = 0; i < 3; i++)
        if (!attn_tensor_files_find(attn_gguf_files(gguf), sibling(name, thirds[i], "weight", text),
                                    &parts[i]))
            return false;
    return parts[1].tensor.dtype == parts[0].tensor.dtype &&
           parts[2].tensor.dtype == parts[0].tensor.dtype;
}

/* Puts q, k and v as one where ENTRY is q, and nothing where it is k or v. */
static void put_fused(struct attn_gguf_image *image, const struct attn_bundle *gguf,
                      const struct attn_tensor_entry *entry, const char *kind)
{
    struct attn_tensor all = entry->tensor;
    struct attn_buffer data = {0};
    char name[64];

    if (!strstr(entry->name, ".attn_q."))
        return;
    all.shape[0] = 0;
    for (int i = 0; i < 3; i++) {
        struct attn_tensor_entry part;

        sibling(entry->name, thirds[i], kind, name);
        ck_assert(attn_tensor_files_find(attn_gguf_files(gguf), name, &part));
        all.shape[0] += part.tensor.shape[0];
        attn_buffer_append(&data, part.tensor.data, attn_tensor_n_byte(&part.tensor));
    }
    all.data = data.data;
    put(image, sibling(entry->name, "attn_qkv", kind, name), &all);
    attn_buffer_release(&data);
}

/* Rows of q are as many as the model is wide. */
static void put_split(struct attn_gguf_image *image, const struct attn_bundle *gguf,
                      const struct attn_tensor_entry *entry, const char *kind)
{
    struct attn_tensor part = entry->tensor;
    struct attn_tensor_entry weight;
    char name[64];

    ck_assert(attn_tensor_files_find(attn_gguf_files(gguf),
                                     sibling(entry->name, "attn_qkv", "weight", name), &weight));
    for (int i = 0; i < 3; i++) {
        part.shape[0] = weight.tensor.shape[1];
        if (i > 0)
            part.shape[0] = (entry->tensor.shape[0] - part.shape[0]) / 2;
        put(image, sibling(entry->name, thirds[i], kind, name), &part);
        part.data = (const char *)part.data + attn_tensor_n_byte(&part);
    }
}

static void put_bias(struct attn_gguf_image *image, const struct attn_tensor_entry *entry)
{
    struct attn_tensor bias = {.dtype = ATTN_DTYPE_F32, .rank = 1};
    const size_t n = entry->tensor.shape[0];
    float *values = malloc(n * sizeof *values);
    char part[64], name[64];

    ck_assert_ptr_nonnull(values);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(i * 37 % 61) / 32 - 1;
    bias.shape[0] = n;
    bias.data = values;
    ck_assert_int_eq(sscanf(strstr(entry->name, "attn_"), "%63[^.]", part), 1);
    put(image, sibling(entry->name, part, "bias", name), &bias);
    free(values);
}

static bool is_one_of(const char *name, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(name, *parts))
            return true;
    return false;
}

static void put_in_form(struct attn_gguf_image *image, const struct attn_bundle *gguf,
                        struct attn_tensor_entry entry, unsigned form)
{
    static const char *const third[] = {".attn_q.", ".attn_k.", ".attn_v.", NULL};
    static const char *const with_bias[] = {".attn_q.w", ".attn_k.w", ".attn_v.w", ".attn_output.w",
                                            NULL};
    const char *kind = strstr(entry.name, ".bias") ? "bias" : "weight";
    void *converted = NULL;

    if ((form & (ATTN_GGUF_AS_F64 | ATTN_GGUF_AS_F32)) != 0 && entry.tensor.rank == 2)
        converted = convert_tensor(&entry.tensor, (form & ATTN_GGUF_AS_F64) != 0);
    if ((form & ATTN_GGUF_SPLIT) != 0 && strstr(entry.name, ".attn_qkv."))
        put_split(image, gguf, &entry, kind);
    else if ((form & ATTN_GGUF_FUSED) != 0 && is_one_of(entry.name, third) &&
             can_be_fused(gguf, entry.name))
        put_fused(image, gguf, &entry, kind);
    else
        put(image, entry.name, &entry.tensor);
    if ((form & ATTN_GGUF_WITH_BIAS) != 0 && is_one_of(entry.name, with_bias))
        put_bias(image, &entry);
    free(converted);
}

/* The pairs lie between the header and the first tensor's entry. */
static void copy_pairs(struct attn_gguf_image *image, const struct attn_bundle *gguf,
                       const struct attn_buffer *bytes)
{
    const char *end = bytes->data + 24;

    for (size_t i = 0; i < attn_gguf_n_pair(gguf); i++) {
        const char *at = (const char *)attn_gguf_pair(gguf, i).end;

        end = at > end ? at : end;
    }
    attn_buffer_append(&image->pairs, bytes->data + 24, (size_t)(end - bytes->data) - 24);
    image->n_pair = attn_gguf_n_pair(gguf);
}

struct attn_buffer attn_gguf_rewrite(const struct attn_buffer *bytes, unsigned form)
{
    struct attn_bundle *gguf = open_bytes(bytes);
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;
    struct attn_buffer written;

    copy_pairs(&image, gguf, bytes);
    for (size_t i = 0; i < attn_tensor_files_count(attn_gguf_files(gguf)); i++)
        put_in_form(&image, gguf, attn_tensor_files_entry(attn_gguf_files(gguf), i), form);
    written = attn_gguf_image_make(&image);
    attn_gguf_free(gguf);
    return written;
}

bool attn_gguf_damage(const struct attn_buffer *bytes, size_t number, bool is_turned, char name[64],
                      struct attn_buffer *damaged)
{
    struct attn_bundle *gguf = open_bytes(bytes);
    const size_t n = attn_tensor_files_count(attn_gguf_files(gguf));
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;

    copy_pairs(&image, gguf, bytes);
    for (size_t i = 0; i < n; i++) {
        struct attn_tensor_entry entry = attn_tensor_files_entry(attn_gguf_files(gguf), i);
        size_t *shape = entry.tensor.shape;

        if (i == number && is_turned && entry.tensor.rank == 2) {
            const size_t first = shape[0];

            shape[0] = shape[1], shape[1] = first;
        }
        if (i == number)
            snprintf(name, 64, "%s", entry.name);
        if (i != number || is_turned)
            put(&image, entry.name, &entry.tensor);
    }
    *damaged = attn_gguf_image_make(&image);
    attn_gguf_free(gguf);
    return number < n;
}

enum attn_status attn_gguf_try(struct attn_buffer *bytes, struct attn_error *err)
{
    static const int32_t ids[] = {1, 2, 3};
    const struct attn_blob blob = {"model.gguf", bytes->data, bytes->size};
    const struct attn_source source = {.name = "m", .blobs = &blob, .n_blob = 1};
    struct attn_recording recording;
    struct attn_model *model = NULL;
    struct attn_error unused = {0};
    enum attn_status status;

    *err = (struct attn_error){0};
    status = attn_model_open(&source, NULL, &model, err);
    if (status == ATTN_OK) {
        attn_recording_init(&recording, attn_model_config(model), 3);
        attn_recording_run(&recording, model, &ATTN_SESSION_OPTIONS_DEFAULT, ids, 3, &unused);
        attn_recording_release(&recording);
    }
    ck_assert_msg(status == ATTN_OK || (err->message[0] && !strchr(err->message, '\n')), "%s",
                  err->message);
    attn_model_free(model);
    attn_buffer_release(bytes);
    return status;
}

void attn_gguf_try_turned(const struct attn_buffer *whole, const char *model)
{
    struct attn_buffer damaged;
    struct attn_error err;
    char name[64];

    for (size_t k = 0; attn_gguf_damage(whole, k, true, name, &damaged); k += attn_one_of(3))
        if (attn_gguf_try(&damaged, &err) != ATTN_OK)
            ck_assert_msg(strstr(err.message, " has shape ") != NULL ||
                              strstr(err.message, "expected ") != NULL,
                          "%s with another '%s': %s", model, name, err.message);
    attn_buffer_release(&damaged);
}

size_t attn_gguf_try_bits(const struct attn_buffer *whole, size_t n, uint32_t *random)
{
    size_t n_ok = 0;

    for (size_t i = 0; i < n; i++) {
        struct attn_buffer damaged = {0};
        struct attn_error err;

        attn_buffer_append(&damaged, whole->data, whole->size);
        *random = *random * 1664525 + 1013904223;
        damaged.data[24 + (*random >> 8) % (whole->size / 8)] ^= (char)(1 << (*random >> 5 & 7));
        n_ok += attn_gguf_try(&damaged, &err) == ATTN_OK;
    }
    return n_ok;
}

struct attn_buffer attn_gguf_shard(const struct attn_buffer *bytes, uint32_t no, uint32_t count)
{
    struct attn_bundle *gguf = open_bytes(bytes);
    const struct attn_tensor_files *files = attn_gguf_files(gguf);
    struct attn_gguf_image image = ATTN_GGUF_IMAGE;
    struct attn_buffer written;

    if (no == 0)
        copy_pairs(&image, gguf, bytes);
    attn_gguf_put_u32(&image, "split.no", no);
    attn_gguf_put_u32(&image, "split.count", count);
    attn_gguf_put_u32(&image, "split.tensors.count", (uint32_t)attn_tensor_files_count(files));
    for (size_t i = no; i < attn_tensor_files_count(files); i += count) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(files, i);

        put(&image, entry.name, &entry.tensor);
    }
    written = attn_gguf_image_make(&image);
    attn_gguf_free(gguf);
    return written;
}
