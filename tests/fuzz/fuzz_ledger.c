/*
 * fuzz_ledger.c - any bytes as a journal or a manifest of results, or the same signed, so that the
 * members behind the digest are read.
 *
 * A text is read, is of another run, or is refused as a whole without a message. What was read and
 * is written again is read as the same: counts, digests of files and the state.
 */
#include "base/memory.h"
#include "stream/ledger_internal.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

enum { N_FILE = 2 };

static struct attn_ledger ledger_of(const struct attn_each_options *options,
                                    struct attn_ledger_extent extents[N_FILE])
{
    return (struct attn_ledger){
        .options = options,
        .unit = "record",
        .has_tokens = true,
        .identity = {"[]", "{}", "{\"bytes\":1}"},
        .extents = extents,
        .n_file = N_FILE,
    };
}

/* Appends the SHA-256 of TEXT, as a line of the journal or a manifest ends. */
static void sign(struct attn_buffer *text, enum attn_ledger_form form)
{
    char hex[ATTN_DIGEST_HEX_SIZE];

    attn_digest_bytes(text->data, text->size, hex);
    attn_buffer_append_format(text,
                              form == ATTN_LEDGER_MANIFEST ? ",\n\"manifest_sha256\": \"%s\"\n}\n"
                                                           : ",\"manifest_sha256\":\"%s\"}\n",
                              hex);
}

static void check_same(const struct attn_ledger *a, const struct attn_ledger *b)
{
    FUZZ_CHECK(a->state.size == b->state.size);
    FUZZ_CHECK(a->state.size == 0 || memcmp(a->state.data, b->state.data, a->state.size) == 0);
    FUZZ_CHECK(strcmp(a->done.input, b->done.input) == 0);
    FUZZ_CHECK(a->done.n_record == b->done.n_record && a->done.end == b->done.end &&
               a->done.begin == b->done.begin && a->done.crc == b->done.crc &&
               a->done.n_token == b->done.n_token && a->done.n_restart == b->done.n_restart &&
               a->done.n_line_before == b->done.n_line_before);
    FUZZ_CHECK(memcmp(a->done.failures, b->done.failures, sizeof a->done.failures) == 0);
}

/* Writes LEDGER as a line, and reads that. Without records it has no files. */
static void check_again(const struct attn_ledger *ledger, enum attn_ledger_form form)
{
    struct attn_ledger again = ledger_of(ledger->options, NULL);
    struct attn_buffer text = {0};
    const char *other;

    again.n_file = 0;
    attn_ledger_text_append(ledger, form, NULL, &text);
    FUZZ_CHECK(attn_ledger_text_read(&again, form, text.data, text.size, &other, NULL) == ATTN_OK);
    FUZZ_CHECK(!other);
    check_same(ledger, &again);
    attn_buffer_release(&again.state);
    attn_buffer_release(&text);
}

/* Reads TEXT. */
static void read_text(const struct attn_buffer *text, enum attn_ledger_form form)
{
    const struct attn_each_options options = ATTN_EACH_OPTIONS_DEFAULT;
    struct attn_ledger_extent extents[N_FILE] = {{.size = 0}};
    struct attn_ledger ledger = ledger_of(&options, extents);
    struct attn_error err = {0};
    const char *other;
    const enum attn_status status =
        attn_ledger_text_read(&ledger, form, text->data, text->size, &other, &err);

    FUZZ_CHECK((status == ATTN_OK || status == ATTN_FORMAT) && !*err.message);
    FUZZ_CHECK(strlen(ledger.done.input) < ATTN_DIGEST_HEX_SIZE);
    if (status == ATTN_OK && !other && form != ATTN_LEDGER_MANIFEST)
        check_again(&ledger, form);
    attn_buffer_release(&ledger.state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned bits = attn_fuzz_byte(&data, &size);
    const enum attn_ledger_form form = (enum attn_ledger_form)((bits & 3) % 3);
    struct attn_buffer text = {0};

    attn_buffer_append(&text, (const char *)data, size);
    if (bits & 4)
        sign(&text, form);
    FUZZ_CHECK(attn_buffer_string(&text));
    read_text(&text, form);
    attn_buffer_release(&text);
    return 0;
}
