-- The tables of the fixture: every type, NULLs, extremes.  Made in PostgreSQL, read from there into Parquet.

CREATE TABLE people (
    id int4, name text, age int4, height float8, salary numeric(10,2), born date, active bool, boss int4
);
INSERT INTO people VALUES
    (1, 'Ada', 36, 1.65, 5200.50, '1815-12-10', true, NULL),
    (2, 'Grace', 85, 1.70, 7100.00, '1906-12-09', false, 1),
    (3, 'Edsger', 72, 1.83, NULL, '1930-05-11', true, 1),
    (4, 'Barbara', NULL, 1.60, 4300.25, '1939-11-07', NULL, 2),
    (5, 'Alan', 41, NULL, 3900.75, '1912-06-23', false, 2),
    (6, 'alan', 41, 1.78, 0.00, NULL, true, 3),
    (7, NULL, 0, 'NaN', -12.34, '2000-02-29', true, 3),
    (8, 'Éva', 29, 1.65, 5200.50, '1995-01-01', true, 1);

CREATE TABLE orders (
    id int8, person int4, placed timestamp, total numeric, note varchar(20), paid timestamptz, tags text[]
);
INSERT INTO orders VALUES
    (10, 1, '2024-01-01 10:00:00', 100.5, 'first', '2024-01-02 00:00:00+00', '{a,b}'),
    (11, 1, '2024-01-15 12:30:00.25', 20, 'second', NULL, '{}'),
    (12, 2, '2024-02-01 00:00:00', 3.14159, NULL, '2024-02-01 05:00:00+05', '{b,NULL}'),
    (13, 3, '2024-02-29 23:59:59.999999', -7, 'refund', '2024-03-01 00:00:00+00', NULL),
    (14, 3, NULL, NULL, '', NULL, '{"x y",""}'),
    (15, 99, '2023-12-31 00:00:00', 1e20, 'nobody', '2024-01-01 00:00:00-08', '{z}'),
    (16, NULL, '2024-03-10 08:00:00', 0.1, 'lost', NULL, '{a}'),
    (17, 5, '2024-03-10 08:00:00', 0.10, 'tie', NULL, '{a}');

CREATE TABLE numbers (id int4, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, n numeric, n2 numeric(12,2));
INSERT INTO numbers VALUES
    (1, 0, 0, 0, 0, 0, 0, 0),
    (2, 1, 1, 1, 1.5, 1.5, 1.5, 1.50),
    (3, -1, -1, -1, -1.5, -1.5, -1.5, -1.50),
    (4, 32767, 2147483647, 9223372036854775807, 3.4e38, 1.7e308, 12345678901234567890.123456789, 9999999999.99),
    (5, -32768, -2147483648, -9223372036854775808, -3.4e38, -1.7e308, -12345678901234567890.123456789, -9999999999.99),
    (6, 7, 10, 100, 0.1, 0.1, 0.1, 0.10),
    (7, 2, 3, 4, 'NaN', 'NaN', 'NaN', 2.25),
    (8, 3, 5, 7, 'Infinity', 'Infinity', 100, 100.00),
    (9, 4, 6, 8, '-Infinity', '-Infinity', 0.000001, 0.01),
    (10, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (11, 5, 25, 125, 2.5, 2.5, 2.5, 2.50),
    (12, 5, 25, 125, 1e-10, 1e-10, 1000000, 1000.00);

CREATE TABLE moments (id int4, d date, t time, ts timestamp, tz timestamptz, iv interval);
INSERT INTO moments VALUES
    (1, '2024-02-29', '12:34:56.789', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789+00', '1 year 2 mons 3 days 04:05:06.7'),
    (2, '1970-01-01', '00:00:00', '1970-01-01 00:00:00', '1970-01-01 00:00:00+00', '00:00:00'),
    (3, '1999-12-31', '23:59:59.999999', '1999-12-31 23:59:59.999999', '1999-12-31 23:59:59.999999+00', '-1 days'),
    (4, '2024-12-30', '06:00:00', '2024-12-30 06:00:00', '2024-12-30 06:00:00+09', '30 days'),
    (5, '0001-01-01', '00:00:00.000001', '0001-01-01 00:00:00', '0001-01-01 00:00:00+00', '1 mon'),
    (6, '9999-12-31', '24:00:00', '9999-12-31 23:59:59', '9999-12-31 23:59:59+00', '-1 mons +15 days -00:00:00.5'),
    (7, NULL, NULL, NULL, NULL, NULL),
    (8, '2023-03-26', '01:30:00', '2023-03-26 01:30:00', '2023-03-26 01:30:00+00', '36:00:00'),
    (9, '1582-10-10', '10:00:00', '1582-10-10 10:00:00', '1582-10-10 10:00:00+00', '100 years');

CREATE TABLE texts (id int4, s text, v varchar(10), c char(5), b bytea, u uuid);
INSERT INTO texts VALUES
    (1, 'hello', 'hello', 'abc', '\xdeadbeef', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'),
    (2, 'Hello World', 'World', 'abc  ', '\x', '00000000-0000-0000-0000-000000000000'),
    (3, '', '', '', '\x00', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
    (4, ' padded ', ' x ', 'a b', '\x616263', NULL),
    (5, NULL, NULL, NULL, NULL, NULL),
    (6, 'naïve café', 'ü', 'é', '\xc3a9', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'),
    (7, 'a_b%c\d', 'a%', 'A', '\x5c', NULL),
    (8, 'line1
line2', '日本語', 'z', '\x0a', NULL),
    (9, 'it''s "quoted"', '😀', '{},"', '\xff', NULL),
    (10, '42', '-1', '7', '\x3432', NULL);

CREATE TABLE documents (id int4, j jsonb, a int4[], ta text[], na numeric[]);
INSERT INTO documents VALUES
    (1, '{"a": 1, "b": {"c": [1, 2, 3]}, "s": "text"}', '{1,2,3}', '{x,y}', '{1.5,2}'),
    (2, '[1, "two", null, true, {"k": "v"}]', '{}', '{}', '{}'),
    (3, '"scalar"', '{NULL,1}', '{NULL,"a b","q\"q"}', '{NULL}'),
    (4, 'null', NULL, NULL, NULL),
    (5, NULL, '{5}', '{z}', '{0}'),
    (6, '{"a": null, "n": 1.5, "big": 12345678901234567890}', '{3,1,2}', '{b,a}', '{-1.25}'),
    (7, '12.5', '{1,1,2}', '{"",NULL}', '{1}'),
    (8, '{}', '{2147483647}', '{"{}"}', '{1}');

CREATE TABLE pairs (x int4, y int4);
INSERT INTO pairs VALUES (1, 1), (1, 2), (2, 2), (2, NULL), (NULL, 3), (NULL, NULL), (3, 3), (3, 3), (4, 0);

CREATE TABLE nothing (x int4, s text);

-- Values that are equal and not the same, or greater than a file's statistics say; `_apart` have a file for each row.
CREATE TABLE nans (nr int4, x float8, y float4);
INSERT INTO nans VALUES (1, 1, 1), (2, 2, 2), (3, 'NaN', 'NaN');

CREATE TABLE floats (nr int4, x float8, y float4);
INSERT INTO floats VALUES
    (1, 1, 1), (2, 'NaN', 'NaN'), (3, '-0', '-0'), (4, 0, 0), (5, 'Infinity', 'Infinity'),
    (6, '-Infinity', '-Infinity'), (7, 1e-300, 1e-30), (8, NULL, NULL), (9, 'NaN', 'NaN');
CREATE TABLE floats_apart AS TABLE floats;

CREATE TABLE lengths (nr int4, x interval);
INSERT INTO lengths VALUES
    (1, '1 day'), (2, '24:00:00'), (3, '1 mon'), (4, '30 days'), (5, '720:00:00'), (6, '-1 day'), (7, '-24:00:00'),
    (8, '1 year'), (9, '360 days'), (10, '0'), (11, NULL);

CREATE TABLE arrays_apart (nr int4, a int4[], f float8[], i interval[], t text[]);
INSERT INTO arrays_apart VALUES
    (1, '{NULL}', '{NaN}', '{1 day}', '{NULL}'), (2, '{}', '{0}', '{24:00:00}', '{}'), (3, '{1,NULL}', '{-0}', '{NULL}', '{a}'),
    (4, '{NULL,NULL}', '{NULL}', '{}', NULL), (5, NULL, NULL, NULL, '{a,NULL}'), (6, '{1,2}', '{NaN,1}', '{1 day}', '{b}');

CREATE TABLE extremes (nr int4, i2 int2, i4 int4, i8 int8);
INSERT INTO extremes VALUES
    (1, 32767, 2147483647, 9223372036854775807), (2, -32768, -2147483648, -9223372036854775808), (3, 0, 0, 0),
    (4, 1, 1, 1), (5, -1, -1, -1), (6, NULL, NULL, NULL);

CREATE TABLE far (id int4, d date, ts timestamp, tz timestamptz);
INSERT INTO far VALUES
    (1, 'infinity', 'infinity', 'infinity'),
    (2, '-infinity', '-infinity', '-infinity'),
    (3, '2024-01-01', '2024-01-01 10:00:00', '2024-01-01 00:00:00+00'),
    (4, '4713-01-01 BC', '294246-12-31 23:59:59.999999', '4713-01-01 00:00:00+00 BC'),
    (5, '5874897-12-31', 'infinity', '294246-12-31 23:59:59.999999+00'),
    (6, NULL, NULL, 'infinity');

CREATE TABLE huge (id int4, n numeric, j jsonb);
INSERT INTO huge VALUES
    (1, 1e39, '1e400'),
    (2, -1e50, '{"a": -1e39, "b": [1e-20]}'),
    (3, 12345678901234567890123456789012345678901234567890.123456789, '123456789012345678901234567890123456789012345'),
    (4, 1e1000, '1e400'),
    (5, 'NaN', '0.1'),
    (6, 7, '-1e400'),
    (7, 1e39, NULL);

CREATE TABLE nan_money (id int4, g int4, n numeric(10,2), m numeric(12,4));
INSERT INTO nan_money VALUES
    (1, 1, 'NaN', 'NaN'), (2, 1, 1.5, 1.5), (3, 2, -7.25, 'NaN'), (4, 2, NULL, 0), (5, 3, 'NaN', 1), (6, 3, 'NaN', NULL),
    (7, 2, 1.5, -7.25);

-- Arrays of any shape; some are equal, some only have the same elements.
CREATE TABLE shapes (nr int4, a int4[], t text[], d date[]);
INSERT INTO shapes VALUES
    (1, '{{1,2},{3,4}}', '{{a,"b c"},{NULL,d}}', '{{2020-01-01},{infinity}}'),
    (2, '{{5,6},{7,8}}', '{{a,"b c"},{NULL,d}}', '[0:0]={1999-12-31}'),
    (3, '{1,2,3,4}', '{a,"b c",NULL,d}', '{}'),
    (4, '[0:1]={1,2}', '[0:1]={a,b}', '[0:0]={1999-12-31}'),
    (5, '[0:1]={1,2}', '{a,b}', '{1999-12-31}'),
    (6, '{1,2}', '[-1:0]={a,b}', NULL),
    (7, '{{1,2}}', '{{a},{b}}', NULL),
    (8, '{{1},{2}}', '{{a,b}}', '{{2020-01-01},{infinity}}'),
    (9, '[1:2][0:0]={{1},{2}}', '{}', '{}'),
    (10, '{{{1,NULL}}}', '{NULL}', '{NULL}'),
    (11, '{1,NULL}', '{9}', NULL),
    (12, '{}', '{}', '{}'),
    (13, NULL, NULL, NULL);
