"""ProxySQL, which stands in front of servers of the MySQL family: checked only, through its admin interface."""
