SELECT generation, max(finished_at)::TIMESTAMP AS finished_at
FROM ops.run
WHERE published
GROUP BY generation
ORDER BY generation DESC
LIMIT 1
