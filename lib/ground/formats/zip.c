/* zip.c - see zip.h. At the end of a zip file, a record has the offset of its directory; the
 * directory has the offsets of the members (APPNOTE.TXT 6.3, sections 4.3 and 4.5). */
#include "formats/zip.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/number.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    END_SIZE = 22,     /* bytes of the record at the end of the file, without its comment */
    LOCATOR_SIZE = 20, /* bytes of the locator before that record, in zip64 */
    END64_SIZE = 56,   /* bytes of the zip64 record that the locator points to */
    ENTRY_SIZE = 46,   /* bytes of a member's entry in the directory, without its name */
    LOCAL_SIZE = 30,   /* bytes of a member's header before its data, without its name */
    MAX_MEMBERS = 1 << 20
};

static const uint32_t end_mark = 0x06054b50, locator_mark = 0x07064b50, end64_mark = 0x06064b50,
                      entry_mark = 0x02014b50, local_mark = 0x04034b50;

static enum attn_status refuse(const struct attn_zip *zip, const char *what, struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT, "'%s' is no %s: %s",
                          attn_quote_string(zip->file->path).text, zip->kind, what);
}

struct directory {
    uint64_t n, size, begin;
};

/* Finds the offset of the record at the end of the file, which only its comment follows. Returns
 * whether there is one. */
static bool find_end(const struct attn_file *file, size_t *at)
{
    const size_t max = END_SIZE + UINT16_MAX;
    const size_t first = file->size > max ? file->size - max : 0;

    if (file->size < END_SIZE)
        return false;
    for (*at = file->size - END_SIZE;; (*at)--) {
        const unsigned char *record = file->data + *at;

        if (attn_little_endian(record, 4) == end_mark &&
            attn_little_endian(record + 20, 2) == file->size - *at - END_SIZE)
            return true;
        if (*at == first)
            return false;
    }
}

static enum attn_status find_directory(const struct attn_zip *zip, struct directory *directory,
                                       struct attn_error *err)
{
    const struct attn_file *file = zip->file;
    const unsigned char *record, *locator;
    uint64_t at = UINT64_MAX;
    size_t end;

    if (!find_end(file, &end))
        return refuse(zip, "the record at its end is missing", err);
    record = file->data + end;
    *directory =
        (struct directory){attn_little_endian(record + 10, 2), attn_little_endian(record + 12, 4),
                           attn_little_endian(record + 16, 4)};
    if (directory->n == UINT16_MAX || directory->size == UINT32_MAX ||
        directory->begin == UINT32_MAX) { /* zip64: the locator before the record points to one with
                                             64-bit fields */
        locator = record - LOCATOR_SIZE;
        if (end >= LOCATOR_SIZE && attn_little_endian(locator, 4) == locator_mark)
            at = attn_little_endian(locator + 8, 8);
        if (file->size < END64_SIZE || at > file->size - END64_SIZE ||
            attn_little_endian(file->data + at, 4) != end64_mark)
            return refuse(zip, "its zip64 record is missing", err);
        record = file->data + at;
        *directory = (struct directory){attn_little_endian(record + 32, 8),
                                        attn_little_endian(record + 40, 8),
                                        attn_little_endian(record + 48, 8)};
    }
    if (directory->begin > file->size || directory->size > file->size - directory->begin ||
        directory->n > MAX_MEMBERS || directory->n > directory->size / ENTRY_SIZE)
        return refuse(zip, "its directory does not fit the file", err);
    return ATTN_OK;
}

/* What the directory says about a member. */
struct entry {
    uint64_t size, stored, begin;
    const unsigned char *extra;
    size_t n_extra;
};

/* If the 4-byte *field is full, reads the 8 bytes at *at that replace it. False: they are missing.
 */
static bool read_zip64_size(const unsigned char **at, const unsigned char *end, uint64_t *field)
{
    if (*field != UINT32_MAX)
        return true;
    if (end - *at < 8)
        return false;
    *field = attn_little_endian(*at, 8);
    *at += 8;
    return true;
}

/* Reads the sizes of a member that exceed 4 GiB, which are in extra field number 1. */
static bool read_extra(struct entry *entry)
{
    const unsigned char *at = entry->extra, *end = at + entry->n_extra;

    while (end - at >= 4) {
        const size_t size = (size_t)attn_little_endian(at + 2, 2);
        const unsigned char *field = at + 4;

        if (size > (size_t)(end - field))
            return false;
        if (attn_little_endian(at, 2) == 1)
            return read_zip64_size(&field, at + 4 + size, &entry->size) &&
                   read_zip64_size(&field, at + 4 + size, &entry->stored) &&
                   read_zip64_size(&field, at + 4 + size, &entry->begin);
        at = field + size;
    }
    return entry->size != UINT32_MAX && entry->stored != UINT32_MAX && entry->begin != UINT32_MAX;
}

static enum attn_status find_data(const struct attn_zip *zip, const struct entry *entry,
                                  struct attn_zip_member *member, struct attn_error *err)
{
    const struct attn_file *file = zip->file;
    const unsigned char *local;
    uint64_t begin;

    if (file->size < LOCAL_SIZE || entry->begin > file->size - LOCAL_SIZE ||
        attn_little_endian(file->data + entry->begin, 4) != local_mark)
        return refuse(zip, "a member is not where its directory says", err);
    local = file->data + entry->begin;
    begin = entry->begin + LOCAL_SIZE + attn_little_endian(local + 26, 2) +
            attn_little_endian(local + 28, 2);
    if (begin > file->size || entry->stored > file->size - begin)
        return refuse(zip, "a member does not fit the file", err);
    member->header = (size_t)entry->begin;
    member->begin = (size_t)begin;
    member->size = (size_t)entry->size;
    member->n_stored = (size_t)entry->stored;
    return ATTN_OK;
}

/* Reads the entry of the directory at AT as a further member. *n becomes its size in bytes. */
static enum attn_status read_entry(struct attn_zip *zip, const unsigned char *at,
                                   const unsigned char *end, size_t *n, struct attn_error *err)
{
    struct attn_zip_member *member = &zip->members[zip->n];
    struct entry entry;
    size_t n_name;

    if (end - at < ENTRY_SIZE || attn_little_endian(at, 4) != entry_mark)
        return refuse(zip, "its directory is malformed", err);
    n_name = (size_t)attn_little_endian(at + 28, 2);
    entry = (struct entry){attn_little_endian(at + 24, 4), attn_little_endian(at + 20, 4),
                           attn_little_endian(at + 42, 4), at + ENTRY_SIZE + n_name,
                           (size_t)attn_little_endian(at + 30, 2)};
    *n = ENTRY_SIZE + n_name + entry.n_extra + (size_t)attn_little_endian(at + 32, 2);
    if (*n > (size_t)(end - at) || !read_extra(&entry))
        return refuse(zip, "its directory is malformed", err);
    member->is_deflated = zip->takes_deflated && attn_little_endian(at + 10, 2) == 8;
    if ((attn_little_endian(at + 10, 2) != 0 && !member->is_deflated) ||
        (attn_little_endian(at + 8, 2) & 1) != 0 ||
        (entry.size != entry.stored && !member->is_deflated)) {
        return attn_error_set(
            err, ATTN_UNSUPPORTED,
            "'%s' in '%s' is compressed or encrypted, expected members that are stored",
            attn_quote((const char *)at + ENTRY_SIZE, n_name).text,
            attn_quote_string(zip->file->path).text);
    }
    member->name = (const char *)at + ENTRY_SIZE;
    member->n_name = n_name;
    zip->n++;
    return find_data(zip, &entry, member, err);
}

static int compare_names(const void *a, const void *b)
{
    const struct attn_zip_member *x = a, *y = b;

    return attn_compare_texts(x->name, x->n_name, y->name, y->n_name);
}

static int compare_places(const void *a, const void *b)
{
    const struct attn_zip_member *x = a, *y = b;

    return (x->header > y->header) - (x->header < y->header);
}

/* Refuses two members of one name, as readers differ in which of them counts, and members that
 * share bytes, which would be unpacked again for each. Sorts the members by their place. */
static enum attn_status check_members(const struct attn_zip *zip, struct attn_error *err)
{
    struct attn_zip_member *at = zip->members;

    ATTN_SORT(at, zip->n, compare_names);
    for (size_t i = 1; i < zip->n; i++)
        if (compare_names(&at[i - 1], &at[i]) == 0)
            return attn_error_set(err, ATTN_FORMAT, "'%s' has two members '%s'",
                                  attn_quote_string(zip->file->path).text,
                                  attn_quote(at[i].name, at[i].n_name).text);
    ATTN_SORT(at, zip->n, compare_places);
    for (size_t i = 1; i < zip->n; i++)
        if (at[i].header < at[i - 1].begin + at[i - 1].n_stored)
            return refuse(zip, "two members share bytes", err);
    return ATTN_OK;
}

enum attn_status attn_zip_read(const struct attn_file *file, const char *kind, struct attn_zip *zip,
                               struct attn_error *err)
{
    struct directory directory = {0};
    const unsigned char *at, *end;

    zip->file = file;
    zip->kind = kind;
    ATTN_TRY(find_directory(zip, &directory, err));
    ATTN_TRY(ATTN_ALLOC(zip->members, (size_t)directory.n, err));
    at = file->data + directory.begin;
    end = at + directory.size;
    for (uint64_t i = 0; i < directory.n; i++) {
        size_t n = 0;

        ATTN_TRY(read_entry(zip, at, end, &n, err));
        at += n;
    }
    return check_members(zip, err);
}

void attn_zip_release(struct attn_zip *zip)
{
    attn_free(zip->members);
    *zip = (struct attn_zip){0};
}
