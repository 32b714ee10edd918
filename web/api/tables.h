/* tables.h - all routes of the API and of the page, in the order in which they are tried and
 * described. */
#ifndef WEB_API_TABLES_H
#define WEB_API_TABLES_H

#include "web/request/route.h"

extern const struct web_tables web_tables;

#endif
