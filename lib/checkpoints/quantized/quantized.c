/* quantized.c - the row of lib/parts.c for quantized folders: what decodes them later. */
#include "quantized/quantized.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "quantized/quantized_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The quantized weights of a directory of tensors. */
struct maker {
    struct attn_tensor_maker base;
    struct attn_quantization shown;
    struct attn_scheme scheme;    /* owns */
    struct attn_coded_list list;  /* owns; sorted by the addresses of the data */
    struct attn_monitor *monitor; /* owns; held while weights are decoded */
    atomic_bool is_made;
};

/* Returns the address of the data of CODED in its directory. */
static const void *address_of(const struct attn_coded *coded)
{
    return coded->out ? (const void *)coded->out : coded->codes;
}

static int compare(const void *a, const void *b)
{
    const char *x = address_of(a), *y = address_of(b);

    return (x > y) - (x < y);
}

static enum attn_status refuse_size(const struct maker *maker,
                                    const struct attn_tensor_files *files, struct attn_error *err)
{
    char own[ATTN_QUANTITY_SIZE], machine[ATTN_QUANTITY_SIZE];

    attn_error_set(err, ATTN_NO_MEMORY,
                   "the weights of '%s' take %s decoded to float32, and this machine has %s",
                   attn_quote_string(attn_tensor_files_path(files, 0)).text,
                   attn_quantity_bytes(maker->list.size, own),
                   attn_quantity_bytes(attn_memory_of_machine(), machine));
    attn_error_hint(err, "a GGUF file of the same model stays as small as it is");
    return ATTN_NO_MEMORY;
}

static enum attn_status make_all(struct maker *maker, const struct attn_tensor_files *files,
                                 struct attn_pool *pool, struct attn_error *err)
{
    for (size_t i = 0; i < maker->list.n; i++) {
        const struct attn_coded *coded = &maker->list.items[i];

        if (!coded->out)
            return refuse_size(maker, files, err);
        ATTN_TRY(attn_coded_decode(coded, pool, err));
        if (attn_tensor_files_owns_address(files, coded->codes))
            attn_file_drop_pages(coded->codes, coded->n_code_byte);
    }
    atomic_store_explicit(&maker->is_made, true, memory_order_release);
    return ATTN_OK;
}

static enum attn_status make(struct attn_tensor_maker *base, const struct attn_tensor_files *files,
                             struct attn_pool *pool, struct attn_error *err)
{
    struct maker *maker = (struct maker *)base;
    enum attn_status status = ATTN_OK;

    if (atomic_load_explicit(&maker->is_made, memory_order_acquire))
        return ATTN_OK;
    attn_monitor_enter(maker->monitor);
    if (!maker->is_made)
        status = make_all(maker, files, pool, err);
    attn_monitor_leave(maker->monitor);
    return status;
}

static void release(struct attn_tensor_maker *base)
{
    struct maker *maker = (struct maker *)base;

    for (size_t i = 0; i < maker->list.n; i++)
        attn_free(maker->list.items[i].text);
    attn_free(maker->list.items);
    attn_scheme_release(&maker->scheme);
    attn_monitor_free(maker->monitor);
    attn_free(maker);
}

static enum attn_status fill(struct maker *maker, const struct attn_config *config,
                             struct attn_tensor_files *files, struct attn_error *err)
{
    static const char *const names[] = {
#define QUANTIZER_NAME(id, name) [ATTN_QUANTIZER_##id] = (name),
        ATTN_QUANTIZER_MAP(QUANTIZER_NAME)
#undef QUANTIZER_NAME
    };

    ATTN_TRY(attn_monitor_create(1, &maker->monitor, err));
    ATTN_TRY(attn_coded_list_fill(&maker->scheme, config, files, &maker->list, err));
    if (maker->list.n > 0)
        qsort(maker->list.items, maker->list.n, sizeof *maker->list.items, compare);
    maker->shown = (struct attn_quantization){
        names[maker->scheme.quantizer], maker->scheme.common.bits, maker->scheme.common.group_size};
    return ATTN_OK;
}

/* Opens *files unless that is done, and lets MAKER decode their weights. */
static enum attn_status open_files(struct maker *maker, const struct attn_source *source,
                                   enum attn_load load, struct attn_tensor_files **files,
                                   struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    if (!*files)
        status = attn_safetensors_open(source, load, files, err);
    if (status == ATTN_OK)
        (*files)->maker = &maker->base;
    else
        release(&maker->base);
    return status;
}

/* Adds the way out to a refusal. Returns STATUS. */
static enum attn_status hint_way_out(enum attn_status status, struct attn_error *err)
{
    if (status == ATTN_UNSUPPORTED)
        attn_error_hint(err, "a GGUF file of the same model is read, and so is a folder with what "
                             "the library's own dequantize makes of this one");
    return status;
}

enum attn_status attn_quantized_unpack(const struct attn_source *source,
                                       const struct attn_json *json,
                                       const struct attn_config *config, enum attn_load load,
                                       struct attn_tensor_files **files, struct attn_error *err)
{
    struct maker *maker;
    enum attn_status status;

    if ((*files && (*files)->maker) || !attn_scheme_is_given(source, json))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(maker, 1, err));
    maker->base = (struct attn_tensor_maker){make, release};
    status = attn_scheme_read(source, &maker->scheme, err);
    if (status != ATTN_OK || maker->scheme.quantizer <= ATTN_QUANTIZER_MXFP4) {
        release(&maker->base);
        return hint_way_out(status, err);
    }
    ATTN_TRY(open_files(maker, source, load, files, err));
    return hint_way_out(fill(maker, config, *files, err), err);
}

/* --- For people ------------------------------------------------------------------------------- */

const struct attn_quantization *attn_quantization_of(const struct attn_tensor_files *files)
{
    return files->maker ? &((const struct maker *)files->maker)->shown : NULL;
}

const char *attn_quantization_words(const struct attn_tensor_files *files,
                                    char text[ATTN_QUANTIZATION_SIZE])
{
    const struct attn_quantization *found = attn_quantization_of(files);
    int n;

    if (!found)
        return NULL;
    n = snprintf(text, ATTN_QUANTIZATION_SIZE, "%s, %zu bits", found->method, found->bits);
    if (found->group_size > 0)
        snprintf(text + n, ATTN_QUANTIZATION_SIZE - (size_t)n, ", groups of %zu",
                 found->group_size);
    return text;
}

bool attn_quantized_find(const struct attn_tensor_files *files,
                         const struct attn_tensor_entry *entry, struct attn_quantized_place *place)
{
    const struct maker *maker = (const struct maker *)files->maker;
    const struct attn_coded *found = NULL;

    if (!maker)
        return false;
    for (size_t low = 0, high = maker->list.n; low < high && !found;) {
        const size_t middle = low + (high - low) / 2;
        const char *at = address_of(&maker->list.items[middle]);

        if (at == entry->tensor.data)
            found = &maker->list.items[middle];
        else if (at < (const char *)entry->tensor.data)
            low = middle + 1;
        else
            high = middle;
    }
    if (found)
        *place = (struct attn_quantized_place){found->bits, found->offset_in_file, found->n_stored};
    return found;
}
