-- 005_no_search_state.sql - the searchers of a study are no longer stored as bytes: a start makes their calls again from
-- the rows and the journal, which takes 20 to 50 microseconds a trial.

DROP TABLE search_state;
