/* fake_page.h - the part of fake_ctl.h that answers what the page asks of one study. Included by that file alone. */
#ifndef TESTS_WEB_FAKE_PAGE_H
#define TESTS_WEB_FAKE_PAGE_H

int ctl_study_preview_beside(struct ctl *ctl, int64_t by, const json_t *spec,
                             void (*on_done)(void *arg, json_t *out_new, const struct err *err),
                             void *arg, struct err *err)
{
    json_t *out = NULL;

    (void)by;
    if (ctl_study_preview(ctl, spec, &out, err) < 0)
        return -1;
    on_done(arg, out, NULL);
    return 0;
}
int ctl_studies_of(struct ctl *ctl, const char *ids, json_t **out, struct err *err)
{
    (void)err;
    SAY(ctl, "studies_of %s", ids);
    *out = json_pack("{s:[o], s:n}", "studies", fake_study("adult"), "next");
    return 0;
}
int ctl_study_page(struct ctl *ctl, const char *ref, int limit, struct buf *out, struct err *err)
{
    SAY(ctl, "page %s %d", ref, limit);
    return fake_fails(ref, err) < 0
               ? -1
               : buf_addf(out, err,
                          "{\"seq\":7,\"study\":{\"id\":1,\"name\":\"%s\",\"state\":"
                          "\"running\"},\"rows\":[]}",
                          ref);
}
int ctl_study_changes(struct ctl *ctl, const char *ref, int64_t after, int limit, struct buf *out,
                      struct err *err)
{
    SAY(ctl, "changes %s %d %d", ref, (int)after, limit);
    return fake_fails(ref, err) < 0
               ? -1
               : buf_adds(out,
                          "{\"seq\":7,\"more\":false,\"reset\":false,\"kept\":[],\"study\":"
                          "{\"id\":1,\"name\":\"a\",\"state\":\"running\"},\"rows\":[]}",
                          err);
}
int ctl_study_columns(struct ctl *ctl, const char *ref, int64_t after, int limit, bool with_config,
                      struct buf *out, struct err *err)
{
    SAY(ctl, "columns %s %d %d %d", ref, (int)after, limit, with_config);
    return fake_fails(ref, err) < 0 ? -1 : buf_adds(out, "{}", err);
}
int ctl_study_rows(struct ctl *ctl, const char *ref, const struct ctl_rows *want, struct buf *out,
                   struct err *err)
{
    SAY(ctl, "rows %s %s %s %s %d %d", ref, want->numbers ? want->numbers : "-",
        want->state ? want->state : "-", want->sort ? want->sort : "-", (int)want->after,
        want->limit);
    return fake_fails(ref, err) < 0 ? -1
                                    : buf_adds(out, "{\"seq\":7,\"rows\":[],\"next\":null}", err);
}

#endif
