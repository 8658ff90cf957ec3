-- name: data
-- title: Pages found and pages written
-- version_min: 0
-- privilege:
-- cost: cheap: SHOW GLOBAL STATUS, well below a millisecond on a small server, a few with thousands of connections
-- columns:
--   hits: counter role:cache_hits - pages found in the buffer pool
--   written_bytes: counter [B] role:data_write_bytes - pages written from the buffer pool, each once (the double write is not in it)
SELECT GREATEST(0, MAX(CASE WHEN variable_name = 'Innodb_buffer_pool_read_requests' THEN variable_value + 0 END)
         - MAX(CASE WHEN variable_name = 'Innodb_buffer_pool_reads' THEN variable_value + 0 END)) AS hits,
       MAX(CASE WHEN variable_name = 'Innodb_buffer_pool_pages_flushed' THEN variable_value + 0 END)
         * @@innodb_page_size AS written_bytes
FROM information_schema.global_status
WHERE variable_name IN (
    'Innodb_buffer_pool_read_requests', 'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_pages_flushed')
