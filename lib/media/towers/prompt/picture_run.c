/* picture_run.c - what a run does with pictures, and the rows of their readers. */
#include "base/buffer.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "input/sequence.h"
#include "model/model_internal.h"
#include "run/run_internal.h"
#include "tensors/format_internal.h"
#include "towers/before_pictures.h"
#include "towers/pixel_steps.h"
#include "towers/prompt/picture_prompt.h"
#include "towers/zero_shot.h"
#include "trace/trace_internal.h"

#include <string.h>

/* --- The host --------------------------------------------------------------------------------- */

/* Reads from SOURCE how pictures are prepared, if the model of HOST reads any. */
static enum attn_status open_pictures(struct attn_host *host, const struct attn_source *source,
                                      struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(host->model);
    const bool reads_texts = config->vision.family;
    struct attn_pixel_maker *maker;
    enum attn_status status;

    if (config->image.patch_height == 0 && !reads_texts)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(host->pictures, 1, err));
    maker = &host->pictures->maker;
    if (reads_texts) {
        host->pictures->features.seed = attn_hash_seed();
        ATTN_TRY(attn_monitor_create(1, &host->pictures->features.monitor, err));
    }
    maker->model = host->model;
    maker->cancel = host->options.cancel;
    ATTN_TRY(attn_monitor_create(1, &maker->large, err));
    status = attn_pixel_steps_create(source, host->model->whole ? host->model->whole : host->model,
                                     &maker->steps, reads_texts ? &maker->failure : err);
    return reads_texts && status != ATTN_NO_MEMORY ? ATTN_OK : status;
}

static void close_pictures(struct attn_host_pictures *pictures)
{
    attn_free(pictures->maker.steps);
    attn_monitor_free(pictures->maker.large);
    attn_feature_store_release(&pictures->features);
    attn_free(pictures);
}

/* --- The input -------------------------------------------------------------------------------- */

static enum attn_status read_input(struct attn_run *run, struct attn_error *err)
{
    const struct attn_request *request = &run->request;
    const struct attn_pixel_maker *maker = &run->host->pictures->maker;

    if (!attn_model_config(run->model)->vision.family)
        return attn_error_because(attn_image_input_read(maker, &request->input,
                                                        attn_request_notes(request), &run->text,
                                                        err),
                                  ATTN_REASON_BAD_IMAGE, err);
    return attn_picture_prompt_read(
        &(const struct attn_picture_reading){.asked = &request->reading,
                                             .chat = &request->chat,
                                             .written = &run->chat,
                                             .tokenizer = run->tokenizer,
                                             .notes = attn_request_notes(request),
                                             .input = &run->request.input,
                                             .sequence = &run->text},
        maker, err);
}

/* Finds the image that the TEXT of `tiles` names in front, "1:-1"; else the first. The text becomes
 * what follows. */
static enum attn_status find_image(const struct attn_picture_prompt *seen, const char **text,
                                   const struct attn_prompt_image **image, struct attn_error *err)
{
    const size_t n = *text ? strspn(*text, "0123456789") : 0;
    int64_t number = 0;

    if (n > 0 && (*text)[n] == ':') {
        if (!attn_parse_int(*text, n, 0, (int64_t)seen->n_image - 1, &number))
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' names picture %.*s of %zu, counted from 0", *text, (int)n,
                                  *text, seen->n_image);
        *text += n + 1;
    }
    *image = &seen->images[number];
    return ATTN_OK;
}

/* Chooses the pictures of `tiles`, of one image; all, if it is not given. */
static enum attn_status choose(struct attn_run *run, struct attn_error *err)
{
    const struct attn_number_list *list = &run->request.selection.tiles;
    struct attn_number_list chosen_list = *list;
    const struct attn_prompt_image *image = run->text.seen.images;
    struct attn_selection *chosen;
    struct attn_dims dims = {0};
    enum attn_status status;

    ATTN_TRY(find_image(&run->text.seen, &chosen_list.text, &image, err));
    dims.n_position = image->n_picture;
    ATTN_TRY(attn_selection_create(&dims, &chosen, err));
    status = attn_number_list_is_given(list)
                 ? attn_selection_choose_queries(chosen, ATTN_STACK_ONLY, &chosen_list, err)
                 : ATTN_OK;
    for (size_t i = 0; status == ATTN_OK && i < dims.n_position; i++)
        if (attn_selection_has_query(chosen, ATTN_STACK_ONLY, i))
            run->before.chosen[run->before.n_chosen++] = image->first_picture + i;
    attn_selection_free(chosen);
    return status;
}

/* Returns true if the only outputs of RUN are pages of heads, and no rows are chosen. */
static bool is_whole_page(const struct attn_run *run)
{
    const struct attn_request_outputs *outputs = &run->request.outputs;
    const struct attn_number_list *queries = &run->request.selection.queries;
    bool is_page = outputs->n > 0 &&
                   (queries->n == 0 && (!queries->text || strcmp(queries->text, "all") == 0)) &&
                   outputs->picture && !attn_view_of(outputs->picture).is_of_figure;

    for (size_t i = 0; i < outputs->n; i++)
        is_page &= outputs->items[i].format->medium == ATTN_MEDIUM_VIEWER;
    return is_page;
}

/* Stores the positions of words as the list of queries, for a page of a long text with a picture:
 * most of its rows would be those of cells, which no map shows. */
static enum attn_status keep_words(struct attn_run *run, struct attn_error *err)
{
    enum { MOST_ROWS = 512 };
    const struct attn_sequence *text = &run->text;
    size_t n = 0;

    if (text->seen.n_picture == 0 || text->n <= MOST_ROWS || !is_whole_page(run))
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(run->query_numbers, text->n, err));
    for (size_t i = 0; i < text->n; i++)
        if (text->seen.region[i] != ATTN_REGION_PICTURE)
            run->query_numbers[n++] = (int64_t)i;
    run->request.selection.queries = (struct attn_number_list){.items = run->query_numbers, .n = n};
    attn_note(run->request.on_note, run->request.user, ATTN_NOTE_PAGE_OMITS,
              "the page has the rows of the %zu words, and not those of %zu cells: `queries 0-%zu` "
              "keeps all",
              n, text->n - n, text->n - 1);
    return ATTN_OK;
}

/* Sets DIMS to the sizes of the images in the text of RUN, which owns them if there are several. */
static enum attn_status set_dims(struct attn_run *run, struct attn_dims *dims,
                                 struct attn_error *err)
{
    const struct attn_picture_prompt *seen = &run->text.seen;

    ATTN_TRY(ATTN_ALLOC(run->image_sizes, seen->n_image, err));
    for (size_t i = 0; i < seen->n_image; i++) {
        const struct attn_prompt_image *image = &seen->images[i];

        run->image_sizes[i] = (struct attn_picture_dims){.n = (uint32_t)image->n_picture,
                                                         .n_row = (uint32_t)image->rows,
                                                         .n_col = (uint32_t)image->columns,
                                                         .grid_rows = (uint32_t)image->grid_rows,
                                                         .grid_cols = (uint32_t)image->grid_cols,
                                                         .height = (uint32_t)image->pixels->height,
                                                         .width = (uint32_t)image->pixels->width};
    }
    run->images = (struct attn_images_dims){run->image_sizes, seen->n_image, seen->n_row, {NULL}};
    dims->picture = *run->image_sizes;
    dims->images = seen->n_image > 1 || seen->n_row > seen->n_cell ? &run->images : NULL;
    if (run->before.n_chosen > 0) {
        run->before.dims.picture = dims->picture;
        run->before.dims.picture.n_chosen = (uint32_t)run->before.n_shown;
    }
    return ATTN_OK;
}

/* --- Labels ----------------------------------------------------------------------------------- */

/* Returns the part of the picture that has patches, if its crop and size are known; or NULL. */
static const struct attn_backdrop *find_backdrop(struct attn_run *run)
{
    const struct attn_pixels *pixels = run->text.pixels;
    const struct attn_image_grid *grid = &run->text.grid;

    if (!pixels || !pixels->shown)
        return NULL;
    const bool is_shown = pixels->n_picture > 0; /* with its own size, to the tower of a decoder */

    run->backdrop = (struct attn_backdrop){
        .rgb = pixels->shown,
        .height = is_shown ? pixels->shown_height
                           : grid->n_row * attn_model_config(run->model)->image.patch_height,
        .width = is_shown ? pixels->shown_width
                          : grid->n_col * attn_model_config(run->model)->image.patch_width,
        .stride = is_shown ? pixels->shown_width : pixels->width,
        .n_front = grid->n_front,
        .n_row = grid->n_row,
        .n_col = grid->n_col};
    return &run->backdrop;
}

/* Returns the picture in the text, of which the cells of the whole one are drawn; or NULL. */
static const struct attn_backdrop *find_seen(struct attn_run *run)
{
    const struct attn_prompt_image *image = run->text.seen.images;
    const struct attn_pixels *pixels = image ? image->pixels : NULL;
    const struct attn_request_maps *maps = &run->request.maps;
    size_t writing[2];

    if (!run->text.rows || !pixels || !pixels->shown) /* a failure ends here, too */
        return NULL;
    attn_picture_prompt_writing(&run->text, writing);
    run->backdrop = (struct attn_backdrop){
        .rgb = pixels->shown,
        .height = pixels->shown_height,
        .width = pixels->shown_width,
        .stride = pixels->shown_width,
        .n_front = attn_picture_prompt_cell(&run->text, attn_prompt_image_whole(image)),
        .n_row = image->rows,
        .n_col = image->columns,
        .is_in_text = true,
        .usual = writing[0],
        .n_usual = writing[1] - writing[0] + 1,
        .neutral = maps->neutral,
        .is_ratio = maps->neutral && maps->neutral_by == ATTN_NEUTRAL_RATIO};
    return &run->backdrop;
}

/* Returns the part of the picture in the text that the watched tile of the tower is of; or NULL. */
static const struct attn_backdrop *find_tile(struct attn_run *run)
{
    const struct attn_prompt_image *image =
        attn_picture_prompt_image(&run->text.seen, run->before.chosen[0]);
    const struct attn_pixels *pixels = image->pixels;
    const struct attn_image_grid *grid = &attn_before_input(&run->before)->grid;
    const size_t tile = run->before.chosen[0] - image->first_picture;
    const bool is_whole = tile + 1 == image->n_picture;
    const size_t n_down = is_whole ? 1 : image->tile_rows,
                 n_across = is_whole ? 1 : image->tile_cols;
    const size_t down = is_whole ? 0 : tile / n_across, across = is_whole ? 0 : tile % n_across;
    const size_t height = pixels->shown_height / n_down, width = pixels->shown_width / n_across;

    if (!pixels->shown || height == 0 || width == 0)
        return NULL;
    run->backdrop = (struct attn_backdrop){
        .rgb = pixels->shown + 3 * (down * height * pixels->shown_width + across * width),
        .height = height,
        .width = width,
        .stride = pixels->shown_width,
        .n_row = grid->n_row,
        .n_col = grid->n_col};
    return &run->backdrop;
}

static void label(struct attn_run *run)
{
    const bool has_pictures = run->text.seen.n_picture > 0;
    const bool is_of_picture = run->selection && attn_before_n_own(&run->before) > 0 &&
                               attn_selection_is_of_encoder(run->selection);

    run->labels.backdrop = is_of_picture ? find_tile(run) : find_backdrop(run);
    run->labels.seen = is_of_picture ? NULL : find_seen(run);
    run->labels.pixels = has_pictures ? run->text.seen.images[0].pixels : NULL;
    run->labels.maps = has_pictures ? run->shown.maps : NULL;
    run->shown.prompt = &run->text.seen;
}

/* --- Maps over pictures ----------------------------------------------------------------------- */

/* Refuses changes of maps over a picture if there are none. */
static enum attn_status check_maps(const struct attn_run *run, struct attn_error *err)
{
    const struct attn_request_maps *asked = &run->request.maps;
    const char *given = asked->neutral ? "neutral" : asked->drop_sinks > 0 ? "drop_sinks" : NULL;

    if (asked->neutral_by != ATTN_NEUTRAL_DIFFERENCE && !asked->neutral)
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`neutral_by` needs `neutral`");
    if (!(asked->drop_sinks >= 0))
        return attn_refuse(err, ATTN_STAGE_OPTIONS, "`drop_sinks` is %g, expected above 0: try 20",
                           asked->drop_sinks);
    if (!given)
        return ATTN_OK;
    if (run->text.seen.n_picture == 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`%s` needs `image`, of a model that reads one beside a text", given);
    if ((attn_selection_has_site(run->selection, ATTN_SITE_PICTURE_MAP) ||
         attn_selection_has_site(run->selection, ATTN_SITE_PICTURE_MAP_TILES)) &&
        (run->request.selection.sites || run->request.outputs.n > 0))
        return ATTN_OK;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "`%s` changes maps over a picture, and none is made",
                given);
    return attn_error_hint(err, "`sites picture_map` and `npz FILE`, or `heatmap`, makes them");
}

/* Notes which of several images a page draws. */
static void note_images(const struct attn_run *run)
{
    const struct attn_request *request = &run->request;
    const size_t n = run->text.seen.n_image;
    const bool has_maps = attn_sites_meet(
        attn_selection_sites(run->selection),
        ATTN_SITES(ATTN_SITE_PICTURE_MAP, ATTN_SITE_PICTURE_MAP_TILES, ATTN_SITE_PIXEL_VALUES));
    bool has_page = false;

    for (size_t i = 0; n > 1 && has_maps && i < request->outputs.n; i++)
        has_page |= request->outputs.items[i].format->medium == ATTN_MEDIUM_VIEWER;
    if (has_page)
        attn_note(request->on_note, request->user, ATTN_NOTE_PAGE_OMITS,
                  "the page draws maps over picture 0 of %zu: `svg FILE` draws those over all", n);
}

static enum attn_status check_run(const struct attn_run *run, struct attn_error *err)
{
    ATTN_TRY(check_maps(run, err));
    note_images(run);
    return ATTN_OK;
}

/* --- Positions in pictures -------------------------------------------------------------------- */

/* An item of a list of positions in a picture. Commas separate items. */
struct picture_item {
    const char *text; /* [size] */
    size_t size;
    size_t first, last; /* the two ends of a number or range, `3` or `3-5` */
    bool is_number;
};

/* Reads the item at *SPEC and advances *SPEC to its end. */
static struct picture_item read_picture_item(const char **spec)
{
    struct picture_item item = {.text = *spec, .size = strcspn(*spec, ",")};
    const char *dash = memchr(item.text, '-', item.size);
    const size_t n_first = dash ? (size_t)(dash - item.text) : item.size;
    int64_t first, last;

    *spec += item.size;
    if (!attn_parse_int(item.text, n_first, 0, INT32_MAX, &first))
        return item;
    last = first;
    if (dash && !attn_parse_int(dash + 1, item.size - n_first - 1, first, INT32_MAX, &last))
        return item;
    item.first = (size_t)first;
    item.last = (size_t)last;
    item.is_number = true;
    return item;
}

/* Reports that the rectangle ROWS x COLUMNS is outside of N_ROW x N_COL patches or cells. */
static enum attn_status refuse_rectangle(const struct picture_item *rows,
                                         const struct picture_item *columns,
                                         const struct attn_image_grid *grid, const char *what,
                                         struct attn_error *err)
{
    return attn_error_set(
        err, ATTN_INVALID,
        "'%s%.*s,%.*s' is outside the picture, expected row 0 to %zu and column 0 to %zu of its %s",
        *what == 't' ? "t" : "", (int)rows->size, rows->text, (int)columns->size, columns->text,
        grid->n_row - 1, grid->n_col - 1, what);
}

/* The name of a position beside an image: `3,4`, `t0-2,3-5` or a region, with the number of the
 * image in front, `1:3,4`, or without. */
struct image_item {
    const char *at; /* what follows the number */
    bool has_number;
    size_t image;
};

/* Reads the number of an image in front of SPEC, if it has one. */
static enum attn_status read_image_number(const char *spec, const struct attn_sequence *sequence,
                                          struct image_item *item, struct attn_error *err)
{
    const struct attn_picture_prompt *seen = &sequence->seen;
    const size_t n = strspn(spec, "0123456789");
    int64_t number = 0;

    *item = (struct image_item){.at = spec};
    if (n == 0 || spec[n] != ':' || seen->n_image == 0)
        return ATTN_OK;
    if (!attn_parse_int(spec, n, 0, INT32_MAX, &number) || (size_t)number >= seen->n_image)
        return attn_error_set(err, ATTN_INVALID, "'%.*s' names picture %.*s of %zu, counted from 0",
                              (int)strcspn(spec, ","), spec, (int)n, spec, seen->n_image);
    item->at = spec + n + 1;
    item->has_number = true;
    item->image = (size_t)number;
    return ATTN_OK;
}

/* Appends the positions of the cells in the rectangle ROWS x COLUMNS that ITEM names: of the whole
 * image, or of the grid of all tiles. */
static enum attn_status append_cells(const struct picture_item *rows,
                                     const struct picture_item *columns,
                                     const struct image_item *item,
                                     const struct attn_sequence *sequence, struct attn_buffer *out,
                                     struct attn_error *err)
{
    const struct attn_prompt_image *image = &sequence->seen.images[item->image];
    const bool is_of_tiles = *item->at == 't';
    const struct attn_image_grid grid = {.n_row = is_of_tiles ? image->grid_rows : image->rows,
                                         .n_col = is_of_tiles ? image->grid_cols : image->columns};
    const size_t begin = out->size;

    if (grid.n_row == 0)
        return attn_error_set(err, ATTN_INVALID, "'t%.*s,%.*s' is in a tile, and there are none",
                              (int)rows->size, rows->text, (int)columns->size, columns->text);
    if (rows->last >= grid.n_row || columns->last >= grid.n_col)
        return refuse_rectangle(rows, columns, &grid, is_of_tiles ? "tiles" : "cells", err);
    for (size_t row = rows->first; row <= rows->last; row++)
        for (size_t column = columns->first; column <= columns->last; column++) {
            const size_t cell =
                is_of_tiles ? attn_prompt_image_tile_cell(image, row, column)
                            : attn_prompt_image_whole(image) + row * image->columns + column;

            attn_buffer_append_format(out, "%s%zu", out->size > begin ? "," : "",
                                      attn_picture_prompt_cell(sequence, cell));
        }
    return ATTN_OK;
}

/* Appends the positions of ITEM at *SPEC, if it is a rectangle of cells, `3,4` or `t0-2,3-5`, and
 * advances *SPEC to its end. */
static enum attn_status append_if_cells(const char **spec, const struct image_item *item,
                                        const struct attn_sequence *sequence,
                                        struct attn_buffer *out, bool *is_found,
                                        struct attn_error *err)
{
    const char *at = item->at + (*item->at == 't');
    struct picture_item rows, columns;

    *is_found = false;
    if (sequence->seen.n_image == 0)
        return ATTN_OK;
    rows = read_picture_item(&at);
    if (!rows.is_number || *at++ != ',')
        return ATTN_OK;
    columns = read_picture_item(&at);
    if (!columns.is_number)
        return ATTN_OK;
    *is_found = true;
    *spec = at;
    return append_cells(&rows, &columns, item, sequence, out, err);
}

/* Appends the positions of the region that ITEM at *SPEC names, if it does, and advances *SPEC. */
static enum attn_status append_if_region(const char **spec, const struct image_item *item,
                                         const struct attn_sequence *sequence,
                                         struct attn_buffer *out, bool *is_found,
                                         struct attn_error *err)
{
    const struct attn_picture_prompt *seen = &sequence->seen;
    const size_t begin = out->size, size = strcspn(item->at, ",");
    enum attn_region region = item->has_number ? ATTN_REGION_PICTURE : 0;
    const enum attn_region end = item->has_number ? ATTN_REGION_PICTURE + 1 : ATTN_N_REGION;

    while (region < end && (strlen(attn_region_name(region)) != size ||
                            memcmp(attn_region_name(region), item->at, size) != 0))
        region++;
    *is_found = seen->n_picture > 0 && region < end;
    for (size_t i = 0; *is_found && i < sequence->n; i++) {
        const size_t first = i;
        const int32_t image = seen->image_of[i];

        if (seen->region[i] != region || (item->has_number && image != (int32_t)item->image))
            continue;
        while (i + 1 < sequence->n && seen->region[i + 1] == region &&
               seen->image_of[i + 1] == image)
            i++;
        attn_buffer_append_format(out, "%s%zu-%zu", out->size > begin ? "," : "", first, i);
    }
    *spec = *is_found ? item->at + size : *spec;
    if (*is_found && out->size == begin)
        return attn_error_set(err, ATTN_INVALID, "the %s has no position of the region '%s'",
                              sequence->role, attn_region_name(region));
    return ATTN_OK;
}

/* Appends the positions that the item at *SPEC names beside an image to OUT, if it does, and
 * advances *SPEC: `3,4`, `t0-2,3-5` or a region, with the number of the image in front or without.
 */
static enum attn_status find_item(const char **spec, const struct attn_sequence *sequence,
                                  struct attn_buffer *out, bool *is_found, struct attn_error *err)
{
    struct image_item item;

    ATTN_TRY(read_image_number(*spec, sequence, &item, err));
    ATTN_TRY(append_if_cells(spec, &item, sequence, out, is_found, err));
    return *is_found ? ATTN_OK : append_if_region(spec, &item, sequence, out, is_found, err);
}

/* Appends the positions of the patches in the rectangle ROWS x COLUMNS: one range FIRST-LAST for
 * each row. */
static enum attn_status append_patches(const struct picture_item *rows,
                                       const struct picture_item *columns,
                                       const struct attn_image_grid *grid, struct attn_buffer *out,
                                       struct attn_error *err)
{
    if (rows->last >= grid->n_row || columns->last >= grid->n_col)
        return refuse_rectangle(rows, columns, grid, "patches", err);
    for (size_t row = rows->first; row <= rows->last; row++) {
        const size_t begin = grid->n_front + row * grid->n_col;

        attn_buffer_append_format(out, "%s%zu-%zu", row > rows->first ? "," : "",
                                  begin + columns->first, begin + columns->last);
    }
    return ATTN_OK;
}

/* Appends the position of ITEM, the name of a token before the patches, such as [CLS]. */
static enum attn_status append_front(const struct picture_item *item,
                                     const struct attn_sequence *sequence, struct attn_buffer *out,
                                     struct attn_error *err)
{
    for (size_t i = 0; i < sequence->grid.n_front; i++)
        if (sequence->tokens.sizes[i] == item->size &&
            memcmp(sequence->tokens.bytes[i], item->text, item->size) == 0) {
            attn_buffer_append_format(out, "%zu", i);
            return ATTN_OK;
        }
    attn_error_set(err, ATTN_INVALID, "'%s' is no place in a picture, expected row,column%s",
                   attn_quote(item->text, item->size).text,
                   sequence->grid.n_front > 1   ? sequence->tokens.bytes[1][1] == 'D'
                                                      ? ", [CLS] or [DIST]"
                                                      : ", [CLS] or [REG0]"
                   : sequence->grid.n_front > 0 ? " or [CLS]"
                                                : "");
    return attn_error_hint(err, "2,3 is one of %zu x %zu patches, 0-2,3-4 are six of them",
                           sequence->grid.n_row, sequence->grid.n_col);
}

/* Resolves the list SPEC for a picture: `row,column`, [CLS] and [REG0]. */
static enum attn_status find_positions(const char *spec, const struct attn_sequence *sequence,
                                       struct attn_buffer *out, struct attn_error *err)
{
    for (const char *at = spec;; at++) {
        struct picture_item item = read_picture_item(&at), column;

        if (item.is_number && *at == ',') {
            at++;
            column = read_picture_item(&at);
            if (!column.is_number)
                return append_front(&item, sequence, out, err);
            ATTN_TRY(append_patches(&item, &column, &sequence->grid, out, err));
        } else {
            ATTN_TRY(append_front(&item, sequence, out, err));
        }
        if (*at == '\0')
            return attn_buffer_check(out, err);
        attn_buffer_append_char(out, ',');
    }
}

/* --- The rows --------------------------------------------------------------------------------- */

const struct attn_reader attn_picture_reader = {.feed = attn_picture_feed,
                                                .embed = attn_picture_embed,
                                                .release = attn_prompt_release,
                                                .find_positions = find_positions,
                                                .label = label};

const struct attn_reader attn_prompt_reader = {.release = attn_prompt_release,
                                               .find_item = find_item,
                                               .prepare = attn_before_prepare_pictures,
                                               .make = attn_before_make_pictures,
                                               .back = attn_before_back,
                                               .choose = choose,
                                               .set_dims = set_dims,
                                               .choose_rows = keep_words,
                                               .label = label,
                                               .write_image = attn_prompt_write_image};

const struct attn_image_input attn_image_input_row = {.open = open_pictures,
                                                      .close = close_pictures,
                                                      .choose_host = attn_zero_shot_choose_host,
                                                      .check = attn_image_input_check,
                                                      .read = read_input,
                                                      .check_run = check_run};
