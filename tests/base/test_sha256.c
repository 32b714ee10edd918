/* test_sha256.c - the vectors of FIPS 180-4, any split of the input, and both block functions alike. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sha256.h"

extern int sha256_portable_only;

static const struct {
    const char *text, *hex;
} vectors[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmno"
      "pqrsmnopqrstnopqrstu",
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
};

static void known_answers(void **state)
{
    char hex[SHA256_HEX];

    (void)state;
    for (int portable = 0; portable < 2; portable++) {
        sha256_portable_only = portable;
        for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
            sha256_hex(vectors[i].text, strlen(vectors[i].text), hex);
            assert_string_equal(hex, vectors[i].hex);
        }
    }
    sha256_portable_only = 0;
}

static void a_million_a(void **state)
{
    char chunk[1000], hex[SHA256_HEX];
    struct sha256 s;

    (void)state;
    memset(chunk, 'a', sizeof chunk);
    sha256_init(&s);
    for (int i = 0; i < 1000; i++)
        sha256_add(&s, chunk, sizeof chunk);
    sha256_end_hex(&s, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void any_split_and_either_cpu_path_gives_the_same_hash(void **state)
{
    enum { N = 700 };
    uint8_t data[N];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (size_t i = 0; i < N; i++)
        data[i] = (uint8_t)rng_u32(&r);
    for (size_t n = 0; n < N; n++) {
        char whole[SHA256_HEX], parts[SHA256_HEX];
        struct sha256 s;

        sha256_portable_only = 0;
        sha256_hex(data, n, whole);
        sha256_portable_only = 1;
        sha256_init(&s);
        for (size_t at = 0, step = 0; at < n; at += step) {
            step = rng_below(&r, 130);
            step = MIN(n - at, step);
            sha256_add(&s, data + at, step);
        }
        sha256_end_hex(&s, parts);
        assert_string_equal(whole, parts);
    }
    sha256_portable_only = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(a_million_a),
        cmocka_unit_test(any_split_and_either_cpu_path_gives_the_same_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
