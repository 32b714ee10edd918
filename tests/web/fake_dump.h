/* fake_dump.h - the rest of fake_ctl.h, which includes it: rows of studies as they are stored. */
#ifndef TESTS_WEB_FAKE_DUMP_H
#define TESTS_WEB_FAKE_DUMP_H

int ctl_study_dump(struct ctl *ctl, const char *ref, int64_t after, int limit, json_t **out,
                   struct err *err)
{
    SAY(ctl, "study_dump %s %d %d", ref, (int)after, limit);
    if (fake_fails(ref, err) < 0)
        return -1;
    *out = json_pack("{s:{s:i}, s:[], s:n, s:n}", "study", "id", 1, "trials", "next", "error");
    return 0;
}

#endif
