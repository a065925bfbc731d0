/*
 * lanes.h - one register of floats, for the instruction set that this file is compiled for.
 *
 * This is the only file of the vector code that depends on the instruction set. Everything is
 * static, so that no function built for AVX-512 can be linked into code that runs without it. The
 * operators + - * / on these types are IEEE operations on each lane.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined __x86_64__
#include <immintrin.h>
#elif defined __ARM_NEON
#include <arm_neon.h>
#endif

#define ATTN_PASTE_(a, b) a##_##b
#define ATTN_PASTE(a, b) ATTN_PASTE_(a, b)

/* The global name of a function for this instruction set: ATTN_FOR_ISA(attn_softmax) is
 * attn_softmax_avx2. */
#define ATTN_FOR_ISA(name) ATTN_PASTE(name, ATTN_ISA)

#if defined __AVX512F__
enum { LANES = 16 };
#elif defined __AVX2__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));      /* bits, or a mask of 0 and -1 */
typedef uint16_t halves __attribute__((vector_size(2 * LANES))); /* 16-bit floats, F16 or BF16 */
typedef uint8_t vb __attribute__((vector_size(4 * LANES)));      /* bytes */
typedef float quad __attribute__((vector_size(16)));             /* four floats, for any LANES */

static inline vi v_splat_int(int32_t x)
{
    return (vi){0} + x;
}

static inline vf v_load(const float *p)
{
    vf x;

    memcpy(&x, p, sizeof x);
    return x;
}

static inline void v_store(float *p, vf x)
{
    memcpy(p, &x, sizeof x);
}

static inline vi v_first(size_t n)
{
    static const int32_t index[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    vi lane;

    memcpy(&lane, index, sizeof lane);
    return lane < v_splat_int((int32_t)n);
}

#if defined __x86_64__

/* The name of an intrinsic for this register size: V_OP(max_ps) is _mm512_max_ps, _mm256_max_ps or
 * _mm_max_ps. */
#if defined __AVX512F__
#define V_OP(name) _mm512_##name
typedef __m512 v_register;
typedef __m512i v_integers;
#elif defined __AVX2__
#define V_OP(name) _mm256_##name
typedef __m256 v_register;
typedef __m256i v_integers;
#else
#define V_OP(name) _mm_##name
typedef __m128 v_register;
typedef __m128i v_integers;
#endif

static inline vf v_splat(float x)
{
    return (vf)V_OP(set1_ps)(x);
}

/* Stores X at P and bypasses the caches. P must be a multiple of the register's size. */
static inline void v_stream(float *p, vf x)
{
    V_OP(stream_ps)(p, (v_register)x);
}

static inline vf v_max(vf a, vf b)
{
    return (vf)V_OP(max_ps)((v_register)a, (v_register)b);
}

static inline vf v_min(vf a, vf b)
{
    return (vf)V_OP(min_ps)((v_register)a, (v_register)b);
}

#else

static inline vf v_splat(float x)
{
    return (vf){x, x, x, x};
}

/* A plain store: gcc offers no store that bypasses the caches here. */
static inline void v_stream(float *p, vf x)
{
    v_store(p, x);
}

/* Comparisons, because the instructions fmax and fmin treat NaN and zeros of different signs
 * differently. */
static inline vf v_max(vf a, vf b)
{
    const vi mask = a > b;

    return (vf)(((vi)a & mask) | ((vi)b & ~mask));
}

static inline vf v_min(vf a, vf b)
{
    const vi mask = a < b;

    return (vf)(((vi)a & mask) | ((vi)b & ~mask));
}

#endif

#if defined __AVX2__

static inline vf v_fma(vf a, vf b, vf c)
{
    return (vf)V_OP(fmadd_ps)((v_register)a, (v_register)b, (v_register)c);
}

#elif defined __ARM_NEON

static inline vf v_fma(vf a, vf b, vf c)
{
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}

#elif defined __wasm_relaxed_simd__

/* Rounds once if attn_vector_is_fused returned true; tables compiled with it are used only then. */
static inline vf v_fma(vf a, vf b, vf c)
{
    return (vf)__builtin_wasm_relaxed_madd_f32x4(a, b, c);
}

#else

typedef double doubles __attribute__((vector_size(8 * LANES)));
typedef int64_t doubles_mask __attribute__((vector_size(8 * LANES)));
typedef uint64_t doubles_bits __attribute__((vector_size(8 * LANES)));

/* Emulates fma in doubles, where a product of floats is exact. The sum is rounded to odd: if it is
 * not exact, its last bit is set to 1. Rounding it again, to a float, then gives the same result as
 * a single rounding. See Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE
 * Transactions on Computers 57 (2008). The error of the sum is Knuth's; if a value is infinite, the
 * error is NaN, and the sum is not changed. */
static inline vf v_fma(vf a, vf b, vf c)
{
    const doubles product =
        __builtin_convertvector(a, doubles) * __builtin_convertvector(b, doubles);
    const doubles addend = __builtin_convertvector(c, doubles), sum = product + addend;
    const doubles of_addend = sum - product;
    const doubles error = (product - (sum - of_addend)) + (addend - of_addend);
    const doubles_mask is_cut = (error < 0) | (error > 0);
    const doubles_bits bits = (doubles_bits)sum, is_even = (bits & 1) ^ 1;
    /* In magnitude, so that the bits must go down. */
    const doubles_bits is_below = ((doubles_bits)error ^ bits) >> 63;
    const doubles odd =
        (doubles)(bits + ((is_even - 2 * (is_even & is_below)) & (doubles_bits)is_cut));

    return __builtin_convertvector(odd, vf);
}

#endif

/* Returns a b + c. a b must be exact, so that there is one rounding with or without fma. */
static inline vf v_exact_fma(vf a, vf b, vf c)
{
#if defined __AVX2__ || defined __ARM_NEON || defined __wasm_relaxed_simd__
    return v_fma(a, b, c);
#else
    return a * b + c;
#endif
}

static inline vf v_load_first(const float *p, size_t n)
{
#if defined __AVX512F__
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1U << n) - 1), p);
#elif defined __AVX2__
    return (vf)_mm256_maskload_ps(p, (__m256i)v_first(n));
#else
    vf x = {0};

    for (size_t l = 0; l < n; l++)
        x[l] = p[l];
    return x;
#endif
}

static inline void v_store_first(float *p, vf x, size_t n)
{
#if defined __AVX512F__
    _mm512_mask_storeu_ps(p, (__mmask16)((1U << n) - 1), (__m512)x);
#elif defined __AVX2__
    _mm256_maskstore_ps(p, (__m256i)v_first(n), (__m256)x);
#else
    for (size_t l = 0; l < n; l++)
        p[l] = x[l];
#endif
}

/* v_max(a, b) is a > b ? a : b, and v_min(a, b) is a < b ? a : b; if either is NaN, the result is
 * b. v_first(n) is the mask of the first N lanes. v_load_first reads exactly N <= LANES floats, and
 * sets the other lanes to +0; v_store_first writes N floats. */

/* Loads the next register of a row that has LEFT floats left, at least one. */
static inline vf v_load_some(const float *p, size_t left)
{
    return left >= LANES ? v_load(p) : v_load_first(p, left);
}

static inline void v_store_some(float *p, vf x, size_t left)
{
    if (left >= LANES)
        v_store(p, x);
    else
        v_store_first(p, x, left);
}

static inline vf v_select(vi mask, vf yes, vf no)
{
    return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}

static inline vf v_abs(vf x)
{
    return (vf)((vi)x & v_splat_int(0x7fffffff));
}

static inline vf v_copy_sign(vf magnitude, vf sign)
{
    return (vf)((vi)magnitude | ((vi)sign & v_splat_int(INT32_MIN)));
}

/* Combines the elements of two registers in the order of the given indices; those of B follow those
 * of A. INDEX is the type of the indices, for gcc before 12, which lacks __builtin_shufflevector.
 */
#if defined __clang__ || __GNUC__ >= 12
#define V_SHUFFLE(index, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define V_SHUFFLE(index, a, b, ...) __builtin_shuffle(a, b, (index){__VA_ARGS__})
#endif

/* Loads 16 bytes at offset AT of every fourth column: 0, 4, 8 and 12, or as many as a register
 * holds. */
static inline vi v_load_columns(const unsigned char *const *columns, size_t at)
{
#if defined __AVX512F__
    __m512i x = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(columns[0] + at)));

    x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(columns[4] + at)), 1);
    x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(columns[8] + at)), 2);
    return (vi)_mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(columns[12] + at)), 3);
#elif defined __AVX2__
    const __m256i low = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(columns[0] + at)));

    return (vi)_mm256_inserti128_si256(low, _mm_loadu_si128((const __m128i *)(columns[4] + at)), 1);
#else
    vi x;

    memcpy(&x, *columns + at, sizeof x);
    return x;
#endif
}

/* Transposes 16 bytes at offset AT of LANES columns: words [j] has word j of each column. */
static inline void v_turn_columns(const unsigned char *const *columns, size_t at, vi words[4])
{
    const vi a = v_load_columns(columns, at), b = v_load_columns(columns + 1, at);
    const vi c = v_load_columns(columns + 2, at), d = v_load_columns(columns + 3, at);
#if defined __x86_64__
    const v_integers low_ab = V_OP(unpacklo_epi32)((v_integers)a, (v_integers)b);
    const v_integers low_cd = V_OP(unpacklo_epi32)((v_integers)c, (v_integers)d);
    const v_integers high_ab = V_OP(unpackhi_epi32)((v_integers)a, (v_integers)b);
    const v_integers high_cd = V_OP(unpackhi_epi32)((v_integers)c, (v_integers)d);

    words[0] = (vi)V_OP(unpacklo_epi64)(low_ab, low_cd);
    words[1] = (vi)V_OP(unpackhi_epi64)(low_ab, low_cd);
    words[2] = (vi)V_OP(unpacklo_epi64)(high_ab, high_cd);
    words[3] = (vi)V_OP(unpackhi_epi64)(high_ab, high_cd);
#else
    const vi low_ab = V_SHUFFLE(vi, a, b, 0, 4, 1, 5), low_cd = V_SHUFFLE(vi, c, d, 0, 4, 1, 5);
    const vi high_ab = V_SHUFFLE(vi, a, b, 2, 6, 3, 7), high_cd = V_SHUFFLE(vi, c, d, 2, 6, 3, 7);

    words[0] = V_SHUFFLE(vi, low_ab, low_cd, 0, 1, 4, 5);
    words[1] = V_SHUFFLE(vi, low_ab, low_cd, 2, 3, 6, 7);
    words[2] = V_SHUFFLE(vi, high_ab, high_cd, 0, 1, 4, 5);
    words[3] = V_SHUFFLE(vi, high_ab, high_cd, 2, 3, 6, 7);
#endif
}

/* Converts IEEE halves to floats. The bits of a half, shifted up, are a float except for the
 * exponent's bias. For infinities and NaN all exponent bits are set. A subnormal is its fraction
 * times 2^-24, computed without denormal floats. */
static inline vf v_of_halves(vi h)
{
    vi magnitude = h & 0x7fff;
    vi bits = (magnitude << 13) + ((127 - 15) << 23);
    vf subnormal = __builtin_convertvector(magnitude, vf) * 0x1p-24f;

    bits |= (magnitude >= 0x7c00) & 0x7f800000;
    return v_copy_sign(v_select(magnitude < 0x0400, subnormal, (vf)bits), (vf)(h << 16));
}

/* Loads and stores LANES numbers as F16, which must be exact. V_HALVES: a conversion takes one
 * instruction. */
#if defined __F16C__
enum { V_HALVES = 1 };
static inline vf v_load_halves(const void *p)
{
    return (vf)V_OP(cvtph_ps)(
#if defined __AVX512F__
        _mm256_loadu_si256(p)
#else
        _mm_loadu_si128(p)
#endif
    );
}

static inline void v_store_halves(void *p, vf x)
{
#if defined __AVX512F__
    _mm256_storeu_si256(p, _mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT));
#else
    _mm_storeu_si128(p, _mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT));
#endif
}
#else
enum { V_HALVES = 0 };
static inline vf v_load_halves(const void *p)
{
    halves h;

    memcpy(&h, p, sizeof h);
    return v_of_halves(__builtin_convertvector(h, vi));
}

static inline void v_store_halves(void *p, vf x)
{
    (void)p, (void)x; /* no tile has halves */
}
#endif

/* Loads LANES signed bytes. */
static inline vi v_load_signed(const void *p)
{
#if defined __AVX2__
    __m128i x = {0};

    memcpy(&x, p, LANES);
    return (vi)V_OP(cvtepi8_epi32)(x);
#else
    int8_t x __attribute__((vector_size(LANES)));

    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, vi);
#endif
}

/* Stores WORDS, four signed bytes each, so that v_load_code reads byte I of each word quickly: with
 * AVX2 and AVX-512, the bytes of the same number side by side. */
static inline void v_store_codes(float *p, vi words)
{
#if defined __AVX2__
    const __m128i turn = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
#endif
#if defined __AVX512F__
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i fours = _mm512_shuffle_epi8((__m512i)words, _mm512_broadcast_i32x4(turn));

    _mm512_storeu_si512(p, _mm512_permutexvar_epi32(order, fours));
#elif defined __AVX2__
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i fours = _mm256_shuffle_epi8((__m256i)words, _mm256_broadcastsi128_si256(turn));

    _mm256_storeu_si256((__m256i *)p, _mm256_permutevar8x32_epi32(fours, order));
#else
    v_store(p, (vf)words);
#endif
}

static inline vi v_load_code(const float *p, size_t i)
{
#if defined __AVX2__
    return v_load_signed((const char *)p + i * LANES);
#else
    return (vi)v_load(p) << (24 - 8 * i) >> 24;
#endif
}

/* y [l] = table [the lowest four bits of word l, or five]. V_LOOKS_UP: it takes one instruction. */
#if defined __AVX512F__
enum { V_LOOKS_UP = 1 };
static inline vf v_look_up(const float *table, vi words, bool has_five)
{
    const __m512i i = (__m512i)words;
    const __m512 first = _mm512_loadu_ps(table);

    return (vf)(has_five ? _mm512_permutex2var_ps(first, i, _mm512_loadu_ps(table + 16))
                         : _mm512_permutexvar_ps(i, first));
}
#else
enum { V_LOOKS_UP = 0 };
static inline vf v_look_up(const float *table, vi words, bool has_five)
{
    (void)words, (void)has_five;
    return v_load(table); /* no tile looks codes up */
}
#endif

/* y [i] = table [index [i]] for i < 16. The indices are 0 to 15. */
static inline void bytes_look_up(const int8_t table[16], const int8_t index[16], int8_t y[16])
{
#if defined __AVX2__
    const __m128i all = _mm_loadu_si128((const __m128i *)table);

    _mm_storeu_si128((__m128i *)y, _mm_shuffle_epi8(all, _mm_loadu_si128((const __m128i *)index)));
#elif defined __ARM_NEON
    vst1q_s8(y, vqtbl1q_s8(vld1q_s8(table), vld1q_u8((const uint8_t *)index)));
#else
    for (int i = 0; i < 16; i++)
        y[i] = table[index[i]];
#endif
}

/* v_max for four floats. */
static inline quad q_max(quad a, quad b)
{
#if defined __x86_64__
    return (quad)_mm_max_ps((__m128)a, (__m128)b);
#else
    return v_max(a, b);
#endif
}

/* Waits until the stores of v_stream are visible to other threads. */
static inline void v_drain(void)
{
#if defined __x86_64__
    _mm_sfence();
#endif
}

/* Returns the mask of the lanes that are NaN or infinite. */
static inline vi v_not_finite(vf x)
{
    const vi exponent = v_splat_int(0x7f800000);

    return ((vi)x & exponent) == exponent;
}

static inline bool v_any(vi mask)
{
    int32_t any = 0;

    for (int l = 0; l < LANES; l++)
        any |= mask[l];
    return any != 0;
}

/* Sets the lanes of X beyond the LEFT floats that remain to +0. */
static inline vf v_keep_some(vf x, size_t left)
{
    return left >= LANES ? x : (vf)((vi)x & v_first(left));
}

/* The sum of a row: 16 partial sums, chosen by the index mod 16, whatever LANES is. They are added
 * in a fixed tree: t[l] += t[l + 8], then l + 4, l + 2, l + 1. */
enum { N_PARTIAL = 16, N_PART = N_PARTIAL / LANES };

struct sums {
    vf part[N_PART];
};

static inline float sums_total(const struct sums *sums)
{
    quad t[N_PARTIAL / 4];

    memcpy(t, sums->part, sizeof t);
    t[0] = (t[0] + t[2]) + (t[1] + t[3]);
    return (t[0][0] + t[0][2]) + (t[0][1] + t[0][3]);
}
