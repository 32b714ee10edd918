/* prep_rig.c - see prep_rig.h. */
#include "tests/ml/prep_rig.h"

#include "base/buf.h"

#include <string.h>

void prep_bytes_check(const struct prep *p, size_t every)
{
    struct err err = { 0 };
    struct buf out, again;

    buf_init(&out, 1 << 24);
    buf_init(&again, 1 << 24);
    assert_int_equal(prep_save(p, &out, &err), 0);
    struct view in = { (const uint8_t *)out.data, out.len, 0 };
    struct prep *loaded = prep_load(&in, &err);
    if (!loaded)
        fail_msg("%s", err.text);
    assert_int_equal(prep_save(loaded, &again, &err), 0);
    assert_true(out.len == again.len && memcmp(out.data, again.data, out.len) == 0);
    prep_free(loaded);
    for (size_t at = 0; at < out.len; at += at < 600 || at + 900 > out.len ? 1 : every) {
        char was = out.data[at];
        out.data[at] = (char)(was ^ 0x55);
        in = (struct view){ (const uint8_t *)out.data, out.len, 0 };
        prep_free(prep_load(&in, &err));
        out.data[at] = was;
        in = (struct view){ (const uint8_t *)out.data, at, 0 };
        assert_null(prep_load(&in, &err));
    }
    buf_fini(&out);
    buf_fini(&again);
}
