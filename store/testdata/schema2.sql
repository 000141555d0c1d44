-- What schema 2 held: something in each of its tables, of two runs under one name.
INSERT INTO run (id, name, started, candidate, rules, counters) VALUES
    (1, 'v2', 1748860000000000, 'http://candidate:1', 'drop body.at', '{"requests": 50}'),
    (2, 'v2', 1748865600000000, 'http://candidate:1', 'drop body.generated_at', '{"requests": 40, "skipped": {"method": 7}}');
INSERT INTO route_tally (run, route, compared, failed, candidate_only, control_only, both_sides, ordinal, raw, noise, candidate_up,
    control_up, no_control, slower, faster, latency_ordinal, candidate_sketch, secondary_sketch, first_seen, last_seen, given) VALUES
    (1, '', 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, X'0100AE0609', X'0100A50609', 1748860000000000, 1748860009000000, 0),
    (1, 'GET /a', 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, X'0100AE0609', X'0100A50609', 1748860000000000, 1748860009000000, 0),
    (2, '', 30, 1, 20, 2, 3, 0, 23, 5, 20, 2, 4, 30, 0, 1, X'0100AE061E', X'0100A5061E', 1748865601000000, 1748865630000000, 0),
    (2, 'GET /a', 30, 1, 20, 2, 3, 3, 23, 5, 20, 2, 4, 30, 0, 2, X'0100AE061E', X'0100A5061E', 1748865601000000, 1748865630000000, 1);
INSERT INTO unknown_tally (run, route, reason, count) VALUES (2, '', 'stale', 6), (2, 'GET /a', 'stale', 6);
INSERT INTO field_tally (run, route, field, raw, noise, trait_greater, trait_less, first_seen, last_seen) VALUES
    (2, 'GET /a', 'body.price', 22, 4, 8, 9, 1748865601000000, 1748865630000000);
INSERT INTO test_tally (run, route, field, test, candidate_only, control_only, both_sides, ordinal) VALUES
    (2, 'GET /a', 'body.price', 'value', 20, 2, 2, 4), (2, 'GET /a', 'body.price', 'type', 11, 0, 1, 5);
INSERT INTO confirmation (run, route, field, test, ordinal, time, requests, alpha) VALUES
    (2, 'GET /a', 'body.price', 'value', 4, 1748865620000000, 21, 0.05), (2, 'GET /a', 'latency', 'latency', 2, 1748865625000000, 26, 0.05);
INSERT INTO series (run, route, field, span, begin, compared, unknown, failed, raw, noise, candidate_only, control_only, both_sides) VALUES
    (1, '', '', 3600, 1748858400, 9, 0, 0, 0, 0, 0, 0, 0),
    (1, 'GET /a', '', 3600, 1748858400, 9, 0, 0, 0, 0, 0, 0, 0),
    (2, '', '', 3600, 1748862000, 12, 2, 1, 10, 3, 9, 1, 1),
    (2, 'GET /a', '', 3600, 1748862000, 12, 2, 1, 10, 3, 9, 1, 1),
    (2, 'GET /a', 'body.price', 3600, 1748862000, 0, 0, 0, 9, 2, 8, 1, 1),
    (2, '', '', 60, 1748865600, 18, 4, 0, 13, 2, 11, 1, 2),
    (2, 'GET /a', '', 60, 1748865600, 18, 4, 0, 13, 2, 11, 1, 2),
    (2, 'GET /a', 'body.price', 60, 1748865600, 0, 0, 0, 13, 2, 12, 1, 1),
    (2, 'GET /a', 'body.size', 60, 1748865600, 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO sample (id, run, exchange, time, route, result, redactions, head, bodies) VALUES
    (41, 2, '0123', 1748865602000000, 'GET /a', 'candidate_only', 5, X'01', X'0203');
INSERT INTO sample_field (sample, field, level, slot, score) VALUES (41, 'body.price', 1, 1, 2999);
INSERT INTO setting (key, value) VALUES ('sample', '5%');
INSERT INTO activity (id, time, actor, action, detail) VALUES (17, 1748865610000000, 'api', 'shadowing', 'switched off');
INSERT INTO route_fold (place, kept) VALUES ('/products', '["featured"]');
