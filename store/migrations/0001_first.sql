-- What one program counted. Every count stands under natural keys and is written as the run's whole total, so that
-- writing it twice changes nothing and tables of several writers can be added up. Times are microseconds since 1970.

PRAGMA application_id = 1936221286;

CREATE TABLE run (
    id        INTEGER NOT NULL PRIMARY KEY,
    name      TEXT    NOT NULL,
    started   INTEGER NOT NULL,
    candidate TEXT    NOT NULL,
    rules     TEXT    NOT NULL,
    counters  TEXT    NOT NULL
) STRICT;

-- One row a route; the route '' is all of them together. ordinal is the j of its whole requests, 0 before there is one.
CREATE TABLE route_tally (
    run              INTEGER NOT NULL,
    route            TEXT    NOT NULL,
    compared         INTEGER NOT NULL,
    failed           INTEGER NOT NULL,
    candidate_only   INTEGER NOT NULL,
    control_only     INTEGER NOT NULL,
    both_sides       INTEGER NOT NULL,
    ordinal          INTEGER NOT NULL,
    raw              INTEGER NOT NULL,
    noise            INTEGER NOT NULL,
    candidate_up     INTEGER NOT NULL,
    control_up       INTEGER NOT NULL,
    no_control       INTEGER NOT NULL,
    slower           INTEGER NOT NULL,
    faster           INTEGER NOT NULL,
    latency_ordinal  INTEGER NOT NULL,
    candidate_sketch BLOB    NOT NULL,
    secondary_sketch BLOB    NOT NULL,
    first_seen       INTEGER NOT NULL,
    last_seen        INTEGER NOT NULL,
    PRIMARY KEY (run, route)
) STRICT;

CREATE TABLE unknown_tally (
    run    INTEGER NOT NULL,
    route  TEXT    NOT NULL,
    reason TEXT    NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (run, route, reason)
) STRICT;

CREATE TABLE field_tally (
    run           INTEGER NOT NULL,
    route         TEXT    NOT NULL,
    field         TEXT    NOT NULL,
    raw           INTEGER NOT NULL,
    noise         INTEGER NOT NULL,
    trait_greater INTEGER NOT NULL,
    trait_less    INTEGER NOT NULL,
    first_seen    INTEGER NOT NULL,
    last_seen     INTEGER NOT NULL,
    PRIMARY KEY (run, route, field)
) STRICT;

-- Only tests that counted something. The ordinal is j, the place in the run's order of first discordant requests; 0
-- before there is one.
CREATE TABLE test_tally (
    run            INTEGER NOT NULL,
    route          TEXT    NOT NULL,
    field          TEXT    NOT NULL,
    test           TEXT    NOT NULL,
    candidate_only INTEGER NOT NULL,
    control_only   INTEGER NOT NULL,
    both_sides     INTEGER NOT NULL,
    ordinal        INTEGER NOT NULL,
    PRIMARY KEY (run, route, field, test)
) STRICT;

-- Confirmations are for good: a row is never changed. The pair of a route's latencies stands under the field
-- 'latency' and the test 'latency'.
CREATE TABLE confirmation (
    run      INTEGER NOT NULL,
    route    TEXT    NOT NULL,
    field    TEXT    NOT NULL,
    test     TEXT    NOT NULL,
    ordinal  INTEGER NOT NULL,
    time     INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    alpha    REAL    NOT NULL,
    PRIMARY KEY (run, route, field, test)
) STRICT;

-- Counts by minute, folded into hours after a day: begin is the minute's or the hour's first second since 1970, span
-- 60 or 3600. The field '' is the whole route, and the route '' all routes; a field has a row only for minutes in
-- which it differed.
CREATE TABLE series (
    run            INTEGER NOT NULL,
    route          TEXT    NOT NULL,
    field          TEXT    NOT NULL,
    span           INTEGER NOT NULL,
    begin          INTEGER NOT NULL,
    compared       INTEGER NOT NULL,
    unknown        INTEGER NOT NULL,
    failed         INTEGER NOT NULL,
    raw            INTEGER NOT NULL,
    noise          INTEGER NOT NULL,
    candidate_only INTEGER NOT NULL,
    control_only   INTEGER NOT NULL,
    both_sides     INTEGER NOT NULL,
    PRIMARY KEY (run, route, field, span, begin)
) STRICT;

CREATE INDEX series_begin ON series (span, begin);

-- Stored exchanges, redacted. head and bodies are zstd frames; sample.go says of what. The listing reads head alone.
CREATE TABLE sample (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    run        INTEGER NOT NULL,
    exchange   TEXT    NOT NULL,
    time       INTEGER NOT NULL,
    route      TEXT    NOT NULL,
    result     TEXT    NOT NULL,
    redactions INTEGER NOT NULL,
    head       BLOB    NOT NULL,
    bodies     BLOB    NOT NULL
) STRICT;

CREATE INDEX sample_time ON sample (time, id);

-- Which fields of a sample differ, and for which of them it holds a place in the reservoir of (run, route, field,
-- level): slot 1 among the first, 2 the most telling, 3 the latest, 0 none. The field '' is the route's own reservoir
-- of exchanges in which nothing differed.
CREATE TABLE sample_field (
    sample INTEGER NOT NULL,
    field  TEXT    NOT NULL,
    level  INTEGER NOT NULL,
    slot   INTEGER NOT NULL,
    score  INTEGER NOT NULL,
    PRIMARY KEY (sample, field)
) STRICT;

CREATE INDEX sample_field_field ON sample_field (field, sample);

CREATE TABLE setting (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE activity (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    time   INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    action TEXT    NOT NULL,
    detail TEXT    NOT NULL
) STRICT;
