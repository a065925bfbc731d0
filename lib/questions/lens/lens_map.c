/* lens_map.c - maps of a lens: DIR/L.npy or DIR/L.safetensors for layer L (lens.h). */
#include "lens/lens_internal.h"

#include "base/memory.h"
#include "base/os/os.h"
#include "base/source.h"
#include "base/status_internal.h"
#include "formats/ndarray.h"
#include "formats/safetensors.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>

/* What an array of the file `path` should be: [D] or [D, D], by its rank. */
struct wanted {
    const char *path, *name;
    int rank;
    size_t d;
};

/* Returns an error unless SHAPE [rank] is what is WANTED. */
static enum attn_status check_shape(const struct wanted *wanted, int rank, const size_t *shape,
                                    struct attn_error *err)
{
    char found[ATTN_SHAPE_TEXT_SIZE];
    const size_t d = wanted->d;

    if (rank == wanted->rank && shape[0] == d && (rank == 1 || shape[1] == d))
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          wanted->rank == 1 ? "'%s': %s is %s, expected [%zu]"
                                            : "'%s': %s is %s, expected [D, D] with D = %zu",
                          attn_quote_string(wanted->path).text, wanted->name,
                          attn_shape_text(rank, shape, found), d);
}

/* Copies VALUES [n] to *OUT, which the map owns. */
static enum attn_status keep(const float *values, size_t n, float **out, struct attn_error *err)
{
    ATTN_TRY(ATTN_NEW(*out, attn_alloc_uninitialized(n, sizeof **out, err)));
    memcpy(*out, values, n * sizeof **out);
    return ATTN_OK;
}

/* Reads the floats of PATH, of rank WANTED, into *OUT, if the file exists. */
static enum attn_status read_npy(const char *path, int wanted, size_t d, float **out,
                                 struct attn_error *err)
{
    struct attn_ndarray array = {0};
    enum attn_status status;

    if (!attn_os_exists(path))
        return ATTN_OK;
    ATTN_TRY(attn_ndarray_read(path, wanted, wanted, wanted == 1 ? "[D]" : "[D, D]", &array, err));
    status =
        check_shape(&(struct wanted){path, "the array", wanted, d}, array.rank, array.shape, err);
    ATTN_THEN(status, keep(array.data, wanted == 1 ? d : d * d, out, err));
    attn_ndarray_release(&array);
    return status;
}

static enum attn_status read_tensor(const struct attn_tensor_files *files,
                                    const struct wanted *wanted, float **out,
                                    struct attn_error *err)
{
    struct attn_tensor_entry entry;
    const size_t n = wanted->rank == 1 ? wanted->d : wanted->d * wanted->d;

    if (!attn_tensor_files_find(files, wanted->name, &entry))
        return ATTN_OK;
    ATTN_TRY(check_shape(wanted, entry.tensor.rank, entry.tensor.shape, err));
    if (entry.tensor.dtype != ATTN_DTYPE_F32 && entry.tensor.dtype != ATTN_DTYPE_F16 &&
        entry.tensor.dtype != ATTN_DTYPE_BF16)
        return attn_error_set(err, ATTN_FORMAT, "'%s': %s has another type than F32, F16 and BF16",
                              attn_quote_string(wanted->path).text, wanted->name);
    ATTN_TRY(ATTN_NEW(*out, attn_alloc_uninitialized(n, sizeof **out, err)));
    attn_kernels_find(ATTN_ISA_BEST)->convert(entry.tensor.data, entry.tensor.dtype, n, *out);
    return ATTN_OK;
}

static enum attn_status read_safetensors(const char *path, size_t d, struct attn_layer_map *map,
                                         struct attn_error *err)
{
    struct attn_tensor_files *files;
    enum attn_status status;

    if (!attn_os_exists(path))
        return ATTN_OK;
    ATTN_TRY(attn_safetensors_open_file(path, ATTN_READ, &files, err));
    status = read_tensor(files, &(struct wanted){path, "weight", 2, d}, &map->weight, err);
    if (status == ATTN_OK)
        status = read_tensor(files, &(struct wanted){path, "bias", 1, d}, &map->bias, err);
    if (status == ATTN_OK && !map->weight)
        status = attn_error_set(err, ATTN_FORMAT, "'%s' has no tensor 'weight', expected [D, D]",
                                attn_quote_string(path).text);
    attn_tensor_files_free(files);
    return status;
}

/* Reads the map of LAYER in FOLDER, if it is there. */
static enum attn_status read_layer(const char *folder, size_t layer, size_t d,
                                   struct attn_layer_map *map, struct attn_error *err)
{
    static const char *const ends[] = {".npy", ".bias.npy", ".safetensors"};
    char path[4096];

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (snprintf(path, sizeof path, "%s/%zu%s", folder, layer, ends[i]) >= (int)sizeof path)
            return attn_error_set(err, ATTN_INVALID, "the path '%s' is too long",
                                  attn_quote_string(folder).text);
        if (i < 2)
            ATTN_TRY(read_npy(path, i == 0 ? 2 : 1, d, i == 0 ? &map->weight : &map->bias, err));
        else if (!map->weight)
            ATTN_TRY(read_safetensors(path, d, map, err));
        if (i == 1 && map->bias && !map->weight)
            return attn_error_set(err, ATTN_FORMAT, "'%s' has no matrix '%zu.npy' beside it",
                                  attn_quote_string(path).text, layer);
    }
    return ATTN_OK;
}

enum attn_status attn_lens_maps_read(const char *folder, const struct attn_config *config,
                                     struct attn_lens_maps *maps, struct attn_error *err)
{
    bool is_empty = true;

    maps->d = config->d_model;
    maps->n = config->n_layer;
    maps->folder = folder;
    ATTN_TRY(ATTN_ALLOC(maps->items, maps->n, err));
    for (size_t i = 0; i < maps->n; i++) {
        ATTN_TRY(attn_error_at(read_layer(folder, i, maps->d, &maps->items[i], err),
                               ATTN_STAGE_INPUT, err));
        is_empty = is_empty && !maps->items[i].weight;
    }
    if (!is_empty)
        return ATTN_OK;
    return attn_refuse(
        err, ATTN_STAGE_INPUT,
        "'%s' has no map of a layer, expected L.npy or L.safetensors for layers 0 to %zu",
        attn_quote_string(folder).text, maps->n - 1);
}

void attn_lens_maps_release(struct attn_lens_maps *maps)
{
    for (size_t i = 0; maps->items && i < maps->n; i++) {
        attn_free(maps->items[i].weight);
        attn_free(maps->items[i].bias);
    }
    attn_free(maps->items);
    *maps = (struct attn_lens_maps){.n = 0};
}

void attn_lens_map_apply(const struct attn_lens_maps *maps, size_t i, const float *x, float *y)
{
    const struct attn_layer_map *map = &maps->items[i];
    const size_t d = maps->d;

    for (size_t r = 0; r < d; r++) {
        const float *row = map->weight + r * d;
        double sum = map->bias ? (double)map->bias[r] : 0;

        for (size_t k = 0; k < d; k++)
            sum += (double)row[k] * (double)x[k];
        y[r] = (float)sum;
    }
}
