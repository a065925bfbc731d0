#include "page/page_internal.h"

#include "base/memory.h"
#include "base/pieces.h"
#include "base/status_internal.h"
#include "formats/quoting.h"
#include "pictures/grid.h"
#include "pictures/png_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ZLIB_CONST /* declares input pointers as const */
#include <zlib.h>

enum {
    PIECE_SIZE = 1 << 16,   /* bytes that are deflated together as one piece */
    LONG_SIZE = 1 << 18,    /* the same for a module, in which matches are many: saves 3 % */
    WAITING_SIZE = 1 << 20, /* bytes that are collected before threads deflate them */
    WINDOW_SIZE = 1 << 15,  /* bytes in which deflate finds matches */
    BEST_LEVEL = 9,         /* level of deflate for a module; saves a third */
    /* For numbers: only runs are found, of which masked cells are the longest. On 1,000 tokens
     * that is quicker than level 1 and saves 23 %, because matches of noise cost more than they
     * save. */
    LEVEL = 1
};

struct piece {
    size_t begin, end;   /* bytes of `waiting` that belong to the piece */
    size_t text, n_text; /* bytes of `texts` that stand before it */
    bool is_last;        /* last piece of its block */
};

struct attn_page_data {
    struct attn_pieces *threads; /* owns */
    struct attn_sink *sink;
    struct attn_buffer waiting, texts;
    struct piece *pieces; /* [n_piece] owns; the last piece grows while a block is open */
    size_t n_piece, capacity;
    int level;       /* level of deflate */
    bool is_open;    /* a block is open */
    bool has_failed; /* an allocation failed */
};

enum attn_status attn_page_data_create(struct attn_pool *pool, struct attn_sink *sink,
                                       struct attn_page_data **data, struct attn_error *err)
{
    struct attn_page_data *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->sink = sink;
    made->level = LEVEL;
    ATTN_RETURN_MADE(attn_pieces_create(pool, &made->threads, err), data, made, attn_free);
}

void attn_page_data_free(struct attn_page_data *data)
{
    if (!data)
        return;
    attn_pieces_free(data->threads);
    attn_buffer_release(&data->waiting);
    attn_buffer_release(&data->texts);
    attn_free(data->pieces);
    attn_free(data);
}

/* --- Embedding ------------------------------------------------------------------------------- */

void attn_page_embed(struct attn_buffer *out, struct attn_buffer *json)
{
    size_t begin = 0;

    for (size_t i = 0; i < json->size; i++) {
        const char *at = json->data + i;
        const bool is_mark = *at == '<' || *at == '>' || *at == '&';
        const bool is_line = json->size - i > 2 && (memcmp(at, "\xe2\x80\xa8", 3) == 0 ||
                                                    memcmp(at, "\xe2\x80\xa9", 3) == 0);

        if (!is_mark && !is_line)
            continue;
        attn_buffer_append(out, json->data + begin, i - begin);
        attn_buffer_append_format(out, "\\u%04x", is_mark ? *at : 0x2028 + (at[2] & 1));
        begin = i + (is_mark ? 1 : 3);
    }
    attn_buffer_append(out, json->data + begin, json->size - begin);
    out->has_failed |= json->has_failed;
    json->size = 0;
}

/* --- Taking ---------------------------------------------------------------------------------- */

/* Begins a piece after the bytes of `texts` from TEXT on. */
static void begin_piece(struct attn_page_data *data, size_t text)
{
    data->has_failed |= data->texts.has_failed ||
                        ATTN_GROW(data->pieces, data->capacity, data->n_piece + 1, NULL) != ATTN_OK;
    if (!data->has_failed)
        data->pieces[data->n_piece++] = (struct piece){.begin = data->waiting.size,
                                                       .end = data->waiting.size,
                                                       .text = text,
                                                       .n_text = data->texts.size - text};
}

void attn_page_data_begin(struct attn_page_data *data, struct attn_buffer *before)
{
    const size_t text = data->texts.size;

    attn_page_embed(&data->texts, before);
    begin_piece(data, text);
    data->is_open = true;
}

unsigned char *attn_page_data_reserve(struct attn_page_data *data, size_t n)
{
    struct piece *piece;
    char *room;

    if (!data->has_failed) {
        piece = &data->pieces[data->n_piece - 1];
        if (piece->end - piece->begin >= (data->level == BEST_LEVEL ? LONG_SIZE : PIECE_SIZE))
            begin_piece(data, data->texts.size);
    }
    room = data->has_failed ? NULL : attn_buffer_reserve(&data->waiting, n);
    if (!room) {
        data->has_failed = true;
        return NULL;
    }
    data->waiting.size += n;
    data->pieces[data->n_piece - 1].end += n;
    return (unsigned char *)room;
}

void attn_page_data_end(struct attn_page_data *data)
{
    if (!data->has_failed)
        data->pieces[data->n_piece - 1].is_last = true;
    data->is_open = false;
}

/* --- Deflating ------------------------------------------------------------------------------- */

/* Appends BYTES [n] deflated, in which the N_BEFORE bytes of the same block before them may be
 * found again. IS_LAST: ends the stream; otherwise another piece may follow. */
static void append_deflated(struct attn_buffer *out, const char *bytes, size_t n, size_t n_before,
                            int level, bool is_last)
{
    static const char empty_block[5] = {0, 0, 0, (char)0xff, (char)0xff};
    z_stream stream = {.zalloc = attn_deflate_allocate, .zfree = attn_deflate_release};
    size_t room;
    char *to;

    if (deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL - 1,
                     level == BEST_LEVEL ? Z_DEFAULT_STRATEGY : Z_RLE) != Z_OK) {
        out->has_failed = true;
        return;
    }
    if (level == BEST_LEVEL && n_before > 0) {
        n_before = n_before < WINDOW_SIZE ? n_before : WINDOW_SIZE;
        deflateSetDictionary(&stream, (const Bytef *)bytes - n_before, (uInt)n_before);
    }
    room = deflateBound(&stream, (uLong)n) + 16; /* 16 more bytes for the flush */
    to = attn_buffer_reserve(out, room);
    if (to) {
        stream.next_in = (const Bytef *)bytes;
        stream.avail_in = (uInt)n;
        stream.next_out = (Bytef *)to;
        stream.avail_out = (uInt)room;
        deflate(&stream, is_last ? Z_FINISH : Z_FULL_FLUSH);
        out->size += room - stream.avail_out;
    }
    deflateEnd(&stream);
    while (!is_last && out->size % 3 != 0 && !out->has_failed)
        attn_buffer_append(out, empty_block, sizeof empty_block);
}

/* Appends piece I as base64, after its text (attn_piece_fn). */
static void append_piece(const void *context, size_t i, struct attn_buffer *text)
{
    const struct attn_page_data *data = context;
    const struct piece *piece = &data->pieces[i];
    struct attn_buffer deflated = {0};

    attn_buffer_append(text, data->texts.data + piece->text, piece->n_text);
    append_deflated(&deflated, data->waiting.data + piece->begin, piece->end - piece->begin,
                    piece->begin, data->level, piece->is_last);
    attn_base64_append(text, deflated.data, deflated.size);
    text->has_failed |= deflated.has_failed;
    attn_buffer_release(&deflated);
}

/* Writes all pieces that are waiting. An open block continues with a new piece. */
static enum attn_status write_waiting(struct attn_page_data *data, struct attn_error *err)
{
    if (data->has_failed)
        return attn_error_no_memory(err);
    ATTN_TRY(attn_pieces_write(data->threads, data->n_piece, append_piece, data, data->sink, err));
    data->waiting.size = data->texts.size = data->n_piece = 0;
    if (data->is_open)
        begin_piece(data, data->texts.size);
    return ATTN_OK;
}

enum attn_status attn_page_data_flush(struct attn_page_data *data, struct attn_error *err)
{
    return data->has_failed || data->waiting.size >= WAITING_SIZE ? write_waiting(data, err)
                                                                  : ATTN_OK;
}

enum attn_status attn_page_data_finish(struct attn_page_data *data, struct attn_error *err)
{
    return data->n_piece > 0 || data->has_failed ? write_waiting(data, err) : ATTN_OK;
}

enum attn_status attn_page_data_add(struct attn_page_data *data, const char *id, const void *bytes,
                                    size_t n, struct attn_error *err)
{
    const unsigned char *from = bytes;
    enum attn_status status = attn_page_data_finish(data, err);
    struct attn_buffer nothing = {0};

    attn_page_write_text(data->sink, "<script type=\"text/plain\" id=\"");
    attn_page_write_text(data->sink, id);
    attn_page_write_text(data->sink, "\">");
    data->level = BEST_LEVEL;
    attn_page_data_begin(data, &nothing);
    for (size_t at = 0, size; status == ATTN_OK && at < n; at += size) {
        unsigned char *room;

        size = n - at < PIECE_SIZE ? n - at : PIECE_SIZE;
        room = attn_page_data_reserve(data, size);
        if (room)
            memcpy(room, from + at, size);
        status = attn_page_data_flush(data, err);
    }
    attn_page_data_end(data);
    ATTN_THEN(status, attn_page_data_finish(data, err));
    attn_page_write_text(data->sink, "</script>\n");
    data->level = LEVEL;
    return status;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

struct attn_json_writer *attn_page_push_key(struct attn_json_writer *json, const char *name)
{
    attn_json_line(json);
    json->colon = ": ";
    attn_json_key(json, name);
    json->colon = ":";
    return json;
}

void attn_page_push_number(struct attn_json_writer *json, int n_digit, double value)
{
    if (isfinite(value))
        attn_buffer_append_format(attn_json_value(json), "%.*g", n_digit, value);
    else
        attn_json_null(json);
}

void attn_page_push_bar(struct attn_json_writer *json, const struct attn_head_type *type)
{
    struct attn_head_part parts[ATTN_HEAD_PARTS];
    const size_t n = type ? attn_head_bar(type->shares, type->park, parts) : 0;

    if (!attn_json_begin_list(json, type))
        return;
    for (size_t i = 0; i < n; i++) {
        attn_json_size(json, (size_t)(parts[i].kind - attn_head_kind_at(0)));
        attn_page_push_number(json, 2, parts[i].end);
    }
    attn_json_end(json);
}

void attn_page_push_kinds(struct attn_json_writer *json, bool is_whole)
{
    attn_json_begin(json, '[');
    for (size_t i = 0; i < ATTN_N_HEAD_KIND; i++) {
        const struct attn_head_kind *kind = attn_head_kind_at(i);
        char hue[8];

        snprintf(hue, sizeof hue, "#%06x", (unsigned)kind->hue);
        attn_json_begin(json, '{');
        attn_json_text(attn_json_key(json, "name"), kind->name);
        if (is_whole) {
            attn_json_string(attn_json_key(json, "letter"), &kind->letter, 1);
            attn_json_text(attn_json_key(json, "brief"), kind->brief);
            attn_json_text(attn_json_key(json, "words"), kind->words);
            attn_json_text(attn_json_key(json, "hue"), hue);
        }
        attn_json_end(json);
    }
    attn_json_end(json);
}

void attn_page_push_ticks(struct attn_json_writer *json, const struct attn_color_scale *scale,
                          struct attn_color_range range, double unit)
{
    double ticks[ATTN_MOST_TICKS];
    const size_t n = attn_grid_ticks(scale, range, ticks);

    attn_json_begin(json, '[');
    for (size_t i = 0; i < n; i++) {
        const bool is_last = unit == 100 && i + 1 == n;
        char number[ATTN_TICK_TEXT_SIZE];
        struct attn_buffer text = {0};

        attn_color_tick_text(fabs(unit * ticks[i]), number);
        attn_buffer_append_format(&text, "%s%s%s", ticks[i] < 0 ? "\xe2\x88\x92" : "", number,
                                  is_last ? " %" : "");
        attn_json_begin(json, '[');
        attn_page_push_number(json, 4, attn_color_place(scale, range, ticks[i]));
        attn_page_push_number(json, 6, ticks[i]);
        attn_json_buffer(json, &text);
        attn_json_end(json);
    }
    attn_json_end(json);
}

void attn_page_push_scale(struct attn_json_writer *json)
{
    struct attn_color_scale scale = {.curve = ATTN_CURVE_SQRT, .span = ATTN_SPAN_UNIT};

    attn_json_begin(attn_page_push_key(json, "scale"), '{');
    attn_page_push_ticks(attn_json_key(json, "ticks"), &scale, (struct attn_color_range){0, 1}, 1);
    scale.is_signed = true;
    attn_page_push_ticks(attn_json_key(json, "signed"), &scale, (struct attn_color_range){-1, 1},
                         1);
    attn_json_end(json);
}
