/*
 * map_and_sum.c - the least that a fresh process can do with a file of weights: it maps the file
 * and adds up the bytes that a run needs, on as many threads, in vectors.
 *
 *     map_and_sum FILE THREADS BEGIN END [BEGIN END ...]
 *
 * make bench compiles it with -O3 -march=native and measures attn-cli beside it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_THREADS = 64, N_SUM = 8 };

typedef uint64_t vector __attribute__((vector_size(64)));

struct range {
    size_t begin, end;
};

struct worker {
    pthread_t thread;
    const char *data;
    const struct range *ranges;
    int n_range, index, n_thread;
    vector sum;
};

static vector add_up(const char *data, size_t size)
{
    vector sums[N_SUM] = {{0}};

    for (size_t i = 0; i + sizeof sums <= size; i += sizeof sums)
        for (int k = 0; k < N_SUM; k++) {
            vector value;

            memcpy(&value, data + i + (size_t)k * sizeof value, sizeof value);
            sums[k] += value;
        }
    for (int k = 1; k < N_SUM; k++)
        sums[0] += sums[k];
    return sums[0];
}

/* This thread's part of every range. */
static void *work(void *context)
{
    struct worker *worker = context;

    for (int i = 0; i < worker->n_range; i++) {
        const struct range range = worker->ranges[i];
        const size_t size = (range.end - range.begin) / (size_t)worker->n_thread;

        worker->sum += add_up(worker->data + range.begin + (size_t)worker->index * size, size);
    }
    return NULL;
}

/* Maps the file, or ends the program. */
static const char *map(const char *path, size_t *size)
{
    struct stat info;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const char *data = MAP_FAILED;

    if (file >= 0 && fstat(file, &info) == 0) {
        *size = (size_t)info.st_size;
        data = mmap(NULL, *size, PROT_READ, MAP_SHARED, file, 0);
    }
    if (data == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return data;
}

int main(int argc, char **argv)
{
    struct worker workers[MAX_THREADS] = {{0}};
    struct range ranges[64];
    const int n_thread = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    const int n_range = (argc - 3) / 2;
    vector sum = {0};
    size_t size;

    if (n_thread < 1 || n_thread > MAX_THREADS || n_range < 1 || n_range > 64)
        return 2;
    const char *data = map(argv[1], &size);
    for (int i = 0; i < n_range; i++) {
        ranges[i].begin = strtoull(argv[3 + 2 * i], NULL, 10);
        ranges[i].end = strtoull(argv[4 + 2 * i], NULL, 10);
        if (ranges[i].begin > ranges[i].end || ranges[i].end > size)
            return 2;
    }
    for (int i = n_thread - 1; i >= 0; i--) {
        workers[i] = (struct worker){
            .data = data, .ranges = ranges, .n_range = n_range, .index = i, .n_thread = n_thread};
        if (i == 0)
            work(&workers[i]);
        else if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    for (int i = 0; i < n_thread; i++) {
        if (i > 0)
            pthread_join(workers[i].thread, NULL);
        sum += workers[i].sum;
    }
    printf("%llu\n", (unsigned long long)sum[0]);
    return 0;
}
