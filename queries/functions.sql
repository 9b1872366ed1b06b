-- The natural logarithm of x. NULL: x is unknown, 0 or below.
CREATE MACRO safe_ln(x) AS ln(nullif(greatest(x, 0), 0));

-- The square root of x. NULL: x is unknown or below 0.
CREATE MACRO safe_sqrt(x) AS sqrt(CASE WHEN x >= 0 THEN x END);

-- x to the power y. NULL: x is unknown, 0 or below.
CREATE MACRO safe_pow(x, y) AS pow(nullif(greatest(x, 0), 0), y);

-- a divided by b, as a float. NULL: either is unknown, or b is 0.
CREATE MACRO ratio(a, b) AS a::DOUBLE / nullif(b, 0)::DOUBLE;

-- The most events that chance leaves likely behind a count n, z standard deviations away: Byar's bound on a Poisson count. NULL: n is unknown or below 0.
CREATE MACRO count_most(n, z) AS CASE WHEN n >= 0 THEN (n + 1) * pow(1 - 1 / (9.0 * (n + 1)) + z / (3 * safe_sqrt(n + 1)), 3) END;

-- The fewest events, in the same way; never below 0. NULL: n is unknown, 0 or below.
CREATE MACRO count_fewest(n, z) AS CASE WHEN n > 0 THEN n * pow(greatest(0, 1 - 1 / (9.0 * n) - z / (3 * safe_sqrt(n))), 3) END;
