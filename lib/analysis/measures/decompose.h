/*
 * decompose.h - decompositions of small dense matrices in double precision. Matrices are row-major.
 * The order of all operations is fixed, so the bits depend on the numbers alone.
 *
 *     attn_qr(a, m, n, tau);                       // A = Q R, in place
 *     attn_qr_triangle(a, m, n, r);                // R [n, n]
 *     attn_qr_apply(a, m, n, tau, x);              // x = Q x
 *     attn_svd(k, n, s, u, v);                     // K = U diag(s) V^T
 *     attn_eigenvalues(k, n, real, imaginary);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns the sum of the products of A [n] and B [n], in the order of the components. */
double attn_dot(const double *a, const double *b, size_t n);

/* Decomposes A [m, n] by Householder reflections (Golub and Van Loan, 5.2.1). Below the diagonal A
 * receives the vectors of the reflections, whose first component is 1, and the first N numbers of
 * TAU [2 n] their factors; the others are scratch. */
void attn_qr(double *a, size_t m, size_t n, double *tau);

/* Writes R [n, n] of a matrix that attn_qr decomposed; the rows from M on are 0. */
void attn_qr_triangle(const double *a, size_t m, size_t n, double *r);

/* Multiplies X [m] by the Q [m, m] of a matrix that attn_qr decomposed: x = Q x. */
void attn_qr_apply(const double *a, size_t m, size_t n, const double *tau, double *x);

/* Computes the singular values S [n] of K [n, n], the largest first, by one-sided Jacobi rotations
 * (Hestenes 1958; Golub and Van Loan, 8.6.3). K is overwritten. Row i of U [n, n] is the left
 * vector of value i, row i of V [n, n] the right one; both may be NULL. The vectors of a value that
 * is 0 are 0 in U. */
void attn_svd(double *k, size_t n, double *s, double *u, double *v);

/* Computes the eigenvalues of K [n, n], which is overwritten, by a Hessenberg form and shifted QR
 * steps (Francis 1961; Golub and Van Loan, 7.5). False: a value was not found in 60 steps, which no
 * finite matrix is known to need. */
bool attn_eigenvalues(double *k, size_t n, double *real, double *imaginary);
