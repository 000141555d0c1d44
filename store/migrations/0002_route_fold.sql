-- Route names that are learnt: which places of the paths count as one route, and what keeps its own name there. All rows
-- are one list that is replaced as a whole.
CREATE TABLE route_fold (
    place TEXT NOT NULL PRIMARY KEY, -- the path up to it
    kept  TEXT NOT NULL              -- a JSON list of segments
) STRICT;

-- 1 for a route whose name the configuration or a header gave, so that it is never merged into another. Of routes counted
-- before this it is not known; those that are still asked for are marked when they are.
ALTER TABLE route_tally ADD COLUMN given INTEGER NOT NULL DEFAULT 0;
