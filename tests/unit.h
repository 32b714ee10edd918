/* unit.h - what every test program includes first: cmocka with what it needs, the seed of this run, and a
 * folder that nobody else uses. TMPDIR and ASSAY_TEST_SEED come from tests/run.sh. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How often: a sanitized build is ten times slower, and looks for other faults than the many rounds do. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_ROUNDS(plain, sanitized) (sanitized)
#else
#define TEST_ROUNDS(plain, sanitized) (plain)
#endif

/* Of tests that measure chance: the same in every run, so that chance fails none. */
#define TEST_FIXED_SEED UINT64_C(20261121)

/* A sweep of faults, in both ways: the nth point alone fails, then the nth and every later one. The body arms with
 * test_fault(nth, stays) and sets `fired` by fault_disarm(). Needs base/fault.h. */
#define TEST_SWEEP(nth, fired, stays)                    \
    for (int stays = 0, nth = 1, fired = 1; (stays) < 2; \
         (fired) ? (nth)++ : ((stays)++, (fired) = (nth) = 1))
#define test_fault(nth, stays) ((stays) ? fault_arm_from(NULL, (nth)) : fault_arm(nth))

static inline uint64_t test_seed(void)
{
    const char *s = getenv("ASSAY_TEST_SEED");

    return s ? strtoull(s, NULL, 10) : 1;
}

/* A path in the test's own folder; the buffer is the caller's. */
static inline const char *test_path(char *out, size_t size, const char *name)
{
    const char *dir = getenv("TMPDIR");

    assert_true(snprintf(out, size, "%s/%s", dir ? dir : "/tmp", name) < (int)size);
    return out;
}

#endif
