/* SHA-256: the published vectors of FIPS 180-4 and of NIST's CAVP, by both functions that add
 * blocks. */
#include "tests/support/suite.h"
#include "towers/sha256.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { HEX_SIZE = 2 * ATTN_SHA256_SIZE + 1, N_MILLION = 1000000 };

struct vector {
    const char *text, *hex;
};

static const struct vector vectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
     "qrs"
     "mnopqrstnopqrstu",
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
};

/* The function that attn_sha256_init chooses here, or the portable one. */
static struct attn_sha256 begin(bool is_portable)
{
    struct attn_sha256 hash;

    attn_sha256_init(&hash);
    if (is_portable)
        hash.add_blocks = attn_sha256_add_portable;
    return hash;
}

static void check_digest(const struct attn_sha256 *hash, const char *expected)
{
    uint8_t digest[ATTN_SHA256_SIZE];
    char hex[HEX_SIZE];

    attn_sha256_digest(hash, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    ck_assert_str_eq(hex, expected);
}

START_TEST(published_vectors_have_their_digests)
{
    for (size_t i = 0; i < 2 * (sizeof vectors / sizeof *vectors); i++) {
        const struct vector *vector = &vectors[i / 2];
        struct attn_sha256 hash = begin(i % 2);

        attn_sha256_update(&hash, vector->text, strlen(vector->text));
        check_digest(&hash, vector->hex);
        check_digest(&hash, vector->hex); /* reading it changes nothing */
    }
}
END_TEST

START_TEST(a_million_letters_have_their_digest_in_pieces_of_any_size)
{
    static const size_t sizes[] = {1, 55, 63, 64, 65, 127, 4096, N_MILLION};
    static char letters[N_MILLION];

    memset(letters, 'a', sizeof letters);
    for (size_t i = 0; i < 2 * (sizeof sizes / sizeof *sizes); i++) {
        struct attn_sha256 hash = begin(i % 2);

        for (size_t n, at = 0; at < N_MILLION; at += n) {
            n = sizes[i / 2] < N_MILLION - at ? sizes[i / 2] : N_MILLION - at;
            attn_sha256_update(&hash, letters + at, n);
        }
        check_digest(&hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
}
END_TEST

/* Padding takes one block or two; a text that is cut anywhere gives the digest of the whole. */
START_TEST(both_functions_agree_on_every_length_and_cut)
{
    uint8_t bytes[200], whole[ATTN_SHA256_SIZE], cut[ATTN_SHA256_SIZE];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(7 * i + 3);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        struct attn_sha256 hash = begin(true);

        attn_sha256_update(&hash, bytes, size);
        attn_sha256_digest(&hash, whole);
        for (size_t at = 0; at <= size; at++) {
            hash = begin(false);
            attn_sha256_update(&hash, bytes, at);
            attn_sha256_update(&hash, bytes + at, size - at);
            attn_sha256_digest(&hash, cut);
            ck_assert_mem_eq(whole, cut, sizeof whole);
        }
    }
}
END_TEST

ATTN_SUITE("sha256", published_vectors_have_their_digests,
           a_million_letters_have_their_digest_in_pieces_of_any_size,
           both_functions_agree_on_every_length_and_cut)
