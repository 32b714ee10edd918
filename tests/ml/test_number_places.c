/* test_number_places.c - places of numbers in ascending lists of every small length, beside a plain
 * look from the front: values that are there, between, below and above, infinite and missing. */
#include "tests/unit.h"

#include "base/mem.h"
#include "ml/prep/level_means.h"
#include "ml/prep/number_places.h"

#include <math.h>

enum { MOST = 70, ASKED = 2 * MOST + 8 };

static int place_plainly(const double *value, int n, double x)
{
    int at = 0;

    while (at < n && value[at] < x)
        at++;
    return at;
}

static void places_are_those_of_a_plain_look(void **state)
{
    double value[MOST], x[ASKED];
    int32_t place[ASKED], level[ASKED];

    (void)state;
    for (int i = 0; i < MOST; i++)
        value[i] = 3 * i - 50;
    for (int i = 0; i < 2 * MOST; i++)
        x[(i * 37) % (2 * MOST)] = 1.5 * i - 53;
    x[2 * MOST] = INFINITY;
    x[2 * MOST + 1] = -INFINITY;
    x[2 * MOST + 2] = NAN;
    for (int i = 2 * MOST + 3; i < ASKED; i++)
        x[i] = -0.0;
    for (int n = 0; n <= MOST; n++) {
        /* the last block of look-ups is not full */
        int asked = ASKED - n % 9;
        number_places(value, n, x, asked, place);
        levels_of_values(value, n, x, asked, level);
        for (int i = 0; i < asked; i++) {
            int want = isnan(x[i]) ? 0 : place_plainly(value, n, x[i]);
            bool is_there = want < n && value[want] == x[i];
            assert_int_equal(place[i], want);
            assert_int_equal(level[i], isnan(x[i]) ? n : is_there ? want : n + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(places_are_those_of_a_plain_look) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
