-- Counts over time: by minute, folded into hours after a day and into days after two weeks. begin is the first second
-- of the minute, hour or day since 1970, span its length: 60, 3600 or 86400. Rows stand in the order of time, so that
-- a minute is written, folded and removed in one place. A clause WITHOUT ROWID says no more than that: it may be left
-- out.

-- What a number in the series stands for: a route, where field and test are '', or one test of one of its fields. first
-- and last are bounds of the time in which it counted: first of the earliest row's begin, last after the latest one's.
CREATE TABLE series_name (
    id    INTEGER NOT NULL PRIMARY KEY,
    run   INTEGER NOT NULL,
    route TEXT    NOT NULL,
    field TEXT    NOT NULL,
    test  TEXT    NOT NULL,
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    UNIQUE (run, route, field, test)
) STRICT;

CREATE INDEX series_name_field ON series_name (run, field, test);

-- All routes of a run together. There is a row wherever one of the other two tables has any of the run.
CREATE TABLE run_series (
    run            INTEGER NOT NULL,
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
    PRIMARY KEY (run, span, begin)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_series_begin ON run_series (span, begin);

CREATE TABLE route_series (
    span           INTEGER NOT NULL,
    begin          INTEGER NOT NULL,
    name           INTEGER NOT NULL,
    compared       INTEGER NOT NULL,
    unknown        INTEGER NOT NULL,
    failed         INTEGER NOT NULL,
    raw            INTEGER NOT NULL,
    noise          INTEGER NOT NULL,
    candidate_only INTEGER NOT NULL,
    control_only   INTEGER NOT NULL,
    both_sides     INTEGER NOT NULL,
    PRIMARY KEY (span, begin, name)
) STRICT, WITHOUT ROWID;

-- Only tests that counted something.
CREATE TABLE field_series (
    span           INTEGER NOT NULL,
    begin          INTEGER NOT NULL,
    name           INTEGER NOT NULL,
    candidate_only INTEGER NOT NULL,
    control_only   INTEGER NOT NULL,
    both_sides     INTEGER NOT NULL,
    PRIMARY KEY (span, begin, name)
) STRICT, WITHOUT ROWID;

-- The way from a name to its moments. A row is entered when it is first written, not at each change of its counts.
CREATE INDEX field_series_name ON field_series (name, span, begin);

-- What was counted before knew of no tests: a field's counts were those of its values.
INSERT INTO series_name (run, route, field, test, first, last)
SELECT run, route, field, CASE field WHEN '' THEN '' ELSE 'value' END, min(begin), max(begin) + 86400
FROM series WHERE route <> '' GROUP BY run, route, field;

INSERT INTO run_series (run, span, begin, compared, unknown, failed, raw, noise, candidate_only, control_only, both_sides)
SELECT run, span, begin, compared, unknown, failed, raw, noise, candidate_only, control_only, both_sides
FROM series WHERE route = '' AND field = '';

INSERT INTO route_series (span, begin, name, compared, unknown, failed, raw, noise, candidate_only, control_only, both_sides)
SELECT s.span, s.begin, n.id, s.compared, s.unknown, s.failed, s.raw, s.noise, s.candidate_only, s.control_only, s.both_sides
FROM series s JOIN series_name n ON n.run = s.run AND n.route = s.route AND n.field = '' AND n.test = ''
WHERE s.route <> '' AND s.field = '';

INSERT INTO field_series (span, begin, name, candidate_only, control_only, both_sides)
SELECT s.span, s.begin, n.id, s.candidate_only, s.control_only, s.both_sides
FROM series s JOIN series_name n ON n.run = s.run AND n.route = s.route AND n.field = s.field AND n.test = 'value'
WHERE s.route <> '' AND s.field <> '' AND s.candidate_only + s.control_only + s.both_sides > 0;

DROP TABLE series;
