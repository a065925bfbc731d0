/*
 * elementary.h - elementary functions whose results are bit-identical on all platforms.
 *
 * C libraries differ in the last bit of exp, log and the others, and one library differs between
 * processors with and without fused multiply-add. These functions only use + - * / and sqrt of IEEE
 * 754, so results depend on the arguments alone. `make lint` rejects the functions of libm.
 *
 * Functions of doubles are off by at most 0.57 ulp, attn_log by 0.65, denormal results by 0.76:
 * tests/unit/test_base_elementary.c compares them with mpmath. Signs of zero, infinities and NaN
 * are as in C's Annex F. kernels/elementary.h has vector versions.
 */
#pragma once

double attn_exp(double x);
double attn_expm1(double x); /* e^x - 1 */
double attn_log(double x);
double attn_log1p(double x); /* ln(1 + x) */
double attn_log10(double x); /* exact for 10^0 .. 10^22 */
double attn_tanh(double x);
/* for x >= 0, otherwise NaN; exact if the result is a double */
double attn_pow(double x, double y);

/* For |x| <= 2^31; NaN for larger arguments. */
double attn_sin(double x);
double attn_cos(double x);

/* Float functions, bit-identical to those of glibc 2.28 and newer, with which PyTorch draws normal
 * numbers: weights drawn from a seed must not change. log is for normal x > 0, the others for 0 <=
 * x < 8. */
float attn_float_log(float x);
float attn_float_sin(float x);
float attn_float_cos(float x);
