/* mask_file.c - see mask_file.h. */
#include "mask_file.h"

#include "command.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t n_all_head(const struct mask_sizes *sizes)
{
    return (sizes->n_batch > 0 ? sizes->n_batch : 1) * sizes->n_head;
}

/* Whether the array has one of the shapes; the heads that it tells apart. */
static bool find_heads(const struct attn_npy_file *npy, const struct mask_sizes *sizes,
                       size_t *n_head)
{
    const size_t *shape = attn_npy_shape(npy);
    int rank = attn_npy_rank(npy);
    if (rank < 2 || rank > (sizes->n_batch > 0 ? 4 : 3) || shape[rank - 2] != sizes->n_query ||
        shape[rank - 1] != sizes->n_key)
        return false;
    if (rank > 2 && shape[rank - 3] != sizes->n_head)
        return false;
    if (rank > 3 && shape[0] != sizes->n_batch)
        return false;
    *n_head = rank == 2 ? 1 : rank == 3 ? sizes->n_head : n_all_head(sizes);
    return true;
}

static int report_shape(const struct attn_npy_file *npy, const struct mask_sizes *sizes)
{
    char found[ATTN_NPY_SHAPE_TEXT_SIZE], batched[96] = "";
    if (sizes->n_batch > 0)
        snprintf(batched, sizeof(batched), " or [%zu, %zu, %zu, %zu]", sizes->n_batch,
                 sizes->n_head, sizes->n_query, sizes->n_key);
    return report_problem(
        EXIT_INPUT, NULL, "'%s' has the shape %s, expected a mask [%zu, %zu]%s [%zu, %zu, %zu]%s",
        attn_npy_path(npy), attn_npy_shape_text(npy, found), sizes->n_query, sizes->n_key,
        sizes->n_batch > 0 ? "," : " or", sizes->n_head, sizes->n_query, sizes->n_key, batched);
}

static int read_cells(const struct attn_npy_file *npy, const struct mask_sizes *sizes,
                      struct attn_mask_matrix *matrix, unsigned char **cells)
{
    struct attn_error err = {0};
    size_t n = attn_npy_n_element(npy), n_head;
    if (!find_heads(npy, sizes, &n_head))
        return report_shape(npy, sizes);
    size_t n_copy = n_head > 1 ? n_all_head(sizes) / n_head : 1; /* each batch has the same */
    unsigned char *made = calloc(n_copy, n);
    if (!made)
        return report_no_memory();
    if (attn_npy_read_cells(npy, made, &err) != ATTN_OK) {
        free(made);
        return report(&err, EXIT_INPUT);
    }
    for (size_t i = 1; i < n_copy; i++)
        memcpy(made + i * n, made, n);
    *matrix = (struct attn_mask_matrix){made, n_head * n_copy, sizes->n_query, sizes->n_key};
    *cells = made;
    return EXIT_DONE;
}

int mask_file_read(const char *path, const struct mask_sizes *sizes,
                   struct attn_mask_matrix *matrix, unsigned char **cells)
{
    struct attn_npy_file *npy = NULL;
    struct attn_error err = {0};
    if (attn_npy_open(path, ATTN_READ, &npy, &err) != ATTN_OK)
        return report(&err, EXIT_INPUT);
    int code = read_cells(npy, sizes, matrix, cells);
    attn_npy_close(npy);
    return code;
}
