/* picture_prompt.c - see picture_prompt.h. The forms are those of the processors of transformers
 * 5.23; the form of a conversation is that of the chat template of the model, if it has one. */
#include "towers/prompt/picture_prompt.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "formats/json_writer.h"
#include "model/model_internal.h"
#include "talk/chat.h"
#include "tokenizer/tokenizer_internal.h"
#include "towers/families/vision_family.h"
#include "towers/pixel_steps.h"
#include "towers/pixels_internal.h"

#include <stdio.h>
#include <string.h>

static const char *const region_names[] = {
#define REGION_NAME(id, number, name) [(number)] = (name),
    ATTN_REGION_MAP(REGION_NAME)
#undef REGION_NAME
};

const char *attn_region_name(enum attn_region region)
{
    return region_names[region];
}

/* What is read. */
struct reading {
    const struct attn_request_reading *asked;
    const struct attn_chat_request *chat;
    struct attn_chat_text *written;
    const struct attn_model *model;
    const struct attn_tokenizer *tokenizer;
    const struct attn_vision_family *family;
    struct attn_notes notes;
    struct attn_input *input;
    struct attn_sequence *sequence;
    struct attn_buffer text; /* with the images, and then also with the answer */
    /* Bytes of the text: what replaces each placeholder, which was at MARK of the text before; and
     * what the user has given, around it. */
    struct replacement {
        size_t mark, begin, end;
        size_t cells[2]; /* begin and end of those of the whole image */
    } * replacements;    /* [n_image] owns */
    size_t n_replaced;
    size_t given_begin, given_end;
};

/* --- The text --------------------------------------------------------------------------------- */

/* Appends STRING, or nothing if it is NULL. */
static void append(struct reading *reading, const char *string)
{
    if (string)
        attn_buffer_append_string(&reading->text, string);
}

/* Whether the vocabulary has the token of a cell. In GGUF files of Gemma 3 it may end before that
 * token, whose row of the embedding is never read. */
static bool has_cell(const struct reading *reading)
{
    size_t size;

    return attn_tokenizer_token(reading->tokenizer, reading->model->config.vision.image_id,
                                &size) != NULL;
}

static void append_cells(struct reading *reading, const struct attn_prompt_image *image)
{
    const struct attn_vision_text *form = &reading->family->text;
    /* another special token, which becomes a cell when the text was encoded */
    const char *cell = has_cell(reading) ? form->cell : form->placeholder;
    /* tiles without names stand before the whole image */
    const size_t n = form->tile ? image->rows * image->columns : image->n_row;

    for (size_t i = 0; i < n; i++) {
        if (i > 0 && i % image->columns == 0)
            append(reading, form->row_end);
        attn_buffer_append_string(&reading->text, cell);
    }
}

/* Appends what replaces the placeholder at byte MARK of a text, the next one: the tiles, row by
 * row, then the whole image. */
static void append_image(struct reading *reading, size_t mark)
{
    const struct attn_vision_text *form = &reading->family->text;
    const struct attn_picture_prompt *seen = &reading->sequence->seen;
    const struct attn_prompt_image *image = &seen->images[reading->n_replaced];
    struct replacement *replacement = &reading->replacements[reading->n_replaced++];
    struct attn_buffer *text = &reading->text;

    replacement->mark = mark;
    replacement->begin = text->size;
    for (size_t row = 1; form->tile && row <= image->tile_rows; row++) {
        for (size_t column = 1; column <= image->tile_cols; column++) {
            attn_buffer_append_format(text, "%s<row_%zu_col_%zu>", form->tile, row, column);
            append_cells(reading, image);
        }
        attn_buffer_append_char(text, '\n');
    }
    if (form->tile && image->tile_rows > 0)
        attn_buffer_append_char(text, '\n');
    append(reading, form->before);
    replacement->cells[0] = text->size;
    append_cells(reading, image);
    replacement->cells[1] = text->size;
    append(reading, form->after);
    if (reading->n_replaced == seen->n_image)
        append(reading, form->last);
    replacement->end = text->size;
}

/* Whether special tokens in the text of the user are plain text. */
static bool is_plain(const struct reading *reading)
{
    return reading->asked->special == ATTN_SPECIAL_TEXT;
}

/* Returns the first placeholder of TEXT [size] from byte FROM on, or NULL. Bytes PLAIN[0] to
 * PLAIN[1] - 1 are plain text: placeholders there do not count. */
static const char *find_mark(const struct reading *reading, const char *text, size_t size,
                             size_t from, const size_t plain[2])
{
    const char *mark = reading->family->text.placeholder, *at = text + from;

    while ((at = memmem(at, size - (size_t)(at - text), mark, strlen(mark))) &&
           (size_t)(at - text) >= plain[0] && (size_t)(at - text) < plain[1])
        at++;
    return at;
}

/* Returns the number of placeholders of TEXT [size], as find_mark. */
static size_t count_marks(const struct reading *reading, const char *text, size_t size,
                          const size_t plain[2])
{
    const size_t skipped = strlen(reading->family->text.placeholder);
    size_t n = 0;

    for (const char *at = text; (at = find_mark(reading, text, size, (size_t)(at - text), plain));
         at += skipped)
        n++;
    return n;
}

/* Appends TEXT [size] with its placeholders, at most as many as there are images, replaced. */
static void append_replaced(struct reading *reading, const char *text, size_t size,
                            const size_t plain[2])
{
    const size_t skipped = strlen(reading->family->text.placeholder);
    size_t from = 0;

    for (const char *at; (at = find_mark(reading, text, size, from, plain));
         from = (size_t)(at - text) + skipped) {
        attn_buffer_append(&reading->text, text + from, (size_t)(at - text) - from);
        append_image(reading, (size_t)(at - text));
    }
    attn_buffer_append(&reading->text, text + from, size - from);
}

/* Appends FRONT, which has a placeholder, with one for each image. */
static void append_front(struct reading *reading, const char *front)
{
    const struct attn_vision_text *form = &reading->family->text;
    const size_t n = strlen(front), none[2] = {0};
    const char *at = find_mark(reading, front, n, 0, none);
    const char *rest = at + strlen(form->placeholder);

    attn_buffer_append(&reading->text, front, (size_t)(at - front));
    for (size_t i = 0; i < reading->sequence->seen.n_image; i++) {
        append(reading, i > 0 ? form->between : NULL);
        append_image(reading, (size_t)(at - front));
    }
    attn_buffer_append_string(&reading->text, rest);
}

/* Returns where byte AT of the text before is, which is in no placeholder. */
static size_t find_replaced(const struct reading *reading, size_t at)
{
    size_t found = at;

    for (size_t i = 0; i < reading->n_replaced && reading->replacements[i].mark < at; i++)
        found += reading->replacements[i].end - reading->replacements[i].begin -
                 strlen(reading->family->text.placeholder);
    return found;
}

/* Writes the text by the chat template of the model, or of a file. */
static enum attn_status write_talk(struct reading *reading, struct attn_error *err)
{
    const struct attn_input *input = reading->input;
    const char *mark = reading->family->text.placeholder;
    struct attn_chat_text *written = reading->written;
    size_t n, plain[2] = {0};
    struct attn_talk_span user;

    ATTN_TRY(attn_chat_write(
        reading->chat,
        &(struct attn_chat_turn){reading->tokenizer, attn_model_name(reading->model), input->text,
                                 input->n_text, reading->sequence->seen.n_image},
        written, err));
    user = attn_chat_user(written);
    if (is_plain(reading) && user.end == 0)
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`special text` is about the text of the user, which the chat template "
                           "does not write as it is");
    if (is_plain(reading))
        plain[0] = user.begin, plain[1] = user.end;
    n = count_marks(reading, written->text, written->size, plain);
    if (n != reading->sequence->seen.n_image)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "the chat template writes '%s' %zu time%s, expected one for each of %zu "
                           "picture%s; `chat off` leaves the template out",
                           mark, n, n == 1 ? "" : "s", reading->sequence->seen.n_image,
                           reading->sequence->seen.n_image == 1 ? "" : "s");
    append_replaced(reading, written->text, written->size, plain);
    reading->given_begin = find_replaced(reading, user.begin);
    reading->given_end = find_replaced(reading, user.end > 0 ? user.end : written->size);
    attn_note(reading->notes.on_note, reading->notes.user, ATTN_NOTE_CHAT,
              "the text stands in the form of the model's chat template; `chat off` leaves it out");
    return ATTN_OK;
}

/* Writes the text in the form of the family, or where the user's own placeholder is. */
static void write_form(struct reading *reading, bool has_mark, bool is_chat)
{
    const struct attn_input *input = reading->input;
    const struct attn_vision_text *form = &reading->family->text;
    const char *front = is_chat ? form->chat[0] : form->bare;
    const size_t plain[2] = {0, is_plain(reading) ? input->n_text : 0};

    if (!has_mark)
        append_front(reading, front);
    reading->given_begin = reading->text.size;
    append_replaced(reading, input->text, input->n_text, plain);
    reading->given_end = reading->text.size;
    if (is_chat)
        attn_buffer_append_string(&reading->text, form->chat[1]);
    append(reading, form->end);
    if (is_chat && form->chat[1][0] != '\0')
        attn_note(reading->notes.on_note, reading->notes.user, ATTN_NOTE_CHAT,
                  "the text stands in the form of %s: '%s' TEXT '%s'; `chat off` leaves it out",
                  reading->family->name, attn_quote_string(form->chat[0]).text,
                  attn_quote_string(form->chat[1]).text);
}

/* Writes the whole text of INPUT. */
static enum attn_status write_text(struct reading *reading, struct attn_error *err)
{
    const struct attn_input *input = reading->input;
    const size_t n_image = reading->sequence->seen.n_image;
    const size_t plain[2] = {0, is_plain(reading) ? input->n_text : 0};
    const char *mark = reading->family->text.placeholder;
    const size_t n = count_marks(reading, input->text, input->n_text, plain);
    const bool is_asked = !reading->chat->form || attn_chat_is_wanted(reading->chat);
    const bool is_chat = n == 0 && is_asked;

    ATTN_TRY(ATTN_ALLOC(reading->replacements, n_image, err));
    if (n > 0 && n != n_image)
        return attn_refuse(
            err, ATTN_STAGE_OPTIONS,
            "the text has '%s' %zu time%s, and %zu picture%s given: expected one for "
            "each",
            mark, n, n == 1 ? "" : "s", n_image, n_image == 1 ? " is" : "s are");
    if (n > 0 && is_asked)
        attn_note(reading->notes.on_note, reading->notes.user, ATTN_NOTE_CHAT,
                  "the text has '%s': the picture%s there, and no form of a conversation is put "
                  "around it; `special text` makes it plain text",
                  mark, n == 1 ? " stands" : "s stand");
    if (is_chat && attn_chat_has_template(reading->chat, reading->tokenizer))
        ATTN_TRY(write_talk(reading, err));
    else
        write_form(reading, n > 0, is_chat);
    if (n == 0) /* places in the text are counted in the one that was given */
        reading->sequence->n_prompt = reading->given_begin;
    return attn_buffer_check(&reading->text, err);
}

/* Checks that each special text of an image, `<...>` or `[...]`, is one token. */
static enum attn_status check_tokens(const struct reading *reading,
                                     const struct replacement *replacement, struct attn_error *err)
{
    const struct attn_encoding *encoding = &reading->sequence->encoding;
    const char *text = reading->text.data;
    size_t token = 0;

    for (size_t at = replacement->begin; at < replacement->end; at++) {
        const char *close = memchr(text + at, text[at] == '[' ? ']' : '>', replacement->end - at);

        if ((text[at] != '<' && text[at] != '[') || !close)
            continue;
        while (token < encoding->n &&
               (encoding->begin[token] < at || encoding->texts[token] == ATTN_TEXT_NONE))
            token++;
        if (token == encoding->n || encoding->begin[token] != at ||
            encoding->end[token] != (size_t)(close + 1 - text)) {
            attn_error_set(err, ATTN_UNSUPPORTED, "the vocabulary of '%s' has no token '%s'",
                           attn_quote_string(attn_model_name(reading->model)).text,
                           attn_quote(text + at, (size_t)(close + 1 - (text + at))).text);
            return attn_error_at(ATTN_UNSUPPORTED, ATTN_STAGE_MODEL, err);
        }
        at = (size_t)(close - text);
    }
    return ATTN_OK;
}

/* Gives the id of a cell to the tokens that were written for cells, because the vocabulary lacks
 * that id. */
static void set_cells(const struct reading *reading)
{
    struct attn_encoding *encoding = &reading->sequence->encoding;

    for (size_t i = 0, k = 0; i < encoding->n; i++) {
        const size_t begin = encoding->begin[i];

        if (encoding->texts[i] == ATTN_TEXT_NONE)
            continue;
        while (k < reading->n_replaced && begin >= reading->replacements[k].cells[1])
            k++;
        if (k < reading->n_replaced && begin >= reading->replacements[k].cells[0])
            encoding->ids[i] = reading->model->config.vision.image_id;
    }
}

/* Encodes the text. The tokenizer adds nothing if the text begins with what it would put in front.
 */
static enum attn_status encode(struct reading *reading, struct attn_error *err)
{
    struct attn_request_reading asked = *reading->asked;
    struct attn_sequence *sequence = reading->sequence;
    const struct attn_encoding *encoding = &sequence->encoding;
    const struct attn_input whole = {.text = reading->text.data, .n_text = reading->text.size};

    if (reading->family->text.is_plain ||
        reading->written->text) /* a template writes all of them */
        asked.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
    if (is_plain(reading)) {
        asked.special = ATTN_SPECIAL_PARSE;
        sequence->plain[0] = reading->given_begin, sequence->plain[1] = reading->given_end;
    }
    ATTN_TRY(attn_sequence_encode(&asked, &whole, reading->tokenizer, sequence, err));
    if (encoding->n_front > 0 && encoding->n > encoding->n_front &&
        encoding->ids[0] == encoding->ids[encoding->n_front]) {
        asked.special_tokens = ATTN_SPECIAL_TOKENS_OFF;
        ATTN_TRY(attn_sequence_encode(&asked, &whole, reading->tokenizer, sequence, err));
    }
    for (size_t i = 0; i < reading->n_replaced; i++)
        ATTN_TRY(check_tokens(reading, &reading->replacements[i], err));
    if (!has_cell(reading))
        set_cells(reading);
    return ATTN_OK;
}

/* Reads the text of the input, which becomes the one that is tokenized. */
static enum attn_status read_text(struct reading *reading, struct attn_error *err)
{
    struct attn_input *input = reading->input;
    struct attn_sequence *sequence = reading->sequence;

    ATTN_TRY(write_text(reading, err));
    ATTN_TRY(encode(reading, err));
    sequence->seen.n_prompt = sequence->encoding.n;
    input->n_text = reading->text.size;
    ATTN_TRY(ATTN_NEW(sequence->prompted, attn_store_copy(&sequence->store, reading->text.data,
                                                          reading->text.size, err)));
    input->text = sequence->prompted;
    return attn_chat_append(reading->asked, reading->tokenizer, input, sequence, err);
}

/* --- Regions, positions, names ---------------------------------------------------------------- */

/* Returns the region of token I, which is no cell. */
static enum attn_region find_region(const struct reading *reading, size_t i)
{
    const struct attn_sequence *sequence = reading->sequence;
    const struct attn_encoding *encoding = &sequence->encoding;
    size_t begin, end, k = 0;

    if (i >= sequence->seen.n_prompt)
        return ATTN_REGION_ANSWER;
    if (attn_tokenizer_is_special(reading->tokenizer, sequence->ids[i]))
        return ATTN_REGION_OTHER;
    if (encoding->n == 0)
        return ATTN_REGION_QUESTION;
    begin = encoding->begin[i];
    end = encoding->end[i];
    while (k < reading->n_replaced && begin >= reading->replacements[k].end)
        k++;
    return encoding->texts[i] != ATTN_TEXT_NONE && begin < reading->given_end &&
                   end > reading->given_begin &&
                   (k == reading->n_replaced || begin < reading->replacements[k].begin)
               ? ATTN_REGION_QUESTION
               : ATTN_REGION_OTHER;
}

/* Returns true if row number I of IMAGE is the end of a line. */
static bool is_line_end(const struct attn_prompt_image *image, size_t i)
{
    return image->joined.side > 0 && attn_tile_grid_is_end(&image->joined, i);
}

/* Sets the regions and the images of cells, and checks that there is a token for each row. */
static enum attn_status set_regions(const struct reading *reading, struct attn_error *err)
{
    struct attn_sequence *sequence = reading->sequence;
    struct attn_picture_prompt *seen = &sequence->seen;
    const int32_t image_id = reading->model->config.vision.image_id;
    size_t n = 0, image = 0;

    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, seen->region, sequence->n, err));
    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, seen->image_of, sequence->n, err));
    for (size_t i = 0; i < sequence->n; i++) {
        const bool is_row = i < seen->n_prompt && sequence->ids[i] == image_id;
        bool is_cell;

        while (image + 1 < seen->n_image && n >= seen->images[image + 1].first_row)
            image++;
        is_cell = is_row && !is_line_end(&seen->images[image], n - seen->images[image].first_row);
        n += is_row;
        seen->region[i] = (unsigned char)(is_cell  ? ATTN_REGION_PICTURE
                                          : is_row ? ATTN_REGION_OTHER
                                                   : find_region(reading, i));
        seen->image_of[i] = is_cell ? (int32_t)image : -1;
    }
    if (n == seen->n_row)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "the %s %zu time%s the token %d of a cell, and the picture%s %zu %s",
                          sequence->encoding.n > 0 ? "text has" : "ids have", n, n == 1 ? "" : "s",
                          (int)image_id, seen->n_image == 1 ? " has" : "s have", seen->n_row,
                          seen->n_row > seen->n_cell ? "cells and line ends" : "cells");
}

/* Numbers the positions. With grid positions a picture has one time, and advances the number by its
 * longer side; without them all tokens are counted. */
static enum attn_status set_positions(const struct reading *reading, struct attn_error *err)
{
    struct attn_sequence *sequence = reading->sequence;
    struct attn_picture_prompt *seen = &sequence->seen;
    const struct attn_vision_family *family = reading->family;
    const size_t n = sequence->n;
    size_t number = family->first_position, cell = 0;

    ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, seen->positions, 3 * n, err));
    for (size_t i = 0; i < n; i++) {
        const bool is_cell = family->has_grid_positions && seen->region[i] == ATTN_REGION_PICTURE;
        const struct attn_prompt_image *image = is_cell ? &seen->images[seen->image_of[i]] : NULL;

        seen->positions[i] = (int32_t)number;
        seen->positions[n + i] = (int32_t)(number + (image ? cell / image->columns : 0));
        seen->positions[2 * n + i] = (int32_t)(number + (image ? cell % image->columns : 0));
        cell += is_cell;
        if (image && cell == image->rows * image->columns) {
            number += image->rows > image->columns ? image->rows : image->columns;
            cell = 0;
        }
        number += !is_cell;
    }
    seen->next_position = (int32_t)number;
    return ATTN_OK;
}

/* Sets which positions see each other: those of the prompt, the cells of each image, or none. */
static enum attn_status set_blocks(const struct reading *reading, struct attn_error *err)
{
    struct attn_picture_prompt *seen = &reading->sequence->seen;

    if (reading->family->part.sees_prompt || reading->family->opens_cells)
        ATTN_TRY(ATTN_STORE_ALLOC(&reading->sequence->store, seen->open, seen->n_image, err));
    if (reading->family->part.sees_prompt)
        *seen->open = (struct attn_mask_block){0, seen->n_prompt, true};
    if (!reading->family->opens_cells)
        return ATTN_OK;
    for (size_t k = 0; k < seen->n_image; k++) {
        const struct attn_prompt_image *image = &seen->images[k];
        const size_t first = attn_picture_prompt_cell(reading->sequence, image->first_cell);
        const size_t end = first + image->n_cell;

        seen->open[k] = (struct attn_mask_block){first, end, false};
        for (size_t i = first; i < end; i++)
            if (seen->region[i] != ATTN_REGION_PICTURE)
                return attn_error_set(err, ATTN_INVALID,
                                      "the tokens of the cells are not next to each other: "
                                      "position %zu is no cell",
                                      i);
    }
    seen->later_open = (struct attn_mask_blocks){seen->open + 1, seen->n_image - 1};
    return ATTN_OK;
}

/* Returns the place of cell number I of IMAGE: row, column, and whether they are of the grid of all
 * tiles. */
static bool find_place(const struct attn_prompt_image *image, size_t i, size_t *row, size_t *column)
{
    const size_t size = image->rows * image->columns, picture = i / size;
    const bool is_joined = image->joined.side > 0;
    const bool is_tile = is_joined ? i >= size : picture + 1 < image->n_picture;

    if (is_joined && is_tile) {
        *row = (i - size) / image->grid_cols;
        *column = (i - size) % image->grid_cols;
        return true;
    }
    *row = i % size / image->columns;
    *column = i % image->columns;
    if (is_tile) {
        *row += picture / image->tile_cols * image->rows;
        *column += picture % image->tile_cols * image->columns;
    }
    return is_tile;
}

/* Names the cells: `row,column` in the whole image, `trow,column` in the grid of all tiles; and, if
 * there are several images, its number in front, `1:row,column`. */
static enum attn_status name_cells(struct attn_sequence *sequence, struct attn_error *err)
{
    struct attn_token_bytes *tokens = &sequence->tokens;
    const struct attn_picture_prompt *seen = &sequence->seen;
    size_t cell = 0;

    if (!tokens->bytes) {
        ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, tokens->bytes, sequence->n, err));
        ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, tokens->sizes, sequence->n, err));
    }
    if (!tokens->made)
        ATTN_TRY(ATTN_STORE_ALLOC(&sequence->store, tokens->made, sequence->n, err));
    for (size_t i = 0; i < sequence->n; i++) {
        const size_t room = sizeof tokens->made[i];
        int n;

        if (seen->region[i] != ATTN_REGION_PICTURE)
            continue;
        const struct attn_prompt_image *image = &seen->images[seen->image_of[i]];
        size_t row, column;
        const bool is_tile = find_place(image, cell++ - image->first_cell, &row, &column);

        n = seen->n_image > 1
                ? snprintf(tokens->made[i], room, "%d:%s%zu,%zu", (int)seen->image_of[i],
                           is_tile ? "t" : "", row, column)
                : snprintf(tokens->made[i], room, "%s%zu,%zu", is_tile ? "t" : "", row, column);
        tokens->bytes[i] = tokens->made[i];
        tokens->sizes[i] = (size_t)n < room ? (size_t)n : room - 1;
    }
    return ATTN_OK;
}

/* --- All -------------------------------------------------------------------------------------- */

/* Copies the pixels that the caller has filled, without the fields of prompts. */
static enum attn_status copy_values(const struct attn_pixel_maker *maker,
                                    struct attn_prompt_image *image, struct attn_error *err)
{
    struct attn_pixels made = *image->pixels;
    const size_t n = made.n_channel * made.height * made.width;

    made.shown = NULL;
    made.given_height = made.height;
    made.given_width = made.width;
    ATTN_TRY(attn_pixel_maker_check(maker, "pixels", &made, err));
    ATTN_TRY(ATTN_NEW(made.values, attn_alloc_uninitialized(n, sizeof *made.values, err)));
    memcpy(made.values, image->pixels->values, n * sizeof *made.values);
    image->made = made;
    image->pixels = &image->made;
    return ATTN_OK;
}

/* Sets the sizes of IMAGE, whose tiles are joined. */
static void join_tiles(const struct attn_vision_config *vision, struct attn_prompt_image *image)
{
    const struct attn_pixels *pixels = image->pixels;

    image->joined = attn_tile_grid_find(vision, image->rows, image->tile_rows, image->tile_cols,
                                        pixels->given_height, pixels->given_width);
    image->grid_rows = image->joined.rows;
    image->grid_cols = image->joined.columns;
    image->n_cell = image->rows * image->columns + image->grid_rows * image->grid_cols;
    image->n_row = attn_tile_grid_n_row(&image->joined);
}

/* Reads the pixels of image number I, and sets its sizes. */
static enum attn_status read_pixels(const struct attn_pixel_maker *maker,
                                    const struct reading *reading, size_t i, struct attn_error *err)
{
    enum { MANY = 512 };
    const struct attn_vision_config *vision = &reading->model->config.vision;
    const size_t side = vision->patch * vision->merge;
    const struct attn_input input = attn_input_image(reading->input, i);
    struct attn_prompt_image *image = &reading->sequence->seen.images[i];

    ATTN_TRY(
        attn_image_input_pixels(maker, &input, reading->notes, &image->made, &image->pixels, err));
    if (image->pixels->n_picture == 0)
        ATTN_TRY(copy_values(maker, image, err));
    image->n_picture = image->pixels->n_picture;
    image->tile_rows = image->pixels->tile_rows;
    image->tile_cols = image->pixels->tile_cols;
    image->rows = image->pixels->height / side;
    image->columns = image->pixels->width / side;
    image->grid_rows = image->tile_rows * image->rows;
    image->grid_cols = image->tile_cols * image->columns;
    image->n_cell = image->n_row = image->n_picture * image->rows * image->columns;
    if (vision->joins_tiles)
        join_tiles(vision, image);
    if (image->n_picture > 1 && image->n_row > MANY)
        attn_note(reading->notes.on_note, reading->notes.user, ATTN_NOTE_PAIRS,
                  "the picture has %zu positions in %zu x %zu tiles and the whole; "
                  "`image_tiles off` leaves the %zu of the whole",
                  image->n_row, image->tile_rows, image->tile_cols,
                  image->rows * image->columns + (vision->joins_tiles ? 1 : 0));
    return ATTN_OK;
}

/* Reads the pixels of all images. */
static enum attn_status read_images(const struct attn_pixel_maker *given,
                                    const struct reading *reading, struct attn_error *err)
{
    struct attn_picture_prompt *seen = &reading->sequence->seen;
    struct attn_pixel_maker maker = *given;

    struct attn_pixel_steps square;

    maker.lacks_tiles = reading->asked->image_tiles == ATTN_IMAGE_TILES_OFF;
    seen->n_image = attn_input_n_image(reading->input);
    seen->image_id = reading->model->config.vision.image_id;
    if (reading->family->is_square_among_others && seen->n_image > 1 && given->steps) {
        square = *given->steps;
        square.makes_square = true;
        square.has_tiles = false;
        maker.steps = &square;
    }
    ATTN_TRY(ATTN_STORE_ALLOC(&reading->sequence->store, seen->images, seen->n_image, err));
    for (size_t i = 0; i < seen->n_image; i++) {
        seen->images[i].first_picture = seen->n_picture;
        seen->images[i].first_cell = seen->n_cell;
        seen->images[i].first_row = seen->n_row;
        ATTN_TRY(
            attn_error_because(read_pixels(&maker, reading, i, err), ATTN_REASON_BAD_IMAGE, err));
        seen->n_picture += seen->images[i].n_picture;
        seen->n_cell += seen->images[i].n_cell;
        seen->n_row += seen->images[i].n_row;
    }
    if (maker.lacks_tiles && !(given->steps && attn_pixel_steps_cut(given->steps)))
        return attn_refuse(err, ATTN_STAGE_OPTIONS,
                           "`image_tiles` is given, and '%s' cuts no picture into tiles",
                           attn_quote_string(attn_model_name(reading->model)).text);
    return ATTN_OK;
}

static enum attn_status read_all(const struct attn_pixel_maker *maker, struct reading *reading,
                                 struct attn_error *err)
{
    struct attn_sequence *sequence = reading->sequence;
    const struct attn_input *input = reading->input;

    ATTN_TRY(read_images(maker, reading, err));
    if (attn_input_is_text(input)) {
        ATTN_TRY(read_text(reading, err));
    } else {
        sequence->ids = input->ids;
        sequence->n = sequence->seen.n_prompt = input->n_id;
    }
    ATTN_TRY(attn_sequence_finish(reading->asked, input, reading->model, reading->tokenizer,
                                  sequence, err));
    ATTN_TRY(set_regions(reading, err));
    ATTN_TRY(set_positions(reading, err));
    ATTN_TRY(set_blocks(reading, err));
    return name_cells(sequence, err);
}

enum attn_status attn_picture_prompt_read(const struct attn_picture_reading *of,
                                          const struct attn_pixel_maker *maker,
                                          struct attn_error *err)
{
    struct reading reading = {.asked = of->asked,
                              .chat = of->chat,
                              .written = of->written,
                              .model = maker->model,
                              .tokenizer = of->tokenizer,
                              .family = maker->model->config.vision.family,
                              .notes = of->notes,
                              .input = of->input,
                              .sequence = of->sequence};
    enum attn_status status;

    of->sequence->reader = of->sequence->seen.reader = &attn_prompt_reader;
    status = read_all(maker, &reading, err);
    attn_buffer_release(&reading.text);
    attn_free(reading.replacements);
    return status;
}

size_t attn_picture_prompt_next(const struct attn_sequence *sequence, size_t at)
{
    while (at < sequence->n && sequence->seen.region[at] != ATTN_REGION_PICTURE)
        at++;
    return at;
}

void attn_picture_prompt_mean(const struct attn_sequence *sequence, const float *rows, size_t d,
                              float *mean)
{
    for (size_t k = 0; k < d; k++) {
        double sum = 0;
        size_t n = 0;

        for (size_t at = attn_picture_prompt_next(sequence, 0); at < sequence->n;
             at = attn_picture_prompt_next(sequence, at + 1), n++)
            sum += (double)rows[at * d + k];
        mean[k] = (float)(sum / (double)n);
    }
}

size_t attn_picture_prompt_cell(const struct attn_sequence *sequence, size_t cell)
{
    size_t at = attn_picture_prompt_next(sequence, 0);

    for (; cell > 0; cell--)
        at = attn_picture_prompt_next(sequence, at + 1);
    return at;
}

size_t attn_prompt_image_tile_cell(const struct attn_prompt_image *image, size_t row, size_t column)
{
    const size_t n = image->rows * image->columns;
    size_t tile;

    if (image->joined.side > 0)
        return image->first_cell + n + row * image->grid_cols + column;
    tile = row / image->rows * image->tile_cols + column / image->columns;
    return image->first_cell + tile * n + row % image->rows * image->columns +
           column % image->columns;
}

const struct attn_prompt_image *attn_picture_prompt_image(const struct attn_picture_prompt *seen,
                                                          size_t picture)
{
    size_t i = seen->n_image - 1;

    while (seen->images[i].first_picture > picture)
        i--;
    return &seen->images[i];
}

void attn_picture_prompt_writing(const struct attn_sequence *sequence, size_t range[2])
{
    const size_t n = sequence->n, n_prompt = sequence->seen.n_prompt;

    range[0] = n_prompt - 1;
    range[1] = n > n_prompt ? n - 2 : n - 1;
}

bool attn_picture_prompt_is_scored(const struct attn_sequence *sequence, size_t i)
{
    const struct attn_picture_prompt *seen = &sequence->seen;
    const bool sees_later = seen->open && i >= seen->open->first && i < seen->open->end;

    if (!seen->region || i >= seen->n_prompt)
        return true;
    /* the blocks after the first are of cells */
    return sequence->n == seen->n_prompt && !attn_sequence_is_seen(sequence, i) && !sees_later;
}

void attn_prompt_write_image(const struct attn_picture_prompt *seen, size_t i,
                             struct attn_json_writer *json)
{
    const struct attn_prompt_image *image = &seen->images[i];
    const struct attn_pixels *pixels = image->pixels;
    const struct {
        const char *name;
        size_t size;
    } sizes[] = {{"width", pixels->given_width},
                 {"height", pixels->given_height},
                 {"tile_rows", pixels->tile_rows},
                 {"tile_cols", pixels->tile_cols},
                 {"rows", image->rows},
                 {"columns", image->columns}};

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        attn_json_size(attn_json_key(json, sizes[k].name), sizes[k].size);
    if (image->joined.side > 0) {
        attn_json_begin(attn_json_key(json, "tile_grid"), '[');
        attn_json_size(json, image->grid_rows);
        attn_json_size(json, image->grid_cols);
        attn_json_end(json);
    }
}

void attn_prompt_release(struct attn_sequence *sequence)
{
    struct attn_picture_prompt *seen = &sequence->seen;

    for (size_t i = 0; seen->images && i < seen->n_image; i++)
        attn_pixels_release(&seen->images[i].made);
    attn_pixels_release(sequence->made);
}
