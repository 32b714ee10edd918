/* test_arena.c - arena and mem: aligned, zeroed, never overlapping. */
#include "tests/unit.h"

#include "base/arena.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/rng.h"

static void allocations_are_aligned_zeroed_and_apart(void **state)
{
    struct arena a;
    struct rng r;
    unsigned char *p[500];
    size_t n[500];

    (void)state;
    arena_init(&a);
    rng_init(&r, test_seed(), 1);
    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        n[i] = i % 50 == 49 ? 300000 + rng_below(&r, 1000) : rng_below(&r, 2000);
        p[i] = arena_alloc(&a, n[i]);
        assert_int_equal((uintptr_t)p[i] % 16, 0);
        for (size_t k = 0; k < n[i]; k++)
            assert_int_equal(p[i][k], 0);
        memset(p[i], (int)(i % 255) + 1, n[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(p); i++) {
        for (size_t k = 0; k < n[i]; k++)
            assert_int_equal(p[i][k], (int)(i % 255) + 1);
    }
    arena_fini(&a);
    assert_int_equal(a.used_bytes, 0);
}

static void an_arena_may_be_used_again_after_fini(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(arena_strdup(&a, "hello"), "hello");
        arena_fini(&a);
    }
    arena_fini(&a);
}

static void text_helpers_copy_and_cut(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    assert_null(arena_strdup(&a, NULL));
    assert_null(arena_strndup(&a, NULL, 3));
    assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
    assert_string_equal(arena_strndup(&a, "ab", 30), "ab");
    assert_string_equal(arena_strdup(&a, ""), "");
    assert_string_equal(arena_printf(&a, "%s-%05d", "x", 42), "x-00042");
    assert_int_equal(strlen(arena_printf(&a, "%9000d", 1)), 9000);
    arena_fini(&a);
}

static void data_allocations_are_cache_line_aligned_and_may_fail(void **state)
{
    const size_t sizes[] = { 0, 1, 63, 64, 65, 100000 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        unsigned char *p = mem_try_zalloc(sizes[i]);

        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(p[k], 0);
        mem_try_free(p);
    }
    assert_null(mem_try_alloc(SIZE_MAX));
    fault_arm_name("mem.try_alloc", 1, false);
    assert_null(mem_try_zalloc(10));
    assert_int_equal(fault_disarm(), 1);
}

static void heap_helpers_take_empty_input(void **state)
{
    char *s = mem_strdup("x");
    void *p = mem_alloc(0), *q = mem_array(0, 8), *d = mem_dup(NULL, 0);

    (void)state;
    assert_null(mem_strdup(NULL));
    assert_string_equal(s, "x");
    p = mem_resize(p, 100);
    p = mem_resize(p, 0);
    assert_true(p && q && d);
    mem_free(p);
    mem_free(q);
    mem_free(d);
    mem_free(s);
    mem_free(NULL);
    mem_try_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_zeroed_and_apart),
        cmocka_unit_test(an_arena_may_be_used_again_after_fini),
        cmocka_unit_test(text_helpers_copy_and_cut),
        cmocka_unit_test(data_allocations_are_cache_line_aligned_and_may_fail),
        cmocka_unit_test(heap_helpers_take_empty_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
