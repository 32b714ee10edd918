/* test_space_set.c - a space as a set: sizes by hand, every rank another point, hashes and equality. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/space/hash_set.h"

#include <math.h>

static void sizes_are_as_counted_by_hand(void **state)
{
    struct space *s = space_new();

    (void)state;
    assert_true(space_size(s) == 1); /* the empty space has one point */
    spaces_constant(s, "constant", 7);
    assert_true(space_size(s) == 1);
    spaces_int(s, "int", 1, 5, 0, false);
    assert_true(space_size(s) == 5);
    int family = spaces_choice(s, "family", 3, false);
    assert_true(space_size(s) == 15);
    spaces_int(s, "under0", 0, 9, 0, false);
    spaces_under(s, family, 1);
    assert_true(space_size(s) == 5 * (10 + 1 + 1));
    int nested = spaces_choice(s, "under12", 4, true);
    spaces_under(s, family, 6);
    assert_true(space_size(s) == 5 * (10 + 4 + 4));
    spaces_float(s, "deep", 0, 1, 0.5, false);
    spaces_under(s, nested, 8);
    assert_true(space_size(s) == 5 * (10 + 6 + 6));
    spaces_int(s, "free", 1, 100, 0, false);
    spaces_axis(s, AXIS_FREE);
    assert_true(space_size(s) == 5 * 22 * 100);
    assert_true(space_search_size(s) == 5 * 22);
    spaces_float(s, "real", 0, 1, 0, false);
    assert_true(isinf(space_size(s)));
    space_free(s);
}

static void a_chain_of_choices_has_one_point_more_than_links(void **state)
{
    struct space *s = spaces_chain(SPACE_MAX_PARAMS);

    (void)state;
    assert_true(space_size(s) == SPACE_MAX_PARAMS + 1);
    space_free(s);
}

static void huge_spaces_do_not_overflow(void **state)
{
    struct space *s = space_new();
    char name[24];

    (void)state;
    for (int i = 0; i < 400; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        spaces_int(s, name, 0, 1e9, 0, false);
    }
    assert_true(space_size(s) > 0x1p53);
    space_free(s);
}

static void every_rank_is_another_legal_point(void **state)
{
    double point[16], again[16];
    struct rng r;
    int used = 0;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < 300; round++) {
        struct space *s = spaces_random(&r, 7, true);
        struct err err = { 0 };
        struct hash_set seen;
        double size = space_search_size(s);
        hash_set_init(&seen);
        for (uint64_t rank = 0; size <= 3000 && (double)rank < size; rank++) {
            space_at(s, rank, point);
            if (space_check(s, point, &err) < 0)
                fail_msg("rank %g: %s", (double)rank, err.text);
            assert_true(hash_set_add(&seen, space_hash(s, point)));
            space_at(s, rank, again);
            assert_true(space_points_equal(s, point, again));
        }
        used += size <= 3000;
        /* No point is left out: a random one is among them. */
        for (int i = 0; size <= 3000 && i < 50; i++) {
            spaces_point(s, &r, point);
            assert_true(hash_set_has(&seen, space_hash(s, point)));
        }
        hash_set_fini(&seen);
        space_free(s);
    }
    assert_true(used > 50);
}

static void equal_points_hash_alike_and_others_do_not(void **state)
{
    double a[32], b[32];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int round = 0; round < 3000; round++) {
        struct space *s = spaces_random(&r, 16, rng_below(&r, 2));
        spaces_point(s, &r, a);
        spaces_point(s, &r, b);
        assert_true(space_points_equal(s, a, a));
        assert_int_equal(space_points_equal(s, a, b), space_hash(s, a) == space_hash(s, b));
        space_free(s);
    }
}

static void the_same_value_in_other_bits_is_the_same_point(void **state)
{
    struct space *s = space_new();
    double a[3] = { 0.1 + 0.1 + 0.1, 0.0, 5 }, b[3] = { 0.3, -0.0, 5 };

    (void)state;
    spaces_float(s, "step", 0, 1, 0.1, false);
    spaces_float(s, "real", -1, 1, 0, false);
    spaces_int(s, "int", 1, 9, 0, true);
    assert_int_equal(space_check(s, a, NULL), 0);
    assert_true(space_points_equal(s, a, b));
    assert_true(space_hash(s, a) == space_hash(s, b));
    b[2] = 6;
    assert_false(space_points_equal(s, a, b));
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_as_counted_by_hand),
        cmocka_unit_test(a_chain_of_choices_has_one_point_more_than_links),
        cmocka_unit_test(huge_spaces_do_not_overflow),
        cmocka_unit_test(every_rank_is_another_legal_point),
        cmocka_unit_test(equal_points_hash_alike_and_others_do_not),
        cmocka_unit_test(the_same_value_in_other_bits_is_the_same_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
