/*
 * one_layer.c - multi-head causal attention in plain C, without the library: x to pattern and z.
 *
 *     cc one_layer.c -o one_layer -lm && ./one_layer
 *
 * x and head 0 are those of the built-in model life-is-short, whose z has two more columns:
 * `attn-cli run -m life-is-short "Life is short, eat dessert first"` prints the same numbers.
 */
#include <math.h>
#include <stdio.h>

enum { T = 6, D = 3, H = 2, E = 2 }; /* tokens, width of x, heads, width of q, k and v */
static const char *const words[T] = {"Life", "is", "short", "eat", "dessert", "first"};

/* Training would find these; here they are drawn. Each head has three matrices of its own. */
static const double x[T][D] = {{0.3374, -0.1778, -0.3035}, {0.1794, 1.8951, 0.4954},
                               {0.2692, -0.0770, -1.0205}, {-0.2196, -0.3792, 0.7671},
                               {-0.5880, 0.3486, 0.6603},  {-1.1925, 0.6984, -1.4097}};
static const double W_Q[H][D][E] = {{{0.2961, 0.5166}, {0.2517, 0.6886}, {0.0740, 0.8665}},
                                    {{0.2745, 0.6584}, {0.2775, 0.8573}, {0.8993, 0.0390}}};
static const double W_K[H][D][E] = {{{0.1366, 0.1025}, {0.1841, 0.7264}, {0.3153, 0.6871}},
                                    {{0.9268, 0.7388}, {0.7179, 0.7058}, {0.9156, 0.4340}}};
static const double W_V[H][D][E] = {{{0.0756, 0.1966}, {0.1186, 0.8274}, {0.8536, 0.5932}},
                                    {{0.0772, 0.3565}, {0.4066, 0.2318}, {0.4606, 0.5159}}};

/* out = x W: [T, D] times [D, E] is [T, E]. */
static void project(const double W[D][E], double out[T][E])
{
    for (int t = 0; t < T; t++)
        for (int e = 0; e < E; e++)
            for (int d = 0; d < D; d++)
                out[t][e] += x[t][d] * W[d][e];
}

/* pattern [T, T] = softmax(mask(q k^T / sqrt(E))), z [T, E] = pattern v: a row for each query t. */
static void attend(double q[T][E], double k[T][E], double v[T][E], double pattern[T][T],
                   double z[T][E])
{
    for (int t = 0; t < T; t++) {
        double scores[T], sum = 0;

        for (int s = 0; s < T; s++) {
            scores[s] = s <= t ? 0 : -HUGE_VAL; /* the mask: exp(-inf) is 0 */
            for (int e = 0; e < E; e++)
                scores[s] += q[t][e] * k[s][e] / sqrt(E); /* how well the key fits the query */
            sum += exp(scores[s]);
        }
        for (int s = 0; s < T; s++) {
            pattern[t][s] = exp(scores[s]) / sum; /* the softmax: weights that add up to 1 */
            for (int e = 0; e < E; e++)
                z[t][e] += pattern[t][s] * v[s][e]; /* each value times its weight, added up */
        }
    }
}

static void print(const char *name, int n_row, int n_column, const double *cells)
{
    printf("\n%s [%d, %d]\n", name, n_row, n_column);
    for (int i = 0; i < n_row * n_column; i++) {
        if (i % n_column == 0)
            printf("%8s", n_row == T ? words[i / n_column] : "");
        printf(" %9.6f%s", cells[i], (i + 1) % n_column == 0 ? "\n" : "");
    }
}

int main(void)
{
    print("x", T, D, x[0]);
    for (int h = 0; h < H; h++) {
        double q[T][E] = {{0}}, k[T][E] = {{0}}, v[T][E] = {{0}}, pattern[T][T], z[T][E] = {{0}};

        project(W_Q[h], q), project(W_K[h], k), project(W_V[h], v);
        attend(q, k, v, pattern, z);
        printf("\n--- head %d ---\n", h);
        print("W_Q", D, E, W_Q[h][0]), print("q = x W_Q", T, E, q[0]);
        print("W_K", D, E, W_K[h][0]), print("k = x W_K", T, E, k[0]);
        print("W_V", D, E, W_V[h][0]), print("v = x W_V", T, E, v[0]);
        print("pattern", T, T, pattern[0]), print("z = pattern v", T, E, z[0]);
    }
}
