/* kept_fits.c - see kept_fits.h. */
#include "ml/prep/kept_fits.h"

#include "base/base.h"
#include "base/mem.h"

#include <pthread.h>
#include <string.h>

enum { MOST_KEPT = 16 };

struct kept_fits {
    pthread_mutex_t lock;
    struct {
        uint8_t of[SHA256_BYTES];
        float *fit;
    } kept[MOST_KEPT];
    int n;
    int64_t room;
};

struct kept_fits *kept_fits_new(int64_t room)
{
    struct kept_fits *k = mem_zalloc(sizeof *k);

    CHECK(pthread_mutex_init(&k->lock, NULL) == 0);
    k->room = room;
    return k;
}

void kept_fits_free(struct kept_fits *k)
{
    if (!k)
        return;
    for (int i = 0; i < k->n; i++)
        mem_try_free(k->kept[i].fit);
    pthread_mutex_destroy(&k->lock);
    mem_free(k);
}

void kept_fits_digest(const void *table, int64_t rows, const struct prep_target *target,
                      const uint8_t *use, uint8_t of[SHA256_BYTES])
{
    enum { BLOCK = 512 };
    double y[BLOCK], weight[BLOCK];
    uint8_t part[BLOCK];
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, &table, sizeof table);
    for (int64_t from = 0; from < rows; from += BLOCK) {
        int n = (int)MIN(BLOCK, rows - from);
        for (int i = 0; i < n; i++) {
            bool is_used = !use || use[from + i];
            part[i] = is_used ? target->part[from + i] : UINT8_MAX;
            y[i] = is_used ? target->y[from + i] : 0;
            weight[i] = is_used && target->weight ? target->weight[from + i] : 1;
        }
        sha256_add(&h, part, (size_t)n);
        sha256_add(&h, y, (size_t)n * sizeof *y);
        if (target->weight)
            sha256_add(&h, weight, (size_t)n * sizeof *weight);
    }
    sha256_end(&h, of);
}

bool kept_fits_find(struct kept_fits *k, const uint8_t of[SHA256_BYTES], size_t bytes, float *out)
{
    bool is_found = false;

    pthread_mutex_lock(&k->lock);
    for (int i = 0; i < k->n && !is_found; i++) {
        is_found = memcmp(k->kept[i].of, of, SHA256_BYTES) == 0;
        if (is_found)
            memcpy(out, k->kept[i].fit, bytes);
    }
    pthread_mutex_unlock(&k->lock);
    return is_found;
}

void kept_fits_add(struct kept_fits *k, const uint8_t of[SHA256_BYTES], size_t bytes,
                   const float *fit)
{
    pthread_mutex_lock(&k->lock);
    float *copy = k->n < MOST_KEPT && (int64_t)bytes <= k->room ? mem_try_alloc(bytes) : NULL;
    if (copy) {
        memcpy(copy, fit, bytes);
        memcpy(k->kept[k->n].of, of, SHA256_BYTES);
        k->kept[k->n++].fit = copy;
        k->room -= (int64_t)bytes;
    }
    pthread_mutex_unlock(&k->lock);
}
