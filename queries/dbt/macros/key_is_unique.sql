{# The columns identify a row: no two rows have the same values in all of them. #}
{% test key_is_unique(model, columns) %}
SELECT {{ columns | join(', ') }}, count(*) AS n
FROM {{ model }} AS t
GROUP BY {{ columns | join(', ') }}
HAVING count(*) > 1
{% endtest %}
