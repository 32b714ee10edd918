/* debug.c - debug commands: clock, fault, state, digest, replay. They can destroy data, so they
 * exist only with --dev, and only for administrators. The controller does what they say. */
#include "web/api/handlers.h"

#include "base/str.h"

static int debug(struct web_req *r, struct err *err)
{
    json_t *none = NULL, *out = NULL;
    int rc = 0;

    if (!str_name_ok(r->vars[0]))
        return err_set(err, ERR_NOTFOUND, "there is no such debug command");
    if (!r->json)
        none = json_object();
    rc = ctl_debug(r->ctl, r->vars[0], r->json ? r->json : none, &out, err);
    json_decref(none);
    return rc < 0 ? -1 : web_json(r, 200, out);
}

static const struct web_route routes[] = {
    { WEB_POST, "/api/v1/debug/{verb}", debug, WEB_ADMINS, WEB_WRITE | WEB_JSON_MAY | WEB_DEV, NULL,
      "Debug commands of a controller started with --dev", "Any", "Any" },
};
const struct web_table web_debug_table = { routes, ARRAY_LEN(routes) };
