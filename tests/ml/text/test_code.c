/* test_code.c - which texts are codes, what their parts are, and that hostile forms are refused. */
#include "tests/unit.h"

#include "ml/text/code.h"

#include <string.h>

static int find(const char *const *levels, int n, struct code_form *f, struct code_part *parts)
{
    int64_t rows[32];

    for (int i = 0; i < n; i++)
        rows[i] = 1;
    return code_form_find(levels, n, rows, f, parts);
}

/* The names of the parts, and what they are of `text`, as "part 1=KA; ..." */
static void told(const char *const *levels, int n, const char *text, char *out, size_t size)
{
    struct code_part parts[CODE_MOST_PARTS];
    struct code_form f;
    int found = find(levels, n, &f, parts);

    out[0] = '\0';
    for (int k = 0; k < found; k++) {
        char name[CODE_NAME];
        const char *begin = "";
        size_t len = 0, at = strlen(out);
        code_part_name(parts[k], name);
        bool is_there = code_part_of(&f, parts[k], text, &begin, &len);
        snprintf(out + at, size - at, "%s=%.*s; ", name, is_there ? (int)len : 1,
                 is_there ? begin : "-");
        assert_true(code_part_ok(&f, parts[k]));
    }
}

static void parts_are_runs_beginnings_and_first_signs(void **state)
{
    static const char *const parts[] = { "KA-12-9822", "JA-01-2783", "ZB-3-10" },
                             *const icd[] = { "E11.9", "I10.0", "J45.90" },
                             *const plain[] = { "AB1234", "CDE9876" },
                             *const cities[] = { "Paris", "Rome", "Berlin", "Oslo" },
                             *const wide[] = { "ÄÖ-1", "ßü-22" };
    char out[2000];

    (void)state;
    told(parts, 3, "KA-12-9822", out, sizeof out);
    assert_string_equal(
        out, "part 1=KA; part 2=12; part 3=9822; parts 1 to 2=KA-12; parts 2 to 3=12-9822; ");
    told(icd, 3, "E11.9", out, sizeof out);
    assert_string_equal(out,
                        "part 1=E; part 2=11; part 3=9; parts 1 to 2=E11; parts 2 to 3=11.9; ");
    told(plain, 2, "XY0001", out, sizeof out);
    assert_string_equal(out,
                        "part 1=XY; part 2=0001; first sign of part 2=0; first 2 signs of part "
                        "2=00; first 3 signs of part 2=000; ");
    told(plain, 2, "X-Y-1", out, sizeof out);
    assert_string_equal(out,
                        "part 1=-; part 2=-; first sign of part 2=-; first 2 signs of part 2=-; "
                        "first 3 signs of part 2=-; ");
    told(cities, 4, "Lisbon", out, sizeof out);
    assert_string_equal(out, "first sign of part 1=L; first 2 signs of part 1=Li; first 3 signs of "
                             "part 1=Lis; ");
    told(wide, 2, "ÄÖ-1", out, sizeof out);
    assert_string_equal(out, "part 1=ÄÖ; part 2=1; first sign of part 1=Ä; first 2 signs of part "
                             "1=ÄÖ; first 3 signs of part 1=-; ");
}

static void texts_of_many_forms_or_many_runs_are_no_codes(void **state)
{
    static const char *const mixed[] = { "a-1", "a-2", "1-a", "b-3", "x", "y z" },
                             *const many[] = { "1-2-3-4-5-6-7", "1-2-3-4-5-6-89" },
                             *const marks[] = { "", "--", "?" };
    struct code_part parts[CODE_MOST_PARTS];
    struct code_form f;

    (void)state;
    assert_int_equal(find(mixed, 6, &f, parts), 0);
    assert_int_equal(find(many, 2, &f, parts), 0);
    assert_int_equal(find(marks, 3, &f, parts), 0);
    assert_int_equal(find(NULL, 0, &f, parts), 0);
}

static void codes_of_one_length_have_a_part_for_each_place(void **state)
{
    static const char *const levels[] = { "1FA9X", "WV7BB", "JTD12", "5YJ0Z" },
                             *const others[] = { "1FA9X", "WV7B", "JTD1", "5YJ0Z" },
                             *const spaces[] = { "a b", "c d" };
    char out[2000];

    (void)state;
    told(levels, 4, "XYZ12", out, sizeof out);
    assert_string_equal(
        out, "sign 1=X; sign 2=Y; sign 3=Z; sign 4=1; sign 5=2; first 2 signs=XY; first 3 "
             "signs=XYZ; first 4 signs=XYZ1; ");
    told(levels, 4, "XYZ123", out, sizeof out);
    assert_string_equal(
        out, "sign 1=-; sign 2=-; sign 3=-; sign 4=-; sign 5=-; first 2 signs=-; first 3 "
             "signs=-; first 4 signs=-; ");
    told(others, 4, "", out, sizeof out);
    assert_string_equal(out, "");
    told(spaces, 2, "a b", out, sizeof out);
    assert_null(strstr(out, "sign 1="));
}

static void impossible_forms_are_refused(void **state)
{
    struct code_form f = { .n_runs = 2, .is_digits = { 0, 1 } };

    (void)state;
    assert_true(code_part_ok(&f, (struct code_part){ 0, 1, 0 }));
    assert_false(code_part_ok(&f, (struct code_part){ 1, 0, 0 }));
    assert_false(code_part_ok(&f, (struct code_part){ 0, 2, 0 }));
    assert_false(code_part_ok(&f, (struct code_part){ 0, 1, 1 }));
    assert_false(code_part_ok(&f, (struct code_part){ 0, 0, 200 }));
    f.is_digits[1] = 7;
    assert_false(code_part_ok(&f, (struct code_part){ 0, 0, 0 }));
    f = (struct code_form){ .n_runs = 200 };
    assert_false(code_part_ok(&f, (struct code_part){ 0, 0, 0 }));
    assert_false(code_part_ok(&f, (struct code_part){ 0, 5, CODE_PLACE }));
    f.n_runs = 0;
    assert_true(code_part_ok(&f, (struct code_part){ 4, 5, CODE_PLACE }));
    assert_false(code_part_ok(&f, (struct code_part){ 5, 5, CODE_PLACE }));
    assert_false(code_part_ok(&f, (struct code_part){ 4, CODE_MOST_PLACES + 1, CODE_PLACE }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_runs_beginnings_and_first_signs),
        cmocka_unit_test(texts_of_many_forms_or_many_runs_are_no_codes),
        cmocka_unit_test(codes_of_one_length_have_a_part_for_each_place),
        cmocka_unit_test(impossible_forms_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
