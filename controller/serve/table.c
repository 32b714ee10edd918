/* table.c - looks at the files of tables before work goes out, and limits how often runners may
 * fail to read them. The rules are in table.h. A study may have two tables, one for training and
 * one for the test; each function says by is_test which one it means. */
#include "controller/serve/table.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/files/look.h"
#include "controller/settle/dataset.h"
#include "store/blob.h"
#include "store/runner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_PAUSE_MS = 1000,
    REMADE_AT = 2, /* at so many failures of runners in a row the table is made again */
    SENTENCE = 900,
    NAME_BYTES = 160,
};

/* The runner has the table already, so the controller's file is not needed. */
static bool has_cached(const struct msg_ask *ask, const char *sha256)
{
    for (int i = 0; i < ask->n_cached; i++) {
        if (str_eq(ask->cached[i], sha256))
            return true;
    }
    return false;
}

static int dataset_of(const struct study *st, bool is_test, struct dataset_row *out,
                      struct err *err)
{
    return is_test ? store_dataset_find(st->ctl->store, st->spec.test_dataset, out, err)
                   : store_dataset_get(st->ctl->store, st->row.dataset, out, err);
}

/* Has the table made again from the file that the user uploaded, if that file is whole. Each time
 * counts as one of the TABLE_ATTEMPTS, so that it is not made again for ever. 1 = it is being made,
 * 0 = it cannot be made, -1. */
static int remake(struct study *st, bool is_test, const char *what, struct err *err)
{
    struct dataset_row row = { 0 };
    char why[SENTENCE];
    int rc = dataset_of(st, is_test, &row, err);

    if (rc == 1 && str_eq(row.state, "ready")) {
        rc = st->table_fails + 1 < TABLE_ATTEMPTS && blob_look(st->ctl, row.blob, NULL) == 0;
        (void)snprintf(why, sizeof why, "%.500s; it is made again from the file it came from",
                       what);
        st->table_fails += rc;
        if (rc == 1 && dataset_remake(st->ctl, &row, why, err) < 0)
            rc = -1;
    } else if (rc == 1) {
        rc = str_eq(row.state, "ingesting");
    }
    dataset_row_fini(&row);
    if (rc == 1) {
        st->is_table_remade = true;
        st->table_next_ms = ctl_now(st->ctl) + FIRST_PAUSE_MS;
    }
    return rc;
}

/* ---- pausing ---- */

static void table_name(const struct study *st, bool is_test, char *out, size_t size)
{
    struct dataset_row row = { 0 };

    str_copy(out, size, is_test ? st->spec.test_dataset : st->spec.dataset);
    if (dataset_of(st, is_test, &row, NULL) == 1)
        str_copy(out, size, row.name);
    dataset_row_fini(&row);
}

static int table_pause(struct study *st, bool is_test, const char *what, struct err *err)
{
    char name[NAME_BYTES], text[SENTENCE];

    table_worked(st);
    if (study_may(st, SE_PAUSE, NULL) < 0)
        return 0; /* the study is ending: no more trials are granted anyway */
    table_name(st, is_test, name, sizeof name);
    (void)snprintf(text, sizeof text,
                   "the table %s cannot be read: %.500s; add the same file again (assay data add), "
                   "then resume the study",
                   name, what);
    log_error("table.bad study=%" PRId64 " name=%s table=%s err=\"%s\"", st->row.id, st->row.name,
              name, what);
    ctl_touch(st->ctl, st);
    study_clock_stop(st);
    return study_move(st, SE_PAUSE, text, NULL, err) < 0 ? -1 : 0;
}

int table_check(struct study *st, const struct msg_ask *ask, struct err *err)
{
    const char *files[] = { st->problem.data.frame, st->problem.data.test_frame };

    st->is_table_remade = false;
    for (int i = 0; i < 2; i++) {
        struct err why = { 0 };
        int rc = 0;

        if (!files[i][0] || has_cached(ask, files[i]) || blob_look(st->ctl, files[i], &why) == 0)
            continue;
        if (why.code != ERR_NOTFOUND && why.code != ERR_IO)
            return err_set(err, why.code, "%s", why.text);
        if (why.code == ERR_IO && !strstr(why.text, "damaged"))
            return table_failed(st, why.text, err); /* the disk may work again later */
        rc = remake(st, i == 1, why.text, err);
        return rc == 0 ? table_pause(st, i == 1, why.text, err) : MIN(rc, 0);
    }
    return 1;
}

/* ---- what only runners see ---- */

/* Many trials may fail by the same cause at once. They count as one attempt, as does everything
 * that fails before the next attempt is due. Damage inside a large file is found only by runners,
 * because before a grant such a file is measured and not hashed. Therefore the table is made again
 * at the second failure; if it was whole, that changes nothing. */
int table_failed(struct study *st, const char *detail, struct err *err)
{
    int64_t now = ctl_now(st->ctl);
    const char *what = detail && detail[0] ? detail : "a runner did not get it";
    bool is_test = st->problem.data.test_frame[0] && strstr(what, st->problem.data.test_frame);

    if (study_waits_for_table(st) || study_may(st, SE_PAUSE, NULL) < 0)
        return 0;
    CHECK(st->table_fails >= 0 && st->table_fails < TABLE_ATTEMPTS);
    if (++st->table_fails >= TABLE_ATTEMPTS)
        return table_pause(st, is_test, what, err);
    if (st->table_fails == REMADE_AT) {
        int rc = remake(st, is_test, what, err);
        if (rc != 0)
            return MIN(rc, 0);
    }
    st->is_table_remade = false;
    st->table_next_ms = now + ((int64_t)FIRST_PAUSE_MS << (st->table_fails - 1));
    log_warn("table.retry study=%" PRId64 " name=%s attempt=%d in_ms=%" PRId64 " err=\"%s\"",
             st->row.id, st->row.name, st->table_fails, st->table_next_ms - now, what);
    return 0;
}

void table_worked(struct study *st)
{
    st->table_fails = 0;
    st->table_next_ms = 0;
}

void table_tick(struct ctl *ctl)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        struct study *st = ctl->studies[i];

        if (st->table_next_ms && !study_waits_for_table(st)) {
            st->table_next_ms = 0;
            ctl->has_news = true;
        }
    }
}

int64_t table_due(const struct ctl *ctl)
{
    int64_t due = INT64_MAX;

    for (int i = 0; i < ctl->n_studies; i++) {
        if (ctl->studies[i]->table_next_ms)
            due = MIN(due, ctl->studies[i]->table_next_ms);
    }
    return due;
}
