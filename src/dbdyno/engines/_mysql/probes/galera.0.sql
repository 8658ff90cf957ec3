-- name: galera
-- title: Galera cluster; not answered where the server has no wsrep
-- version_min: 0
-- shape: pivot
-- privilege:
-- cost: cheap: SHOW GLOBAL STATUS, well below a millisecond on a small server, a few with thousands of connections
-- optional: yes
-- every_s: 5
-- columns:
--   wsrep_cluster_size: gauge - nodes of the cluster that this one sees; 0 when there is no cluster
--   wsrep_connected: gauge - 1 when connected to the cluster
--   wsrep_ready: gauge - 1 when it takes statements
--   wsrep_local_state: gauge - 4 is synced
--   wsrep_local_recv_queue: gauge - write sets that wait to be applied
--   wsrep_local_send_queue: gauge - write sets that wait to be sent
--   wsrep_flow_control_paused_ns: counter - nanoseconds in which replication was paused because a node was behind
--   wsrep_flow_control_sent: counter - pauses that this node asked for
--   wsrep_flow_control_recv: counter - pauses seen
--   wsrep_local_cert_failures: counter - transactions refused by certification
--   wsrep_local_bf_aborts: counter - transactions rolled back for one of another node
--   wsrep_replicated_bytes: counter [B] - bytes sent as write sets
--   wsrep_received_bytes: counter [B] - bytes received as write sets
SHOW GLOBAL STATUS WHERE Variable_name IN (
    'wsrep_cluster_size',
    'wsrep_connected',
    'wsrep_ready',
    'wsrep_local_state',
    'wsrep_local_recv_queue',
    'wsrep_local_send_queue',
    'wsrep_flow_control_paused_ns',
    'wsrep_flow_control_sent',
    'wsrep_flow_control_recv',
    'wsrep_local_cert_failures',
    'wsrep_local_bf_aborts',
    'wsrep_replicated_bytes',
    'wsrep_received_bytes')
