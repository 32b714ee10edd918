/* fuzz_search.c - any bytes as the saved state of a sampler or scheduler: refused, or a searcher that works on and whose
 * own state loads again. The first byte picks the searcher, the rest is the state.
 * covers: search/samplers/tpe/tpe.c search/space/quasi_points.c search/samplers/quasi.c search/samplers/grid.c search/samplers/tpe/bohb.c search/contract/state.c search/space/hash_set.c search/contract/history_state.c
 *   search/contract/observation_hash.c search/samplers/random.c search/samplers/testhash.c search/schedulers/testhash_sched.c search/schedulers/asha_state.c
 *   search/schedulers/bracket_state.c search/schedulers/median.c search/schedulers/patience.c search/schedulers/roster.c search/schedulers/rung.c search/schedulers/trust.c */
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"
#include "search/searchers.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEED = 7, N = 8 };

/* choice -> int, and a float with steps: 3 * 11 + 2 * 11 points. */
static struct space *small_space(void)
{
    char *texts[] = { "a", "b", "c" };
    struct space *s = space_new();
    struct param choice = {
        .name = "choice", .kind = PARAM_CATEGORICAL, .n_choices = 3, .choices = texts, .parent = -1
    };
    struct param integer = {
        .name = "int", .kind = PARAM_INT, .hi = 2, .parent = 0, .parent_mask = 1
    };
    struct param step = { .name = "step", .kind = PARAM_FLOAT, .hi = 1, .step = 0.1, .parent = -1 };

    CHECK(space_add(s, &choice, NULL) == 0);
    CHECK(space_add(s, &integer, NULL) == 1);
    CHECK(space_add(s, &step, NULL) == 2);
    return s;
}

static void check_sampler(const struct sampler_ops *ops, const uint8_t *data, size_t size)
{
    struct space *space = small_space();
    struct search_setup setup = { .seed = SEED };
    struct view in = { data, size, 0 };
    struct err err = { 0 };
    struct sampler *s = ops->open(space, &setup, NULL), *again = NULL;
    double points[3 * N];
    struct buf saved;

    buf_init(&saved, SEARCH_MAX_STATE_BYTES);
    if (ops->load(s, &in, &err) == 0) {
        int n = ops->suggest(s, 100, N, points, NULL);
        CHECK(n >= 0);
        for (int i = 0; i < n; i++) {
            struct observation o = { 100 + i, OBS_COMPLETED, 1, 1, (double)i, { 0 }, 1 };
            CHECK(space_check(space, points + (size_t)i * 3, NULL) == 0);
            CHECK(ops->observe(s, &o, NULL) == 0);
            CHECK(ops->adopt(s, 200 + i, points + (size_t)i * 3, NULL) == 0);
        }
        CHECK(ops->save(s, &saved, NULL) == 0);
        struct view out = { (const uint8_t *)saved.data, saved.len, 0 };
        again = ops->open(space, &setup, NULL);
        CHECK(ops->load(again, &out, NULL) == 0);
    } else {
        CHECK(err.code != ERR_NONE && utf8_ok(err.text, strlen(err.text)));
    }
    buf_fini(&saved);
    sampler_close(again);
    sampler_close(s);
    space_free(space);
}

static void check_scheduler(const struct scheduler_ops *ops, const uint8_t *data, size_t size)
{
    struct search_setup setup = { .seed = SEED };
    struct view in = { data, size, 0 };
    struct err err = { 0 };
    struct scheduler *s = ops->open(&setup, NULL), *again = NULL;
    struct sched_resume resumed[N];
    struct sched_decision d;
    int64_t retired[N];
    struct buf saved;

    buf_init(&saved, SEARCH_MAX_STATE_BYTES);
    if (ops->load(s, &in, &err) == 0) {
        int to = ops->start(s, 1000, 0, 9, NULL);
        struct observation o = { 1000, OBS_RUNNING, to, 9, 0.5, { 0 }, 1 };
        CHECK(to >= 1 && ops->report(s, &o, &d, NULL) == 0);
        CHECK(ops->resume(s, N, false, resumed, NULL) >= 0);
        CHECK(ops->retire(s, N, true, retired, NULL) >= 0);
        CHECK(ops->resume(s, N, true, resumed, NULL) >= 0);
        CHECK(ops->save(s, &saved, NULL) == 0);
        struct view out = { (const uint8_t *)saved.data, saved.len, 0 };
        again = ops->open(&setup, NULL);
        CHECK(ops->load(again, &out, NULL) == 0);
    } else {
        CHECK(err.code != ERR_NONE && utf8_ok(err.text, strlen(err.text)));
    }
    buf_fini(&saved);
    scheduler_close(again);
    scheduler_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] < 128 && sampler_at(data[0] % 16))
        check_sampler(sampler_at(data[0] % 16), data + 1, size - 1);
    else if (data[0] >= 128 && scheduler_at(data[0] % 16))
        check_scheduler(scheduler_at(data[0] % 16), data + 1, size - 1);
    return 0;
}
