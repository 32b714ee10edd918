/* test_status.c - errors as statuses and back: what the server says is what its clients understand. */
#include "tests/unit.h"

#include "proto/status.h"

static void a_status_of_the_controller_comes_back_as_its_error(void **state)
{
    static const enum err_code same[] = { ERR_ARG,      ERR_AUTH,   ERR_DENIED,  ERR_NOTFOUND,
                                          ERR_CONFLICT, ERR_TOOBIG, ERR_VERSION, ERR_BUSY,
                                          ERR_FULL,     ERR_IO };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        assert_int_equal(status_to_err(status_of_err(same[i])), same[i]);
    for (int code = ERR_NONE; code < ERR_CODES; code++)
        assert_in_range(status_of_err((enum err_code)code), 400, 599);
    assert_int_equal(status_of_err(ERR_STALE), status_of_err(ERR_CONFLICT));
}

static void statuses_of_others_are_read_as_their_kind(void **state)
{
    static const struct {
        int status;
        enum err_code code;
    } cases[] = {
        { 402, ERR_ARG }, { 408, ERR_TIMEOUT }, { 418, ERR_ARG }, { 429, ERR_BUSY },
        { 501, ERR_IO },  { 502, ERR_IO },      { 504, ERR_IO },  { 599, ERR_IO },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(status_to_err(cases[i].status), cases[i].code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_status_of_the_controller_comes_back_as_its_error),
        cmocka_unit_test(statuses_of_others_are_read_as_their_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
