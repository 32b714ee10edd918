/* openapi.h - the description of this API. */
#ifndef WEB_API_OPENAPI_H
#define WEB_API_OPENAPI_H

#include "web/request/route.h"

/* An OpenAPI 3 document of all routes. */
json_t *openapi_new(const struct web_tables *all);

#endif
