/* handlers.h - what each file of handlers offers: its table of routes. Defined in the file of the
 * same name. */
#ifndef WEB_API_HANDLERS_H
#define WEB_API_HANDLERS_H

#include "web/request/route.h"

extern const struct web_table web_study_table, web_trial_table, web_ask_table, web_data_table,
    web_runner_table, web_events_table, web_auth_table, web_service_table, web_debug_table,
    web_page_table, web_model_table;

#endif
