/*
 * stored_zip.c - see stored_zip.h. The last 22 bytes of an archive say where its directory begins.
 * An entry of the directory says where the header of its member begins, and data follows that
 * (PKWARE APPNOTE 4.3). Numbers are little-endian.
 */
#include "tests/support/stored_zip.h"

#include "tests/support/assert.h"

#include <stdint.h>
#include <string.h>

enum { END_SIZE = 22, ENTRY_SIZE = 46, HEADER_SIZE = 30, MAX_NAME = 256 };

static size_t number_at(const unsigned char *bytes, int n_byte)
{
    size_t value = 0;

    for (int i = n_byte; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* Reads the record that begins with SIGNATURE at OFFSET, from the start or, if negative, the
 * end. */
static void read_record(FILE *archive, const char *path, long offset, size_t signature,
                        unsigned char *record, size_t size)
{
    ck_assert_msg(fseek(archive, offset, offset < 0 ? SEEK_END : SEEK_SET) == 0 &&
                      fread(record, 1, size, archive) == size && number_at(record, 4) == signature,
                  "'%s' is no archive, or is damaged at %ld", path, offset);
}

/* Moves ARCHIVE from ENTRY to the data that it describes. */
static void seek_data(FILE *archive, const char *path, const unsigned char *entry)
{
    unsigned char header[HEADER_SIZE];
    const long offset = (long)number_at(entry + 42, 4);

    ck_assert_msg(number_at(entry + 10, 2) == 0, "'%s' has a compressed member", path);
    read_record(archive, path, offset, 0x04034b50, header, sizeof header);
    fseek(archive, (long)(number_at(header + 26, 2) + number_at(header + 28, 2)), SEEK_CUR);
}

bool attn_stored_zip_find(FILE *archive, const char *path, const char *name, size_t *size)
{
    unsigned char end[END_SIZE], entry[ENTRY_SIZE];
    char entry_name[MAX_NAME];
    size_t n_entry, n_name, n_more;
    long offset;

    read_record(archive, path, -END_SIZE, 0x06054b50, end, sizeof end);
    n_entry = number_at(end + 10, 2);
    offset = (long)number_at(end + 16, 4);
    for (size_t i = 0; i < n_entry; i++) {
        read_record(archive, path, offset, 0x02014b50, entry, sizeof entry);
        n_name = number_at(entry + 28, 2);
        n_more = number_at(entry + 30, 2) + number_at(entry + 32, 2);
        ck_assert_msg(n_name < sizeof entry_name && fread(entry_name, 1, n_name, archive) == n_name,
                      "'%s' has a malformed directory", path);
        entry_name[n_name] = '\0';
        if (strcmp(entry_name, name) == 0) {
            *size = number_at(entry + 24, 4);
            seek_data(archive, path, entry);
            return true;
        }
        offset += (long)(sizeof entry + n_name + n_more);
    }
    return false;
}
