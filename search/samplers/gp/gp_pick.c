/* gp_pick.c - maximises the log expected improvement without gradients, so choices, steps and
 * conditions are handled like smooth ranges. A round makes GP_LANES candidates: a share looks around,
 * at random or near the best trials, the rest are neighbours of the LEADERS best candidates, at
 * distances of several sizes. */
#include "search/samplers/gp/gp_pick.h"

#include "search/space/constraint.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <string.h>

/* TAG keeps these draws apart from others. ROUNDS: of a suggestion, one less for each FEWER points of
 * the model, as each result changes less and costs more, and one less in a brief choice; ROUNDS_FINE
 * where a number has more than FINE values, as where it is continuous. Of GP_LANES candidates of a round, LOOKING look around; where a
 * round is enough, it has half as many candidates and LOOKING_HALF. TRIES: draws for one candidate that
 * is neither seen nor kept. */
enum {
    TAG = 0x6e1,
    LEADERS = 4,
    ROUNDS = 3,
    FEWER = 48,
    ROUNDS_FINE = 12,
    FINE = 256,
    LOOKING = 5,
    LOOKING_HALF = 3,
    TRIES = 3,
    MARKS = 16
};

void gp_pool_init(struct gp_pool *p, const struct gp_code *code, int cap)
{
    int n = code->space->n;

    *p = (struct gp_pool){ .code = code };
    for (int b = 0; b < GP_BLOCKS; b++)
        gp_block_init(&p->kept[b], code->d, n, cap);
    gp_block_init(&p->fresh, code->d, n, cap);
    p->unit = mem_array((size_t)n * 2 + 1, sizeof *p->unit);
    p->point = p->unit + n;
    gp_cells_init(&p->cells, code);
}

void gp_pool_fini(struct gp_pool *p)
{
    for (int b = 0; b < GP_BLOCKS; b++)
        gp_block_fini(&p->kept[b]);
    gp_block_fini(&p->fresh);
    gp_cells_fini(&p->cells);
    mem_free(p->unit);
    *p = (struct gp_pool){ 0 };
}

void gp_pool_cut(struct gp_pool *p, int n)
{
    for (int b = 0; b < GP_BLOCKS; b++)
        gp_block_cut(&p->kept[b], n);
}

/* ---- making candidates ---- */

struct maker {
    const struct gp_pick *p;
    const struct space *space;
    struct gp_pool *pool;
    struct rng rng;
    double sizes[GP_MAX_DIMS]; /* number of values of each dimension */
    bool is_fine;              /* one of them has many */
    uint64_t marks[MARKS];     /* a bit for each candidate that is or was here */
};

/* About standard normal: three uniform draws of 21 bits. */
static double bell(struct rng *r)
{
    uint64_t bits = rng_u64(r);
    uint64_t sum = (bits & 0x1fffff) + (bits >> 21 & 0x1fffff) + (bits >> 42 & 0x1fffff);

    return ((double)sum + 1.5) * 0x1p-20 - 3;
}

/* Moves dimension k by about `size` in the unit cube, at least to the next cell. A category changes
 * to another one. */
static void move(struct maker *m, int k, double size)
{
    const struct gp_code *code = m->pool->code;
    double cells = m->sizes[k], *unit = &m->pool->unit[code->params[k]], u = *unit;

    if (code->is_choice[k]) {
        u += (1 + rng_below(&m->rng, (uint32_t)cells - 1)) / cells;
        u = u >= 1 ? u - 1 : u;
    } else {
        double step = size * bell(&m->rng);
        if (fabs(step) * cells < 1)
            step = (step < 0 ? -1 : 1) / cells;
        u += step;
        if (u < 0 || u >= 1) /* beyond an edge: reflect */
            u = u < 0 ? -u : 2 - u;
        u = u < 0 ? 0 : u >= 1 ? 0x1.fffffffffffffp-1 : u;
    }
    *unit = u;
}

/* Changes one dimension for certain, and one more with a chance of a half, again and again. Parameters
 * that were inactive are drawn at random. */
static void mutate(struct maker *m, const double *from, double size)
{
    uint32_t d = (uint32_t)m->pool->code->d, coins = rng_u32(&m->rng);

    for (int i = 0; i < m->space->n; i++)
        m->pool->unit[i] = isnan(from[i]) ? rng_unit(&m->rng) : from[i];
    do {
        move(m, (int)rng_below(&m->rng, d), size);
        coins >>= 1;
    } while (coins & 1);
}

static void random_unit(struct maker *m)
{
    for (int i = 0; i < m->space->n; i++)
        m->pool->unit[i] = rng_unit(&m->rng);
}

static bool is_held(const struct gp_block *b, uint64_t hash)
{
    bool is_found = false;

    for (int l = 0; l < GP_LANES; l++)
        is_found |= b->hash[l] == hash;
    return is_found;
}

static uint64_t *mark_of(struct maker *m, uint64_t hash, uint64_t *bit)
{
    *bit = UINT64_C(1) << (hash >> 6) % 64;
    return &m->marks[hash % MARKS];
}

static void mark(struct maker *m, uint64_t hash)
{
    uint64_t bit = 0, *at = mark_of(m, hash, &bit);

    *at |= bit;
}

static void marks_make(struct maker *m)
{
    for (int b = 0; b < GP_BLOCKS; b++)
        for (int l = 0; l < GP_LANES; l++)
            mark(m, m->pool->kept[b].hash[l]);
}

/* The marks tell of most candidates that they are new. */
static bool is_known(struct maker *m, uint64_t hash)
{
    uint64_t bit = 0, marked = *mark_of(m, hash, &bit) & bit;

    if (!marked)
        return hash_set_has(m->p->seen, hash);
    for (int b = 0; b < GP_BLOCKS; b++) {
        if (is_held(&m->pool->kept[b], hash))
            return true;
    }
    return is_held(&m->pool->fresh, hash) || hash_set_has(m->p->seen, hash);
}

/* Puts the candidate at pool->unit into the block. False if it is known or not legal. */
static bool put(struct maker *m, struct gp_block *b, int lane)
{
    struct gp_pool *pool = m->pool;
    double x[GP_MAX_DIMS];

    uint64_t hash = gp_cells_point(&pool->cells, pool->unit, pool->point, x);
    hash = hash ? hash : 1;
    if (is_known(m, hash) || !space_holds(m->space, pool->point))
        return false;
    gp_block_put(b, pool->code, lane, x, pool->unit, hash);
    mark(m, hash);
    return true;
}

/* ---- the candidates that are kept ---- */

struct place {
    struct gp_block *block;
    int lane;
};

static double score_of(struct place at)
{
    return at.block->score[at.lane];
}

/* Whether any candidate of the block has a larger score: asked of many at once, because few blocks
 * have one. */
static bool has_above(const struct gp_block *b, double score)
{
    int above = 0;

    for (int l = 0; l < GP_LANES; l++)
        above += b->score[l] > score;
    return above > 0;
}

/* The `most` best candidates, best first; of equal ones the first. Candidates that were proposed are
 * dropped. */
static int leaders_find(const struct gp_pick *p, struct place *out, int most)
{
    int n = 0;

    for (int b = 0; b < GP_BLOCKS; b++) {
        struct gp_block *block = &p->pool->kept[b];
        if (n == most && !has_above(block, score_of(out[n - 1])))
            continue;
        for (int l = 0; l < GP_LANES; l++) {
            double value = block->score[l];
            if (value == -INFINITY || (n == most && !(value > score_of(out[n - 1]))))
                continue;
            if (hash_set_has(p->seen, block->hash[l])) {
                block->score[l] = -INFINITY;
                block->hash[l] = 0;
                continue;
            }
            int at = n < most ? n++ : most - 1;
            for (; at > 0 && value > score_of(out[at - 1]); at--)
                out[at] = out[at - 1];
            out[at] = (struct place){ block, l };
        }
    }
    return n;
}

static int worst_lane(const struct gp_block *b)
{
    int worst = 0;

    for (int l = 1; l < GP_LANES; l++)
        worst = b->score[l] < b->score[worst] ? l : worst;
    return worst;
}

/* Each new candidate takes the place of the worst, if it is better. */
static void take_in(struct gp_pool *pool)
{
    struct place worst[GP_BLOCKS];
    int n = pool->code->space->n;

    for (int b = 0; b < GP_BLOCKS; b++)
        worst[b] = (struct place){ &pool->kept[b], worst_lane(&pool->kept[b]) };
    for (int l = 0; l < GP_LANES; l++) {
        struct place *at = &worst[0];
        for (int b = 1; b < GP_BLOCKS; b++)
            at = score_of(worst[b]) < score_of(*at) ? &worst[b] : at;
        if (pool->fresh.score[l] > score_of(*at)) {
            gp_block_copy(at->block, at->lane, &pool->fresh, l, pool->code->d, n);
            at->lane = worst_lane(at->block);
        }
    }
}

/* ---- rounds ---- */

static void make_one(struct maker *m, const struct place *leaders, int n_leaders, bool is_looking)
{
    static const double sizes[] = { 0.3, 0.1, 0.03, 0.01 };
    const struct gp_pick *p = m->p;
    size_t n = (size_t)m->space->n;
    double size = sizes[rng_u32(&m->rng) % ARRAY_LEN(sizes)];

    if (!is_looking && n_leaders > 0) {
        struct place at = leaders[rng_below(&m->rng, (uint32_t)n_leaders)];
        mutate(m, at.block->units + (size_t)at.lane * n, size);
    } else if (p->n_elites > 0 && rng_below(&m->rng, 3) > 0) {
        mutate(m, p->elites[rng_below(&m->rng, (uint32_t)p->n_elites)], size);
    } else {
        random_unit(m);
    }
}

/* Fills a block with new candidates. */
static void block_make(struct maker *m, struct gp_block *b, const struct place *leaders,
                       int n_leaders)
{
    int looking = b->is_half ? LOOKING_HALF : LOOKING;

    memset(b->hash, 0, sizeof b->hash);
    gp_block_cut(b, 0);
    for (int l = 0; l < (b->is_half ? GP_LANES / 2 : GP_LANES); l++) {
        for (int t = 0; t < TRIES; t++) {
            make_one(m, leaders, n_leaders, l < looking);
            if (put(m, b, l))
                break;
        }
    }
}

static void whole_make(struct maker *m)
{
    struct gp_pool *pool = m->pool;
    int n = (int)space_search_size(m->space);

    for (int i = 0; i < n; i++) {
        space_at(m->space, (uint64_t)i, pool->point);
        space_to_unit(m->space, pool->point, pool->unit);
        for (int k = 0; k < m->space->n; k++)
            pool->unit[k] = isnan(pool->unit[k]) ? 0 : pool->unit[k];
        (void)put(m, &pool->kept[i / GP_LANES], i % GP_LANES);
    }
}

static void pool_start(struct maker *m)
{
    struct gp_pool *pool = m->pool;

    pool->is_started = true;
    pool->is_whole = space_search_size(m->space) <= GP_BLOCKS * GP_LANES;
    if (pool->is_whole) {
        whole_make(m);
        return;
    }
    for (int b = 0; b < GP_BLOCKS; b++)
        block_make(m, &pool->kept[b], NULL, 0);
}

static int rounds_of(struct maker *m)
{
    const struct gp_code *code = m->pool->code;
    int fewer = m->p->model->points.n / FEWER + m->p->is_brief;

    m->is_fine = false;
    for (int k = 0; k < code->d; k++) {
        m->sizes[k] = param_size(&code->space->params[code->params[k]]);
        m->is_fine |= m->sizes[k] > FINE;
    }
    return m->is_fine ? ROUNDS_FINE : MAX(1, ROUNDS - fewer);
}

/* Where there are many results, each changes little, and the candidates that are kept are good. */
static bool is_half(const struct maker *m)
{
    return !m->is_fine && m->p->model->n_targets > FEWER;
}

int gp_pick_point(const struct gp_pick *p, double *point)
{
    struct gp_pool *pool = p->pool;
    struct maker m = { .p = p, .space = pool->code->space, .pool = pool };
    struct place leaders[LEADERS];
    double x[GP_MAX_DIMS];

    if (pool->code->d == 0)
        return 0;
    int rounds = rounds_of(&m);
    rng_init(&m.rng, rng_mix(p->seed, TAG), (uint64_t)p->trial);
    marks_make(&m);
    if (!pool->is_started)
        pool_start(&m);
    gp_blocks_score(pool->kept, p->model, &p->aim);
    int n = leaders_find(p, leaders, LEADERS);
    pool->fresh.is_half = is_half(&m) && n > 0;
    for (int i = 0; i < rounds && !pool->is_whole; i++) {
        block_make(&m, &pool->fresh, leaders, n);
        gp_block_score(&pool->fresh, p->model, &p->aim);
        take_in(pool);
        n = leaders_find(p, leaders, LEADERS);
    }
    if (n == 0)
        return 0;
    memcpy(pool->unit, leaders[0].block->units + (size_t)leaders[0].lane * (size_t)m.space->n,
           (size_t)m.space->n * sizeof *pool->unit);
    (void)gp_cells_point(&pool->cells, pool->unit, pool->point, x);
    memcpy(point, pool->point, (size_t)m.space->n * sizeof *point);
    return 1;
}
