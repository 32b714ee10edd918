/* test_gate.c - who may stay inside a door: shares of strangers, of addresses, of bytes; numbers only. */
#include "tests/unit.h"

#include "base/mem.h"
#include "web/http/gate.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { GUESTS = 64 };

static const struct gate_limits limits = {
    .guests = 20, .strangers = 10, .strangers_per_address = 3, .bytes = 1000, .leaving = 2
};

struct house {
    struct gate gate;
    struct guest guests[GUESTS];
    int64_t shown_out[GATE_REASONS];
};

static struct house *house_new(void)
{
    struct house *h = mem_zalloc(sizeof *h);

    gate_init(&h->gate, &limits);
    return h;
}

static void settle(struct house *h, int64_t now)
{
    enum gate_reason why = GATE_REASONS;
    struct guest *g = NULL;

    while ((g = gate_excess(&h->gate, now, &why))) {
        h->shown_out[why]++;
        gate_leave(&h->gate, g);
    }
}

static void enter(struct house *h, int i, uint64_t address, bool is_known, int64_t now)
{
    gate_enter(&h->gate, &h->guests[i], address, is_known, now);
    settle(h, now);
}

static bool is_in(const struct house *h, int i)
{
    return h->guests[i].kind != GUEST_OUTSIDE;
}

static void an_address_loses_its_oldest_strangers(void **state)
{
    struct house *h = house_new();

    (void)state;
    enter(h, 0, 7, false, 0);
    enter(h, 1, 7, false, 100);
    enter(h, 2, 8, false, 200);
    enter(h, 3, 7, false, 300);
    enter(h, 4, 7, false, 2000);
    assert_false(is_in(h, 0));
    for (int i = 1; i <= 4; i++)
        assert_true(is_in(h, i));
    assert_int_equal(h->shown_out[GATE_ADDRESS], 1);
    mem_free(h);
}

static void a_burst_of_one_address_may_still_show_its_tokens(void **state)
{
    struct house *h = house_new();

    (void)state;
    for (int i = 0; i < 9; i++)
        enter(h, i, 7, false, 10 * i);
    assert_int_equal(gate_count(&h->gate), 9); /* all within the first second */
    for (int i = 0; i < 8; i++)
        gate_know(&h->gate, &h->guests[i], true);
    settle(h, 5000);
    assert_int_equal(gate_count(&h->gate), 9);
    mem_free(h);
}

static void a_flood_pushes_out_its_own_and_nobody_else(void **state)
{
    struct house *h = house_new();

    (void)state;
    enter(h, 0, 100, false, 0); /* another stranger, who is slow */
    enter(h, 1, 100, true, 0);
    for (int i = 2; i < GUESTS; i++)
        enter(h, i, 7, false, 1);
    assert_true(is_in(h, 0));
    assert_true(is_in(h, 1));
    assert_true(is_in(h, GUESTS - 1)); /* a newcomer always gets in */
    assert_int_equal(h->gate.lists[GUEST_STRANGER].n, limits.strangers);
    mem_free(h);
}

static void strangers_and_the_known_take_no_places_of_each_other(void **state)
{
    struct house *h = house_new();

    (void)state;
    for (int i = 0; i < 8; i++)
        enter(h, i, (uint64_t)i + 1, false, i);
    for (int i = 8; i < 28; i++) {
        assert_false(gate_is_full(&h->gate));
        enter(h, i, 50, true, i);
    }
    assert_true(gate_is_full(&h->gate));
    assert_int_equal(gate_count(&h->gate), limits.guests + 8);
    assert_int_equal(h->gate.lists[GUEST_STRANGER].n, 8);
    mem_free(h);
}

static void a_full_house_lets_newcomers_ask_but_not_stay(void **state)
{
    struct house *h = house_new();

    (void)state;
    for (int i = 0; i < 20; i++)
        enter(h, i, 50, true, 0);
    enter(h, 20, 51, true, 0);
    enter(h, 21, 52, false, 0);
    assert_int_equal(h->guests[20].kind, GUEST_STRANGER);
    assert_false(gate_know(&h->gate, &h->guests[20], true));
    assert_false(gate_know(&h->gate, &h->guests[21], true));
    assert_true(gate_know(&h->gate, &h->guests[0], true)); /* it has its place */
    gate_leave(&h->gate, &h->guests[0]);
    assert_true(gate_know(&h->gate, &h->guests[21], true));
    assert_false(gate_know(&h->gate, &h->guests[20], true));
    assert_int_equal(h->gate.lists[GUEST_KNOWN].n, limits.guests);
    mem_free(h);
}

static void the_largest_unfinished_body_goes_not_the_next(void **state)
{
    struct house *h = house_new();

    (void)state;
    for (int i = 0; i < 4; i++)
        enter(h, i, 1, true, 0);
    gate_bytes(&h->gate, &h->guests[0], 100);
    gate_bytes(&h->gate, &h->guests[1], 600);
    gate_bytes(&h->gate, &h->guests[2], 250);
    settle(h, 0);
    assert_int_equal(gate_count(&h->gate), 4);
    gate_bytes(&h->gate, &h->guests[3], 51);
    settle(h, 0);
    assert_false(is_in(h, 1));
    assert_true(is_in(h, 3));
    assert_int_equal(h->gate.bytes, 401);
    assert_int_equal(h->shown_out[GATE_BYTES], 1);
    mem_free(h);
}

static void who_leaves_holds_no_place_and_few_may_linger(void **state)
{
    struct house *h = house_new();

    (void)state;
    for (int i = 0; i < 3; i++) {
        enter(h, i, 1, false, 0);
        gate_bytes(&h->gate, &h->guests[i], 300);
    }
    assert_true(gate_part(&h->gate, &h->guests[0]));
    assert_true(gate_part(&h->gate, &h->guests[1]));
    assert_false(gate_part(&h->gate, &h->guests[2]));
    assert_int_equal(gate_count(&h->gate), 0);
    assert_int_equal(h->gate.bytes, 0);
    gate_bytes(&h->gate, &h->guests[0], 500); /* nobody counts them any more */
    gate_know(&h->gate, &h->guests[0], true);
    assert_int_equal(h->gate.bytes, 0);
    assert_int_equal(gate_count(&h->gate), 0);
    for (int i = 0; i < 3; i++)
        gate_leave(&h->gate, &h->guests[i]);
    gate_leave(&h->gate, &h->guests[0]);
    assert_int_equal(h->gate.lists[GUEST_LEAVING].n, 0);
    mem_free(h);
}

static void sums_hold_whatever_happens(void **state)
{
    struct house *h = house_new();
    unsigned x = 12345;

    (void)state;
    for (int step = 0; step < 20000; step++) {
        struct guest *g = NULL;
        int64_t strangers = 0, bytes = 0;

        x = x * 1103515245 + 12345;
        g = &h->guests[x >> 8 & (GUESTS - 1)];
        switch (x >> 20 & 7) {
        case 0:
        case 1:
        case 2:
            if (g->kind == GUEST_OUTSIDE)
                enter(h, (int)(g - h->guests), x >> 16 & 3, x >> 24 & 1, step * 50);
            break;
        case 3:
            gate_leave(&h->gate, g);
            break;
        case 4:
            if (g->kind != GUEST_OUTSIDE)
                (void)gate_part(&h->gate, g);
            break;
        case 5:
            gate_know(&h->gate, g, x >> 24 & 1);
            break;
        default:
            gate_bytes(&h->gate, g, x >> 12 & 0xff);
        }
        settle(h, step * 50);
        for (int i = 0; i < GUESTS; i++) {
            int64_t peers = 0;

            bytes += h->guests[i].bytes;
            if (h->guests[i].kind != GUEST_STRANGER)
                continue;
            strangers++;
            for (int k = 0; k < GUESTS; k++)
                peers += h->guests[k].kind == GUEST_STRANGER &&
                         h->guests[k].address == h->guests[i].address;
            assert_int_equal(h->guests[i].peers, peers);
        }
        assert_int_equal(h->gate.lists[GUEST_STRANGER].n, strangers);
        assert_int_equal(h->gate.bytes, bytes);
        assert_true(strangers <= limits.strangers && bytes <= limits.bytes);
        assert_true(h->gate.lists[GUEST_KNOWN].n <= limits.guests);
    }
    mem_free(h);
}

static uint64_t key(const char *text)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return gate_address((struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return gate_address((struct sockaddr *)&v6);
}

static void an_ipv6_network_is_one_address(void **state)
{
    (void)state;
    assert_true(key("2001:db8:0:1::1") == key("2001:db8:0:1:ffff::2"));
    assert_true(key("2001:db8:0:1::1") != key("2001:db8:0:2::1"));
    assert_true(key("10.0.0.1") != key("10.0.0.2"));
    assert_true(key("10.0.0.1") == key("::ffff:10.0.0.1"));
    assert_true(key("0.0.0.0") != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_loses_its_oldest_strangers),
        cmocka_unit_test(a_burst_of_one_address_may_still_show_its_tokens),
        cmocka_unit_test(a_flood_pushes_out_its_own_and_nobody_else),
        cmocka_unit_test(strangers_and_the_known_take_no_places_of_each_other),
        cmocka_unit_test(a_full_house_lets_newcomers_ask_but_not_stay),
        cmocka_unit_test(the_largest_unfinished_body_goes_not_the_next),
        cmocka_unit_test(who_leaves_holds_no_place_and_few_may_linger),
        cmocka_unit_test(sums_hold_whatever_happens),
        cmocka_unit_test(an_ipv6_network_is_one_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
