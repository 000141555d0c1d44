-- Runs are named, told apart by the candidate's version, kept and ended.

-- ended is 0 for the run in force. version is what the candidate tells of itself. begun_by is who or what began the run.
-- attempt says how many times its name was tried. rule_text is the rules as YAML, for people; summary is what it was last
-- judged to be, as JSON, and the judging that was so. Of runs that are older than these columns they are empty.
ALTER TABLE run ADD COLUMN ended     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN version   TEXT    NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN notes     TEXT    NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN begun_by  TEXT    NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN attempt   INTEGER NOT NULL DEFAULT 1;
ALTER TABLE run ADD COLUMN rule_text TEXT    NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN summary   TEXT    NOT NULL DEFAULT '';

UPDATE run SET ended = coalesce(
    (SELECT following.started FROM run AS following WHERE following.id > run.id ORDER BY following.id LIMIT 1), 0);

-- Every name that a run has or had, and which attempt at that name it is. No row is ever removed, so that to give a run
-- another name does not make the attempts at the former one fewer.
CREATE TABLE run_name (
    name    TEXT    NOT NULL,
    run     INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (name, run)
) STRICT;

INSERT INTO run_name (name, run, attempt)
    SELECT name, id, row_number() OVER (PARTITION BY name ORDER BY id) FROM run;

UPDATE run SET attempt =
    (SELECT run_name.attempt FROM run_name WHERE run_name.run = run.id AND run_name.name = run.name);
