/* fuzz_artifact.c - any bytes as a model file. The checksums are made right first (unless the first byte says no), so that
 * the fuzzer reaches the parsers behind them; what loads must predict without harm on a table made to fit it.
 * covers: ml/model/artifact.c ml/model/artifact_ensemble.c ml/prep/prep_save.c */
#include "base/base.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "ml/model/artifact.h"
#include "ml/model/artifact_private.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void resign(uint8_t *bytes, size_t n)
{
    for (int i = 0; i < SECTIONS; i++) {
        uint8_t *entry = bytes + 20 + i * ARTIFACT_ENTRY_BYTES;
        uint64_t at = 0, len = 0;
        struct sha256 h;
        memcpy(&at, entry + 8, 8);
        memcpy(&len, entry + 16, 8);
        if (at > n || len > n - at)
            return;
        sha256_init(&h);
        sha256_add(&h, bytes + at, len);
        sha256_end(&h, entry + 24);
    }
}

/* Three rows with every column of the table that the seed corpus was trained on; other inputs make the view an error. */
static struct frame *table(void)
{
    static const double a[] = { 0.5, -3, 1e30 }, b[] = { 1, 0, -1e300 };
    static const char *const levels[] = { "high", "low", "other", "yes", "no", "p", "q", "r" };
    static const char *const names[] = { "kind", "y", "m" };
    static const int32_t code[][3] = { { 0, 1, -1 }, { 3, 4, 2 }, { 5, 6, 7 } };
    char path[80], hash[SHA256_HEX];

    (void)snprintf(path, sizeof(path), "/tmp/assay-fuzz-artifact-%ld", (long)getpid());
    struct frame_writer *w = frame_writer_new(path, NULL);
    CHECK(w && frame_writer_numeric(w, "a", a, 3, NULL) == 0 &&
          frame_writer_numeric(w, "b", b, 3, NULL) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(frame_writer_categorical(w, names[i], code[i], 3, levels, 8, NULL) == 0);
    CHECK(frame_writer_end(w, hash, NULL) == 0);
    struct frame *f = frame_open(path, NULL);
    unlink(path);
    return f;
}

/* Through a file, as the command line does. */
static struct artifact *open_file(const uint8_t *bytes, size_t n, struct err *err)
{
    char path[40];
    int fd = memfd_create("model", MFD_CLOEXEC);

    CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct artifact *a = artifact_open(path, err);
    close(fd);
    return a;
}

/* A preparation that was let in is saved and let in again, to the same bytes. */
static void check_prep(const struct prep *p)
{
    struct buf one, two;

    buf_init(&one, 1 << 28);
    buf_init(&two, 1 << 28);
    CHECK(prep_save(p, &one, NULL) == 0);
    struct view in = { (const uint8_t *)one.data, one.len, 0 };
    struct prep *again = prep_load(&in, NULL);
    CHECK(again && in.pos == in.len && prep_save(again, &two, NULL) == 0);
    CHECK(one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
    prep_free(again);
    buf_fini(&one);
    buf_fini(&two);
}

/* Explains, or says why not. */
static void check_explained(const struct artifact *a, const struct artifact_view *v)
{
    const int of[3] = { 0, artifact_outputs(a) - 1, 0 };
    size_t inputs = (size_t)MAX(prep_inputs(artifact_prep(a)), artifact_columns(a));
    double *out = mem_array(3 * (inputs + 1), sizeof *out);
    struct err err = { 0 };

    if (artifact_importance(a, out, &err) == 0) {
        for (int i = 0; i < artifact_columns(a); i++)
            CHECK(out[i] >= 0);
    } else {
        CHECK(err.code != ERR_NONE && err.text[0]);
    }
    err = (struct err){ 0 };
    if (v && artifact_explain(v, 0, 3, of, out, &err) < 0)
        CHECK(err.code != ERR_NONE && err.text[0]);
    mem_free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct frame *f;
    static float out[3 * ARTIFACT_MAX_CLASSES];
    struct err err = { 0 };

    f = f ? f : table();
    if (size < 21 + SECTIONS * ARTIFACT_ENTRY_BYTES)
        return 0;
    uint8_t *bytes = mem_dup(data + 1, size - 1);
    if (data[0] != 'x')
        resign(bytes, size - 1);
    struct artifact *a =
        data[0] & 1 ? artifact_load(bytes, size - 1, &err) : open_file(bytes, size - 1, &err);
    mem_free(bytes);
    if (!a) {
        CHECK(err.code != ERR_NONE && err.text[0]);
        return 0;
    }
    check_prep(artifact_prep(a));
    CHECK(artifact_info(a)->n_models > 0 && artifact_info(a)->schema_json);
    struct artifact_view *v = artifact_view_new(a, f, &err);
    if (v)
        (void)artifact_predict(v, 0, 3, out, &err);
    check_explained(a, v);
    artifact_view_free(v);
    artifact_close(a);
    return 0;
}
