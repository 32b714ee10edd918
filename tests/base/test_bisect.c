/* test_bisect.c - BISECT against a search from the first place on, for arrays of every length up to 40. */
#include "tests/unit.h"

#include "base/bisect.h"

enum { MOST = 40 };

/* Every number stands twice, so that the first of two equal ones must be found: 0 0 2 2 4 4 ... */
static void check(const int *v, int n, int x)
{
    int at = 0, first = 0;
    size_t wide = 0;

    while (first < n && v[first] < x)
        first++;
    BISECT(at, n, v[at] < x);
    BISECT(wide, (size_t)n, v[wide] < x);
    assert_int_equal(at, first);
    assert_int_equal(wide, first);
}

static void finds_the_first_place_that_is_not_before(void **state)
{
    int v[MOST];

    (void)state;
    for (int i = 0; i < MOST; i++)
        v[i] = i / 2 * 2;
    for (int n = 0; n <= MOST; n++) {
        for (int x = -1; x <= MOST; x++)
            check(v, n, x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_first_place_that_is_not_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
