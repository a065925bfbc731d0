/* malformed.c - see malformed.h. */
#include "tests/support/malformed.h"

#include "tests/support/image.h"

static const struct attn_header text[] = {
    {TEXT(""), 0, "ends at byte 8, expected a value"},
    {TEXT("    "), 0, "ends at byte 12, expected a value"},
    {TEXT("[]"), 0, "has '[' at byte 8, expected an object"},
    {TEXT("\"{}\""), 0, "has '{}' at byte 8, expected an object"},
    {TEXT("null"), 0, "has 'null' at byte 8, expected an object"},
    {TEXT("{\"a\xff\":null}"), 0, "has '\\xff' at byte 11, expected valid UTF-8"},
    {TEXT("{\"\xc0\xaf\":null}"), 0, "valid UTF-8"},
    {TEXT("{\"\xed\xa0\xbd\":null}"), 0, "valid UTF-8"},
    {TEXT("{\"\\ud83d\":null}"), 0, "surrogate"},
    {TEXT("\xef\xbb\xbf{}"), 0, "a byte order mark at byte 8"},
    {TEXT("{\"a\nb\":null}"), 0, "no control character"},
    {TEXT("{\"\\a\":null}"), 0, "after a backslash"},
    {TEXT("{\"a"), 0, "at the end of a string"},
    {TEXT("{} {}"), 0, "the end of the text"},
    {TEXT("{}x"), 0, "the end of the text"},
    {TEXT("{}\0\0"), 0, "the end of the text"},
    {TEXT("{}\f"), 0, "the end of the text"},
    {TEXT("{'w':null}"), 0, "a key in quotes"},
    {TEXT("{/* w */}"), 0, "a key in quotes"},
    {TEXT("{" TENSOR("w", "[]", "[0,4]") ",}"), 4, "a key in quotes"},
    {TEXT("{\"w\":NaN}"), 0, "has 'NaN' at byte 13, expected a value"},
};

static const struct attn_header members[] = {
    {TEXT("{\"w\":null}"), 0, "has 'null' at byte 13, expected an object with dtype"},
    {TEXT("{\"w\":[]}"), 0, "an object with dtype"},
    {TEXT("{\"w\":\"F32\"}"), 0, "an object with dtype"},
    {TEXT("{\"w\":{}}"), 0, "'w' in 'm.safetensors' has no dtype"},
    {W("\"shape\":[2]" AT("[0,8]")), 8, "has no dtype"},
    {W("\"dtype\":\"F32\"" AT("[0,8]")), 8, "has no shape"},
    {W("\"dtype\":\"F32\",\"shape\":[2]"), 8, "has no data_offsets"},
    {W("\"Dtype\":\"F32\",\"shape\":[2]" AT("[0,8]")), 8, "has no dtype"},
    {W(F32 "\"SHAPE\":[2]" AT("[0,8]")), 8, "has no shape"},
    {W(F32 PAIR "\"data_offsets\":[0,8]"), 8, "the key 'dtype' a second time"},
    {W(PAIR "\"shape\":[2]" AT("[0,8]")), 8, "the key 'shape' a second time"},
    {W(PAIR "\"x\":1,\"x\":1" AT("[0,8]")), 8, "the key 'x' a second time"},
    {W("\"dtype\":\"f32\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype 'f32', expected a type"},
    {W("\"dtype\":\"F33\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype 'F33', expected"},
    {W("\"dtype\":\"Q4_0\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype 'Q4_0', expected"},
    {W("\"dtype\":\"F32\\u0000\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype 'F32\\\\u0000'"},
    {W("\"dtype\":\"\",\"shape\":[2]" AT("[0,8]")), 8, "has dtype '', expected"},
    {W("\"dtype\":32,\"shape\":[2]" AT("[0,8]")), 8, "has '32' at byte"},
    {W("\"dtype\":null,\"shape\":[2]" AT("[0,8]")), 8, "expected the name of a type"},
    {W(F32 "\"shape\":null" AT("[0,8]")), 8, "expected an array of integers"},
    {W(F32 "\"shape\":{}" AT("[0,8]")), 8, "expected an array of integers"},
    {W(F32 "\"shape\":\"2\"" AT("[0,8]")), 8, "expected an array of integers"},
    {W(F32 "\"shape\":[-2]" AT("[0,8]")), 8, "has '-2' at byte 37, expected an integer from 0"},
    {W(F32 "\"shape\":[2.0]" AT("[0,8]")), 8, "has '2.0' at byte"},
    {W(F32 "\"shape\":[2e0]" AT("[0,8]")), 8, "expected an integer"},
    {W(F32 "\"shape\":[2.5]" AT("[0,8]")), 8, "expected an integer"},
    {W(F32 "\"shape\":[true]" AT("[0,8]")), 8, "expected an integer"},
    {W(F32 "\"shape\":[null]" AT("[0,8]")), 8, "expected an integer"},
    {W(F32 "\"shape\":[\"2\"]" AT("[0,8]")), 8, "expected an integer"},
    {W(F32 "\"shape\":[[2]]" AT("[0,8]")), 8, "expected an integer"},
    {W(F32 "\"shape\":[18446744073709551616]" AT("[0,8]")), 8, "expected an integer"},
    {W(F32 "\"shape\":[1e400]" AT("[0,8]")), 8, "expected an integer"},
    {W(F32 "\"shape\":[00002]" AT("[0,8]")), 8, "has '0002' at byte"},
    {W(F32 "\"shape\":[+2]" AT("[0,8]")), 8, "has '+' at byte"},
    {W(F32 "\"shape\":[0x2]" AT("[0,8]")), 8, "has 'x2' at byte"},
    {W(PAIR "\"data_offsets\":null"), 8, "expected an array of integers"},
    {W(PAIR "\"data_offsets\":{}"), 8, "expected an array of integers"},
    {W(PAIR "\"data_offsets\":8"), 8, "expected an array of integers"},
    {W(PAIR "\"data_offsets\":[]"), 8, "has 0 data_offsets"},
    {W(PAIR "\"data_offsets\":[0]"), 8, "has 1 data_offsets"},
    {W(PAIR "\"data_offsets\":[0,8,8]"), 8, "has 3 data_offsets"},
    {W(PAIR "\"data_offsets\":[\"0\",\"8\"]"), 8, "expected an integer"},
    {W(PAIR "\"data_offsets\":[-8,0]"), 8, "expected an integer"},
    {W(PAIR "\"data_offsets\":[0.0,8.0]"), 8, "expected an integer"},
    {W(PAIR "\"data_offsets\":[0,8e0]"), 8, "expected an integer"},
    {W(PAIR "\"data_offsets\":[0,18446744073709551616]"), 8, "expected an integer"},
    {TEXT("{\"w\\u0000\":{" PAIR "\"data_offsets\":[0,8]}}"), 8, "a tensor's name without NUL"},
    {TEXT("{" TENSOR("w", "[1]", "[0,4]") "," TENSOR("w", "[1]", "[0,4]") "}"), 4,
     "the key 'w' a second time at byte 62"},
    {TEXT("{" TENSOR("w", "[1]", "[0,4]") "," TENSOR("\\u0077", "[1]", "[4,8]") "}"), 8,
     "a second time"},
};

static const struct attn_header metadata[] = {
    {TEXT("{\"__metadata__\":{\"a\":1}}"), 0, "has '1' at byte 29, expected an object of strings"},
    {TEXT("{\"__metadata__\":{\"a\":null}}"), 0, "expected an object of strings"},
    {TEXT("{\"__metadata__\":{\"a\":{}}}"), 0, "expected an object of strings"},
    {TEXT("{\"__metadata__\":[]}"), 0, "expected an object of strings"},
    {TEXT("{\"__metadata__\":\"a\"}"), 0, "expected an object of strings"},
    {TEXT("{" TENSOR("__metadata__", "[]", "[0,4]") "}"), 4, "expected an object of strings"},
    {TEXT("{\"__metadata__\":{},\"__metadata__\":{}}"), 0, "a second time"},
};

#define A(offsets) TENSOR("a", "[1]", offsets)
#define B(offsets) TENSOR("b", "[1]", offsets)
static const struct attn_header layout[] = {
    {W(PAIR "\"data_offsets\":[8,0]"), 8, "[8, 0], expected a begin and an end within 8 bytes"},
    {W(PAIR "\"data_offsets\":[0,8]"), 0, "[0, 8], expected a begin and an end within 0 bytes"},
    {W(PAIR "\"data_offsets\":[0,8]"), 7, "within 7 bytes of data"},
    {W(PAIR "\"data_offsets\":[18446744073709551608,0]"), 8, "a begin and an end"},
    {W(PAIR "\"data_offsets\":[4294967296,4294967304]"), 8, "a begin and an end"},
    {W(PAIR "\"data_offsets\":[4,12]"), 12, "begins at byte 4 of the data, expected 0"},
    {W(PAIR "\"data_offsets\":[0,8]"), 9, "has 9 bytes of data, expected 8"},
    {W(PAIR "\"data_offsets\":[0,8]"), 30, "has 30 bytes of data, expected 8"}, /* a ZIP's end */
    {TEXT("{}"), 1, "has 1 bytes of data, expected 0"},
    {TEXT("{\"__metadata__\":{}}"), 8, "has 8 bytes of data, expected 0"},
    {TEXT("{" A("[0,4]") "," B("[8,12]") "}"), 12,
     "'b' in 'm.safetensors' begins at byte 8 of the data, expected 4"},
    {TEXT("{" B("[0,4]") "," A("[2,6]") "}"), 6,
     "'a' in 'm.safetensors' begins at byte 2 of the data, expected 4"},
    {TEXT("{" A("[0,4]") "," B("[0,4]") "}"), 4, "begins at byte 0 of the data, expected 4"},
    {TEXT("{" TENSOR("a", "[3]", "[0,12]") "," B("[4,8]") "}"), 12, "begins at byte 4"},
    {TEXT("{" A("[0,4]") "," TENSOR("e", "[0]", "[2,2]") "}"), 4, "begins at byte 2"},
    {TEXT("{" A("[0,4]") "," TENSOR("e", "[0]", "[5,5]") "}"), 4, "within 4 bytes"},
};
#undef A
#undef B

static const struct attn_header sizes[] = {
    {W(F32 "\"shape\":[3]" AT("[0,8]")), 8,
     "'w' in 'm.safetensors' has shape [3] of F32, which is 12 bytes, expected 8 as between "
     "its "
     "data_offsets [0, 8]"},
    {W("\"dtype\":\"F16\",\"shape\":[2]" AT("[0,8]")), 8, "which is 4 bytes, expected 8"},
    {W(F32 "\"shape\":[]" AT("[0,16]")), 16, "shape [] of F32, which is 4 bytes, expected 16"},
    {W(F32 "\"shape\":[0,7]" AT("[0,8]")), 8, "shape [0, 7] of F32, which is 0 bytes"},
    {W("\"dtype\":\"F4\",\"shape\":[3]" AT("[0,1]")), 1, "shape [3] of F4, expected a whole"},
    {W("\"dtype\":\"F6_E2M3\",\"shape\":[3]" AT("[0,2]")), 2, "of F6_E2M3, expected a whole"},
    {W(F32 "\"shape\":[4294967296,4294967296]" AT("[0,0]")), 0, "below 2^61"},
    {W(F32 "\"shape\":[4611686018427387905]" AT("[0,4]")), 4, "below 2^61"},
    {W(F32 "\"shape\":[4611686018427387904]" AT("[0,0]")), 0, "below 2^61"},
    {W("\"dtype\":\"U8\",\"shape\":[2305843009213693953]" AT("[0,1]")), 1, "below 2^61"},
    {W(F32 "\"shape\":[18446744073709551615,18446744073709551615,0]" AT("[0,0]")), 0, "below 2^61"},
    {W("\"dtype\":\"U8\",\"shape\":[9007199254740993]" AT("[0,9007199254740992]")), 8,
     "within 8 bytes"},
    {W(F32 "\"shape\":[4294967298]" AT("[0,8]")), 8, "which is 17179869192 bytes, expected 8"},
    {W(F32 "\"shape\":[9223372036854775808,2]" AT("[0,0]")), 0, "below 2^61"},
};

static const struct attn_header strange[] = {
    {TEXT("{}"), 0, NULL},
    {TEXT("\r\n\t {} \t\r\n"), 0, NULL},
    {TEXT("{\"__metadata__\":null}"), 0, NULL},
    {TEXT("{\"__metadata__\":{}}"), 0, NULL},
    {TEXT("{\"__metadata__\":{\"format\":\"pt\",\"\":\"\\u0000\"}}"), 0, NULL},
    {W(F32 "\"shape\":[1,1,1,1,1,1,1,1,2]" AT("[0,8]")), 8, NULL},
    {W(F32 "\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]" AT("[0,8]")), 8, NULL},
    {W(F32 "\"shape\":[0]" AT("[0,0]")), 0, NULL},
    {W(F32 "\"shape\":[0,18446744073709551615,18446744073709551615]" AT("[0,0]")), 0, NULL},
    {W("\"dtype\":\"F4\",\"shape\":[2]" AT("[0,1]")), 1, NULL},
    {W("\"dtype\":\"F6_E3M2\",\"shape\":[4]" AT("[0,3]")), 3, NULL},
    {W("\"dtype\":\"C64\",\"shape\":[1]" AT("[0,8]")), 8, NULL},
    {W(PAIR "\"Dtype\":1,\"data_offsets\":[0,8]"), 8, NULL},
    {TEXT("{" TENSOR("", "[]", "[0,4]") "}"), 4, NULL},
    {TEXT("{" TENSOR("\\u001b[2J", "[]", "[0,4]") "}"), 4, NULL},
    {TEXT("{" TENSOR("../../etc/passwd", "[]", "[0,4]") "}"), 4, NULL},
    {TEXT("{" TENSOR("odd", "[1]",
                     "[3,7]") ",\"u\":{\"dtype\":\"U8\",\"shape\":[3]" AT("[0,3]") "}}"),
     7, NULL},
    {TEXT("{" TENSOR("a", "[1]", "[0,4]") "," TENSOR("e", "[0]", "[0,0]") "," TENSOR(
         "f", "[0]", "[4,4]") "," TENSOR("g", "[2,0]", "[4,4]") "}"),
     4, NULL},
};

#define GROUP(rows)                                                                                \
    {                                                                                              \
#rows, rows, sizeof(rows) / sizeof *(rows)                                                 \
    }

const struct attn_header_group attn_malformed_groups[] = {
    GROUP(text), GROUP(members), GROUP(metadata), GROUP(layout), GROUP(sizes)};

const size_t attn_n_malformed_group = sizeof attn_malformed_groups / sizeof *attn_malformed_groups;

const struct attn_header_group attn_strange = GROUP(strange);
