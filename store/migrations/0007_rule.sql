-- Rules that were added through the API. text is YAML, an item of the list under rules: in a configuration. They hold in
-- the order of their ids, and an id is never given twice.
CREATE TABLE rule (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    text    TEXT    NOT NULL,
    created INTEGER NOT NULL,
    actor   TEXT    NOT NULL
) STRICT;
