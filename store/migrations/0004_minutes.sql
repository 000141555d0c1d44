-- In how many minutes a test leaned to the one side and to the other, and how the minute that is still open leans: so
-- many more on the candidate's side, since 1970 it is minute open_minute. The transport of all routes together stands in
-- test_tally under the route ''.
ALTER TABLE test_tally ADD COLUMN minutes_candidate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE test_tally ADD COLUMN minutes_control INTEGER NOT NULL DEFAULT 0;
ALTER TABLE test_tally ADD COLUMN open_minute INTEGER NOT NULL DEFAULT 0;
ALTER TABLE test_tally ADD COLUMN lean INTEGER NOT NULL DEFAULT 0;

-- The same of whole requests and of the pairs of latencies; pairs in which one shadow alone answers with an error; and
-- the course of the noise, in JSON.
ALTER TABLE route_tally ADD COLUMN minutes_candidate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN minutes_control INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN open_minute INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN lean INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN latency_minutes_candidate INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN latency_minutes_control INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN latency_open_minute INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN latency_lean INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN candidate_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN control_errors INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_tally ADD COLUMN course TEXT NOT NULL DEFAULT '{}';
