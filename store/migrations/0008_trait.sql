-- How often the secondary went from greater than the primary to less, or back, and which it was last. What was counted
-- before turned as often as independent requests do, as far as anybody knows.
ALTER TABLE field_tally ADD COLUMN trait_turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE field_tally ADD COLUMN trait_last INTEGER NOT NULL DEFAULT 0;
UPDATE field_tally SET trait_turns = CAST(2.0 * trait_greater * trait_less / (trait_greater + trait_less) AS INTEGER)
    WHERE trait_greater + trait_less > 0;
