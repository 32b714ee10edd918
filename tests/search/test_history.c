/* test_history.c - the history against a plain model of it: whatever comes, in any order, rankings and lists are what
 * sorting the rows would give, a repeat changes nothing. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/contract/history.h"

#include <math.h>

enum { ROUNDS = 40, TRIALS = 40, CALLS = 300, MAX_P = 8 };

static struct observation any_observation(struct rng *r)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 0, -0.0, 1e308, 5e-324 };
    struct observation o = { .trial = (int64_t)rng_below(r, TRIALS + 4) - TRIALS / 2,
                             .state = (enum obs_state)rng_below(r, OBS_STATES),
                             .level = (int)rng_below(r, 6),
                             .max_level = 5,
                             .value = rng_below(r, 2) ? floor(rng_unit(r) * 10)
                                                      : odd[rng_below(r, ARRAY_LEN(odd))],
                             .more = { rng_unit(r) },
                             .cost = rng_below(r, 100),
                             .error = rng_below(r, 2) ? rng_unit(r) : odd[rng_below(r, 4)] };

    if (rng_below(r, 3))
        o.state = OBS_RUNNING;
    return o;
}

static bool same_value(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* The same trials with the same values; rows may stand in another order. */
static void same_history(const struct history *a, const struct history *b)
{
    double p[TRIALS], q[TRIALS];

    assert_int_equal(a->n, b->n);
    assert_true(a->space->n <= TRIALS);
    for (int row = 0; row < a->n; row++) {
        const struct history_row *x = &a->rows[row];
        int at = history_find(b, x->trial);
        assert_true(at >= 0);
        const struct history_row *y = &b->rows[at];
        assert_int_equal(x->state, y->state);
        assert_int_equal(x->max_level, y->max_level);
        assert_int_equal(x->n_reports, y->n_reports);
        assert_true(x->cost == y->cost);
        for (int i = 0; i < x->n_reports; i++) {
            assert_int_equal(x->reports[i].below, y->reports[i].below);
            assert_int_equal(x->reports[i].is_final, y->reports[i].is_final);
            assert_true(same_value(x->reports[i].value, y->reports[i].value));
            assert_true(x->reports[i].error == y->reports[i].error && x->reports[i].error >= 0);
        }
        for (int i = 0; i < HISTORY_MORE; i++)
            assert_true(same_value(history_more(a, row)[i], history_more(b, at)[i]));
        history_point(a, row, p);
        history_point(b, at, q);
        assert_true(space_points_equal(a->space, p, q));
    }
}

static void in_order(const struct history *h, const struct history_list *l)
{
    for (int i = 1; i < l->n; i++)
        assert_true(h->rows[l->rows[i - 1]].trial < h->rows[l->rows[i]].trial);
}

/* Lists and rankings hold what the rows say, no more, in order. */
static void check_index(const struct history *h)
{
    int silent = 0, failed = 0, reports = 0, entries = 0;

    for (int row = 0; row < h->n; row++) {
        const struct history_row *r = &h->rows[row];
        assert_int_equal(history_find(h, r->trial), row);
        silent += r->state == OBS_RUNNING && r->n_reports == 0;
        failed += r->state == OBS_FAILED;
        reports += r->n_reports;
    }
    assert_int_equal(h->order.n, h->n);
    assert_int_equal(h->silent.n, silent);
    assert_int_equal(h->failed.n, failed);
    in_order(h, &h->order);
    in_order(h, &h->silent);
    in_order(h, &h->failed);
    for (int b = 0; b < h->n_rankings; b++) {
        const struct history_ranking *ranking = &h->rankings[b];
        assert_true(history_ranking(h, ranking->below) == ranking);
        entries += ranking->n;
        for (int i = 0; i < ranking->n; i++) {
            const struct history_entry *e = &ranking->entries[i], *last = i ? e - 1 : NULL;
            const struct history_report *report = history_at(h, e->row, ranking->below);
            assert_non_null(report);
            assert_int_equal(h->rows[e->row].trial, e->trial);
            assert_memory_equal(&report->value, &e->value, sizeof e->value);
            double mine = isnan(e->value) ? -INFINITY : e->value;
            if (last)
                assert_true(mine < (isnan(last->value) ? -INFINITY : last->value) ||
                            (mine == (isnan(last->value) ? -INFINITY : last->value) &&
                             e->trial > last->trial));
        }
    }
    assert_int_equal(entries, reports);
}

static void fill(struct history *h, struct rng *r)
{
    double point[MAX_P], kept[MAX_P];

    for (int i = 0; i < TRIALS; i++) { /* numbers in any order, some twice */
        spaces_point(h->space, r, point);
        int64_t trial = (int64_t)rng_below(r, TRIALS) - TRIALS / 2;
        bool is_new = history_find(h, trial) < 0;
        int row = history_add(h, trial, point);
        assert_int_equal(row >= 0, is_new);
        if (row >= 0) {
            history_point(h, row, kept);
            assert_memory_equal(kept, point, (size_t)h->space->n * sizeof *point);
        }
    }
}

static struct history *any_history(const struct space *s, struct rng *r, int calls)
{
    struct history *h = mem_alloc(sizeof *h);

    history_init(h, s);
    fill(h, r);
    for (int i = 0; i < calls; i++) {
        struct observation o = any_observation(r);
        (void)history_observe(h, &o);
    }
    return h;
}

static void drop(struct history *h)
{
    history_fini(h);
    mem_free(h);
}

static void lists_and_boards_are_what_sorting_would_give(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < ROUNDS; round++) {
        struct space *s = spaces_random(&r, MAX_P, false);
        struct history *h = any_history(s, &r, 0);
        for (int i = 0; i < CALLS; i++) {
            struct observation o = any_observation(&r);
            (void)history_observe(h, &o);
            check_index(h);
        }
        drop(h);
        space_free(s);
    }
}

static void what_came_before_changes_nothing(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int round = 0; round < ROUNDS; round++) {
        struct space *s = spaces_random(&r, MAX_P, false);
        struct history *h = any_history(s, &r, 0);
        struct observation seen[CALLS];
        for (int i = 0; i < CALLS; i++) {
            seen[i] = any_observation(&r);
            (void)history_observe(h, &seen[i]);
            assert_false(history_observe(h, &seen[rng_below(&r, (uint32_t)i + 1)]));
        }
        drop(h);
        space_free(s);
    }
}

/* One value a trial and level, one end a trial: then no order of telling makes a difference. */
static void reports_may_come_in_any_order(void **state)
{
    struct space *s = spaces_mixed();
    double point[16];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int round = 0; round < ROUNDS; round++) {
        struct observation all[TRIALS];
        struct history a, b;
        history_init(&a, s);
        history_init(&b, s);
        for (int i = 0; i < TRIALS;
             i++) { /* four levels each for ten trials, the last one ends it */
            int level = 1 + i % 4;
            all[i] = (struct observation){ .trial = i / 4, .level = level, .max_level = 4 };
            all[i].state = level == 4 ? OBS_COMPLETED : OBS_RUNNING;
            all[i].value = rng_normal(&r);
            all[i].more[0] = rng_normal(&r);
            all[i].cost = level;
        }
        for (int i = 0; i < TRIALS / 4; i++) {
            spaces_point(s, &r, point);
            (void)history_add(&a, i, point);
            (void)history_add(&b, i, point);
        }
        for (int i = 0; i < TRIALS; i++)
            assert_true(history_observe(&a, &all[i]));
        for (int i = TRIALS - 1; i >= 0; i--) {
            struct observation *other = &all[rng_below(&r, (uint32_t)i + 1)], picked = *other;
            *other = all[i];
            assert_true(history_observe(&b, &picked));
        }
        same_history(&a, &b);
        history_fini(&a);
        history_fini(&b);
    }
    space_free(s);
}

static void the_value_of_the_end_replaces_a_report(void **state)
{
    struct space *s = spaces_chain(1);
    struct observation o = { 1, OBS_RUNNING, 2, 2, 0.5, { 7 }, 3, 0 };
    struct history h;
    double point = 0;

    (void)state;
    history_init(&h, s);
    assert_false(history_observe(&h, &o)); /* of nobody */
    int row = history_add(&h, 1, &point);
    assert_true(history_observe(&h, &o));
    o.value = 0.6; /* a second report of the level is not heard */
    assert_false(history_observe(&h, &o));
    assert_true(history_at(&h, row, 0)->value == 0.5);
    o.state = OBS_COMPLETED;
    o.more[0] = 8;
    assert_true(history_observe(&h, &o));
    assert_true(history_at(&h, row, 0)->value == 0.6);
    assert_true(history_more(&h, row)[0] == 8);
    o.state = OBS_FAILED; /* nor a second end */
    assert_false(history_observe(&h, &o));
    assert_int_equal(h.rows[row].state, OBS_COMPLETED);
    assert_null(history_at(&h, row, 1));
    assert_null(history_ranking(&h, 1));
    history_fini(&h);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_boards_are_what_sorting_would_give),
        cmocka_unit_test(what_came_before_changes_nothing),
        cmocka_unit_test(reports_may_come_in_any_order),
        cmocka_unit_test(the_value_of_the_end_replaces_a_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
