/* variant.c - the preparations that configurations choose, and who uses them (variant.h). The list
 * belongs to the problem that the variants are of. Called by ml/fit/ and by the worker. */
#include "ml/model/variant.h"

#include "base/mem.h"
#include "base/sha256.h"
#include "ml/model/data_private.h"

#include <string.h>

/* What a choice comes to: data of its own, or those of another choice or of the problem itself,
 * where the preparation is the same. How many trials use them stands in data->shared->users. */
struct variant {
    struct prep_choice choice;
    struct ml_data *data;
    int64_t used;
};

struct ml_variants {
    int n, cap;
    int64_t clock;
    struct variant *list;
};

struct prep_choice ml_choice_of(const struct family *f, const double *params)
{
    static const char prefix[] = "prep_";
    struct prep_choice c = { { 0 } };
    char word[64];

    for (int i = 0; i < f->n_params; i++) {
        if (f->params[i].axis != FA_PREP)
            continue;
        family_choice_name(&f->params[i], (int)params[i], word, sizeof word);
        /* family_params.def has only names and words of choice.def */
        CHECK(prep_choice_set(&c, f->params[i].name + sizeof prefix - 1, word));
    }
    return c;
}

/* ---- with the lock held ---- */

static struct ml_variants *list_of(const struct ml_data *d)
{
    if (!d->shared->variants)
        d->shared->variants = mem_zalloc(sizeof *d->shared->variants);
    return d->shared->variants;
}

static void data_free(struct ml_data *v)
{
    ml_shared_free(v);
    prep_free(v->prep);
    mem_free(v->monotone);
    mem_free(v);
}

/* Closes data that no trial uses, and forgets the choices that come to them. */
static void drop(struct ml_variants *l, struct ml_data *v)
{
    int n = 0;

    CHECK(v->shared->users == 0);
    for (int i = 0; i < l->n; i++) {
        if (l->list[i].data != v)
            l->list[n++] = l->list[i];
    }
    l->n = n;
    data_free(v);
}

static bool is_first_of_its_data(const struct ml_variants *l, int at)
{
    for (int i = 0; i < at; i++) {
        if (l->list[i].data == l->list[at].data)
            return false;
    }
    return true;
}

/* The data that are out of use for the longest time; NULL = at most `keep` are out of use. */
static struct ml_data *oldest(const struct ml_data *d, const struct ml_variants *l, int keep)
{
    int idle = 0, at = -1;

    for (int i = 0; i < l->n; i++) {
        const struct variant *v = &l->list[i];
        if (v->data == d || v->data->shared->users > 0)
            continue;
        idle += is_first_of_its_data(l, i);
        if (at < 0 || v->used < l->list[at].used)
            at = i;
    }
    return idle > keep ? l->list[at].data : NULL;
}

static int shed(const struct ml_data *d, int keep)
{
    struct ml_variants *l = list_of(d);
    struct ml_data *v = NULL;
    int n = 0;

    for (; (v = oldest(d, l, keep)); n++)
        drop(l, v);
    return n;
}

static void hash(const struct buf *b, uint8_t out[SHA256_BYTES])
{
    struct sha256 s;

    sha256_init(&s);
    sha256_add(&s, b->data, b->len);
    sha256_end(&s, out);
}

/* The values of all inputs follow from the fitted state: in a fold's view, steps are fitted anew to
 * the same columns and levels. */
static int digest_of(const struct prep *p, uint8_t out[SHA256_BYTES], struct err *err)
{
    struct buf b;

    buf_init(&b, (size_t)1 << 40);
    int rc = prep_save(p, &b, err);
    if (rc == 0)
        hash(&b, out);
    buf_fini(&b);
    return rc;
}

/* A problem with the rows of d and a preparation of its own. */
static struct ml_data *data_new(struct ml_data *d, const struct prep_choice *choice,
                                struct err *err)
{
    struct ml_data *v = mem_zalloc(sizeof *v);

    *v = *d;
    v->prep = NULL;
    v->monotone = NULL;
    v->shared = mem_zalloc(sizeof *v->shared);
    v->shared->base = d;
    v->shared->use = d->shared->use;
    v->shared->part = d->shared->part;
    v->shared->inputs = d->shared->inputs;
    CHECK(pthread_mutex_init(&v->shared->lock, NULL) == 0);
    if (ml_inputs_prepare(v, choice, err) == 0 && digest_of(v->prep, v->shared->digest, err) == 0)
        return v;
    data_free(v);
    return NULL;
}

/* The data of another choice that has the same preparation, d itself included; NULL = none. */
static struct ml_data *same_as(struct ml_data *d, const struct ml_data *v, struct err *err)
{
    struct ml_variants *l = list_of(d);

    if (!d->shared->has_digest && digest_of(d->prep, d->shared->digest, err) < 0)
        return NULL;
    d->shared->has_digest = true;
    if (memcmp(d->shared->digest, v->shared->digest, SHA256_BYTES) == 0)
        return d;
    for (int i = 0; i < l->n; i++) {
        if (memcmp(l->list[i].data->shared->digest, v->shared->digest, SHA256_BYTES) == 0)
            return l->list[i].data;
    }
    return NULL;
}

static struct variant *find(struct ml_variants *l, const struct prep_choice *choice)
{
    for (int i = 0; i < l->n; i++) {
        if (memcmp(&l->list[i].choice, choice, sizeof *choice) == 0)
            return &l->list[i];
    }
    return NULL;
}

static struct variant *make(struct ml_data *d, const struct prep_choice *choice, struct err *err)
{
    struct ml_variants *l = list_of(d);
    struct ml_data *v = data_new(d, choice, err), *same;

    if (!v)
        return NULL;
    same = same_as(d, v, err);
    if (same)
        data_free(v);
    if (l->n == l->cap) {
        struct variant *more = mem_array((size_t)l->cap * 2 + 8, sizeof *more);
        if (l->n > 0)
            memcpy(more, l->list, (size_t)l->n * sizeof *more);
        mem_free(l->list);
        l->list = more;
        l->cap = l->cap * 2 + 8;
    }
    l->list[l->n] = (struct variant){ .choice = *choice, .data = same ? same : v };
    return &l->list[l->n++];
}

/* ---- for trials ---- */

struct ml_data *ml_variant_get(struct ml_data *d, const struct prep_choice *choice, struct err *err)
{
    struct ml_data *out = NULL;

    if (prep_choice_is_auto(choice))
        return d;
    CHECK(!d->shared->base);
    pthread_mutex_lock(&d->shared->variants_lock);
    struct variant *v = find(list_of(d), choice);
    if (!v)
        v = make(d, choice, err);
    if (v) {
        v->used = ++list_of(d)->clock;
        out = v->data;
        out->shared->users += out != d;
        shed(d, VARIANTS_IDLE);
    }
    pthread_mutex_unlock(&d->shared->variants_lock);
    return out;
}

void ml_variant_put(struct ml_data *d, struct ml_data *v)
{
    if (v == d || !v)
        return;
    pthread_mutex_lock(&d->shared->variants_lock);
    CHECK(v->shared->base == d && v->shared->users > 0);
    v->shared->users--;
    shed(d, VARIANTS_IDLE);
    pthread_mutex_unlock(&d->shared->variants_lock);
}

int ml_variants_shed(struct ml_data *d)
{
    pthread_mutex_lock(&d->shared->variants_lock);
    int n = shed(d, 0);
    pthread_mutex_unlock(&d->shared->variants_lock);
    return n;
}

int ml_variants(struct ml_data *d)
{
    int n = 0;

    pthread_mutex_lock(&d->shared->variants_lock);
    const struct ml_variants *l = list_of(d);
    for (int i = 0; i < l->n; i++)
        n += l->list[i].data != d && is_first_of_its_data(l, i);
    pthread_mutex_unlock(&d->shared->variants_lock);
    return n;
}

int64_t ml_variants_bytes(const struct ml_data *d)
{
    int64_t bytes = 0;

    pthread_mutex_lock(&d->shared->variants_lock);
    const struct ml_variants *l = list_of(d);
    for (int i = 0; i < l->n; i++) {
        if (l->list[i].data != d && is_first_of_its_data(l, i))
            bytes += ml_data_shared_bytes(l->list[i].data);
    }
    pthread_mutex_unlock(&d->shared->variants_lock);
    return bytes;
}

void ml_variants_free(struct ml_data *d)
{
    if (d->shared->base)
        return;
    shed(d, 0);
    /* what is left comes to d itself; a variant in use would lose its rows */
    for (int i = 0; i < list_of(d)->n; i++)
        CHECK(list_of(d)->list[i].data == d);
    mem_free(d->shared->variants->list);
    mem_free(d->shared->variants);
    d->shared->variants = NULL;
}
