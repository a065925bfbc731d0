#include "inspect/token_table.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "means/rows.h"

#include <string.h>

/* Columns of tokens. The last ones are left out if all their cells would be empty. */
enum { ADDED = 5, TYPE, TEXT, MESSAGE, N_COLUMN };

static const struct attn_column token_columns[N_COLUMN] = {
    ATTN_COLUMN("position", INTEGER),
    ATTN_COLUMN("id", INTEGER),
    ATTN_COLUMN("begin", INTEGER, .unit = "bytes", .help = "first byte of the token, from 0"),
    ATTN_COLUMN("end", INTEGER, .unit = "bytes", .help = "byte after the last one of the token"),
    ATTN_COLUMN("token", TEXT),
    [ADDED] = ATTN_COLUMN("added", TEXT, .help = "added, if the tokenizer added the token"),
    [TYPE] = ATTN_COLUMN("type", INTEGER, .help = "type of the token, from 0"),
    [TEXT] = ATTN_COLUMN("text", TEXT, .help = "which text has the token: text or pair"),
    /* instead of `added` */
    [MESSAGE] = ATTN_COLUMN("message", TEXT, .help = "message that has the token: 0_system"),
};

/* Returns the name of the message of CHAT that has one of bytes BEGIN to END - 1; "": none has. */
static struct attn_message_name message_of(const struct attn_chat_text *chat, size_t begin,
                                           size_t end)
{
    for (size_t i = 0; i < chat->n; i++)
        if (end > chat->messages[i].begin && begin < chat->messages[i].end)
            return attn_message_name(chat->messages, i);
    return (struct attn_message_name){""};
}

static enum attn_status append_tokens(struct attn_table *table,
                                      const struct attn_tokenizer *tokenizer,
                                      const struct attn_encoding *encoding,
                                      const struct attn_chat_text *chat, struct attn_error *err)
{
    static const char *const texts[] = {
        [ATTN_TEXT_NONE] = NULL, [ATTN_TEXT_FIRST] = "text", [ATTN_TEXT_SECOND] = "pair"};

    for (size_t i = 0; i < encoding->n; i++) {
        const char *text = texts[encoding->texts[i]];
        size_t size = 0;
        const char *token = attn_tokenizer_token(tokenizer, encoding->ids[i], &size);
        const struct attn_message_name message =
            chat ? message_of(chat, encoding->begin[i], encoding->end[i])
                 : (struct attn_message_name){""};
        const char *added = text ? NULL : "added", *sixth = *message.text ? message.text : NULL;
        const struct attn_cell row[MESSAGE] = {
            attn_cell_integer((int64_t)i),
            attn_cell_integer(encoding->ids[i]),
            attn_cell_integer((int64_t)encoding->begin[i]),
            attn_cell_integer((int64_t)encoding->end[i]),
            attn_cell_text(token, size),
            [ADDED] = chat ? attn_cell_text(sixth, sixth ? strlen(sixth) : 0)
                           : attn_cell_text(added, strlen("added")),
            [TYPE] = attn_cell_integer(encoding->types[i]),
            [TEXT] = attn_cell_text(text, strlen("text"))};

        ATTN_TRY(attn_table_append(table, row, attn_table_n_column(table), err));
    }
    return ATTN_OK;
}

bool attn_encoding_has_types(const struct attn_encoding *encoding)
{
    for (size_t i = 0; i < encoding->n; i++)
        if (encoding->types[i] != 0 || encoding->texts[i] == ATTN_TEXT_SECOND)
            return true;
    return false;
}

enum attn_status attn_token_table(const struct attn_tokenizer *tokenizer,
                                  const struct attn_encoding *encoding,
                                  const struct attn_chat_text *chat, struct attn_table **table,
                                  struct attn_error *err)
{
    const bool has_added = chat || (encoding && encoding->n_front + encoding->n_back > 0);
    const size_t n_column = !encoding                           ? N_COLUMN
                            : attn_encoding_has_types(encoding) ? MESSAGE
                            : has_added                         ? TYPE
                                                                : ADDED;
    struct attn_column shown[N_COLUMN];
    struct attn_table *made = NULL;

    memcpy(shown, token_columns, sizeof shown);
    if (chat)
        shown[ADDED] = token_columns[MESSAGE];
    ATTN_TRY(attn_table_create("tokenize", shown, n_column, &made, err));
    ATTN_RETURN_MADE(encoding ? append_tokens(made, tokenizer, encoding, chat, err) : ATTN_OK,
                     table, made, attn_table_free);
}

enum attn_status attn_pair_table(struct attn_table **table, struct attn_error *err)
{
    static const struct attn_column columns[] = {
        {.name = "input_ids", .type = ATTN_VALUE_LIST},
        {.name = "target_id", .type = ATTN_VALUE_INTEGER},
        {.name = "input", .type = ATTN_VALUE_TEXT},
        {.name = "target", .type = ATTN_VALUE_TEXT},
    };

    return attn_table_create("pairs", columns, sizeof columns / sizeof *columns, table, err);
}

/* The texts of one row while it is appended. */
struct pair {
    int64_t *list; /* owns; [n] */
    char *input;   /* owns */
};

static enum attn_status append_pair(struct pair *pair, struct attn_table *table,
                                    const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                    size_t n, struct attn_error *err)
{
    size_t input_size = 0, target_size = 0;
    const char *target = attn_tokenizer_token(tokenizer, ids[n], &target_size);

    ATTN_TRY(ATTN_ALLOC(pair->list, n, err));
    ATTN_TRY(attn_tokenizer_decode(tokenizer, ids, n, &pair->input, &input_size, err));
    if (!target)
        return attn_error_set(err, ATTN_INVALID, "id %d is not in the vocabulary", (int)ids[n]);
    for (size_t i = 0; i < n; i++)
        pair->list[i] = ids[i];
    return attn_table_append(table,
                             (const struct attn_cell[]){attn_cell_list(pair->list, n),
                                                        attn_cell_integer(ids[n]),
                                                        attn_cell_text(pair->input, input_size),
                                                        attn_cell_text(target, target_size)},
                             4, err);
}

enum attn_status attn_pair_table_append(struct attn_table *table,
                                        const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                        size_t n, struct attn_error *err)
{
    struct pair pair = {.list = NULL};
    const enum attn_status status = append_pair(&pair, table, tokenizer, ids, n, err);

    attn_free(pair.input);
    attn_free(pair.list);
    return status;
}
