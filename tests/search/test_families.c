/* test_families.c - a sampler for each family: who says which family is next gets it, each learns from
 * its own trials, and without a word all families have their turn. Its contract is test_sampler.c's. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/base.h"
#include "search/samplers/samplers.h"

#include <math.h>

enum { TRIALS = 60, AT = 4 };

/* Three families with a number each, and one number that all have. */
static struct space *made(void)
{
    struct space *s = space_new();
    int family = spaces_choice(s, "family", 3, false);

    for (int f = 0; f < 3; f++) {
        static const char *const names[] = { "a", "b", "c" };
        spaces_float(s, names[f], 0, 1, 0, false);
        spaces_under(s, family, (uint64_t)1 << f);
    }
    spaces_float(s, "all", 0, 1, 0, false);
    return s;
}

static void tell(struct sampler *x, int64_t trial, double value)
{
    struct observation o = { trial, OBS_COMPLETED, 1, 1, value, { 0 }, 1, 0 };

    assert_int_equal(x->ops->observe(x, &o, NULL), 0);
}

static void what_is_preferred_comes_once(void **state)
{
    struct space *s = made();
    struct search_setup setup = { .seed = 3 };
    struct sampler *x = search_families.open(s, &setup, NULL);
    double p[AT + 1];

    (void)state;
    for (int t = 1; t <= TRIALS; t++) {
        x->ops->prefer(x, t % 3);
        assert_int_equal(x->ops->suggest(x, t, 1, p, NULL), 1);
        assert_true(p[0] == t % 3);
        assert_int_equal(space_check(s, p, NULL), 0);
        tell(x, t, p[0]);
    }
    int seen[3] = { 0 };
    for (int t = TRIALS + 1; t <= 2 * TRIALS; t++) { /* nobody says anything */
        assert_int_equal(x->ops->suggest(x, t, 1, p, NULL), 1);
        seen[(int)p[0]]++;
        tell(x, t, p[0]);
    }
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    sampler_close(x);
    space_free(s);
}

/* Family 0 is always worse than family 1, and best where its number is near .9: it finds that
 * although none of its trials is among the best. */
static void a_family_that_is_behind_still_learns(void **state)
{
    struct space *s = made();
    struct search_setup setup = { .seed = 5 };
    struct sampler *x = search_families.open(s, &setup, NULL);
    double p[AT + 1], early = 0, late = 0;

    (void)state;
    for (int t = 1; t <= 2 * TRIALS; t++) {
        x->ops->prefer(x, t % 2);
        assert_int_equal(x->ops->suggest(x, t, 1, p, NULL), 1);
        double off = p[0] == 0 ? fabs(p[1] - 0.9) : 0;
        tell(x, t, p[0] == 0 ? -off : 10);
        early += p[0] == 0 && t <= 20 ? off / 10 : 0;
        late += p[0] == 0 && t > 2 * TRIALS - 40 ? off / 20 : 0;
    }
    assert_true(late < early / 3);
    sampler_close(x);
    space_free(s);
}

/* A family of one point is used up; the preference then goes to another. */
static void a_family_that_is_used_up_gives_way(void **state)
{
    struct space *s = space_new();
    struct search_setup setup = { .seed = 1 };
    double p[2];

    (void)state;
    int family = spaces_choice(s, "family", 2, false);
    spaces_float(s, "b", 0, 1, 0, false);
    spaces_under(s, family, 2);
    struct sampler *x = search_families.open(s, &setup, NULL);
    for (int t = 1; t <= 10; t++) {
        x->ops->prefer(x, 0);
        assert_int_equal(x->ops->suggest(x, t, 1, p, NULL), 1);
        assert_true(p[0] == (t > 1));
    }
    sampler_close(x);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_preferred_comes_once),
        cmocka_unit_test(a_family_that_is_behind_still_learns),
        cmocka_unit_test(a_family_that_is_used_up_gives_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
