/* tables.c - the list of all tables of routes (tables.h). A new file of handlers declares its table
 * in handlers.h and adds it here. */
#include "web/api/tables.h"

#include "web/api/handlers.h"

static const struct web_table *const tables[] = {
    &web_study_table,  &web_trial_table,  &web_ask_table,   &web_data_table,
    &web_runner_table, &web_events_table, &web_auth_table,  &web_service_table,
    &web_debug_table,  &web_page_table,   &web_model_table,
};
const struct web_tables web_tables = { tables, ARRAY_LEN(tables) };
