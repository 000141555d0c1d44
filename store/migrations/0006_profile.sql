-- Values, shapes and numbers of the fields that differ, and the attributes of the requests: totals of the run, each in a
-- form of its own whose first byte says which; diff.FieldProfile and diff.RouteAttributes read and write them. They are
-- written at leisure, so they may be a little behind the tallies.
CREATE TABLE profile (
    run   INTEGER NOT NULL,
    route TEXT    NOT NULL,
    field TEXT    NOT NULL,
    blob  BLOB    NOT NULL,
    PRIMARY KEY (run, route, field)
) STRICT;

CREATE TABLE attribute (
    run   INTEGER NOT NULL,
    route TEXT    NOT NULL,
    blob  BLOB    NOT NULL,
    PRIMARY KEY (run, route)
) STRICT;
