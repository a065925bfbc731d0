/*
 * picture_prompt.h - a text with pictures in it: the placeholder of each becomes a token for each
 * of its cells, and positions get regions and names. For the files of this layer and above.
 *
 * An image is what the user gives. It becomes pictures of rows x columns cells: its tiles, and last
 * the whole image. A text without a placeholder is a question, and stands in the form of a
 * conversation that the family was trained on, unless `chat` is off; all images stand before it.
 */
#pragma once

#include "base/status_internal.h"
#include "image/tile_grid.h"
#include "input/input.h"
#include "input/seen.h"
#include "towers/pixels.h"

struct attn_json_writer;
struct attn_pixel_maker; /* Declared in towers/pixels_internal.h. */
struct attn_sequence;    /* Declared in input/sequence.h. */

/* An image in a sequence. */
struct attn_prompt_image {
    const struct attn_pixels *pixels; /* of the input, or `made` */
    struct attn_pixels made;          /* owns */
    size_t n_picture;                 /* the tiles, row by row, and last the whole image */
    size_t tile_rows, tile_cols;      /* 0: no tiles */
    size_t rows, columns;             /* cells of each picture */
    struct attn_tile_grid joined;     /* the grid of all tiles, after the whole image; or side 0 */
    size_t grid_rows, grid_cols;      /* cells of the grid of all tiles; 0: no tiles */
    size_t n_cell;                    /* of all pictures, or of the whole image and the grid */
    size_t n_row;                     /* its rows in the text: its cells, and ends of lines */
    size_t first_picture, first_cell, first_row; /* among those of all images */
    int32_t *patches; /* [3, P] 0, row and column of each patch, for a tower that turns
                         patches by them; else NULL */
};

/* Returns the name of REGION. */
const char *attn_region_name(enum attn_region region);

/* What a prompt with a picture is read from, and into. Borrowed. */
struct attn_chat_text;
struct attn_picture_reading {
    const struct attn_request_reading *asked;
    const struct attn_tokenizer *tokenizer; /* NULL: ids alone */
    const struct attn_chat_request *chat;
    struct attn_chat_text *written; /* gets the conversation of a chat template */
    struct attn_notes notes;
    struct attn_input *input; /* its text becomes the one that was tokenized, with the answer */
    struct attn_sequence *sequence; /* owns that text */
};

/* Reads the picture and the text, or the ids, of an input into a sequence. */
enum attn_status attn_picture_prompt_read(const struct attn_picture_reading *of,
                                          const struct attn_pixel_maker *maker,
                                          struct attn_error *err);

/* Returns the first position from AT on that is a cell; sequence->n if there is none. */
size_t attn_picture_prompt_next(const struct attn_sequence *sequence, size_t at);

/* Sets MEAN [D] to the mean of the rows of all cells of SEQUENCE in ROWS [T, D], summed in double
 * precision. */
void attn_picture_prompt_mean(const struct attn_sequence *sequence, const float *rows, size_t d,
                              float *mean);

/* Returns the position of cell number CELL among those of all images. */
size_t attn_picture_prompt_cell(const struct attn_sequence *sequence, size_t cell);

/* Returns the number of the first cell of the whole of IMAGE among those of all images. */
static inline size_t attn_prompt_image_whole(const struct attn_prompt_image *image)
{
    const size_t n_tile = image->joined.side > 0 ? 0 : image->n_picture - 1;

    return image->first_cell + n_tile * image->rows * image->columns;
}

/* Returns the number of the cell ROW, COLUMN of the grid of all tiles of IMAGE among those of all
 * images. */
size_t attn_prompt_image_tile_cell(const struct attn_prompt_image *image, size_t row,
                                   size_t column);

/* Returns the image of picture number PICTURE among those of all images. */
const struct attn_prompt_image *attn_picture_prompt_image(const struct attn_picture_prompt *seen,
                                                          size_t picture);

/* Sets RANGE to the first and the last of the positions that predict the answer; without an answer,
 * both to the last position. */
void attn_picture_prompt_writing(const struct attn_sequence *sequence, size_t range[2]);

/* Returns true if token I may have a score, from what stands before it: with an answer a token of
 * it, else one that is no cell and sees no later ones. Without a picture, true. */
bool attn_picture_prompt_is_scored(const struct attn_sequence *sequence, size_t i);

/* The members of the reader of such a sequence (input/reader.h). */
extern const struct attn_reader attn_prompt_reader;
void attn_prompt_write_image(const struct attn_picture_prompt *seen, size_t i,
                             struct attn_json_writer *json);
void attn_prompt_release(struct attn_sequence *sequence); /* of a picture alone, too */
