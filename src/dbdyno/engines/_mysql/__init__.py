"""The MySQL family's server, in which several storage engines live: connection, settings, target, private servers.

The engines themselves are the folders beside it (`innodb`, `myrocks`); each is its own questions, its knobs and its
formulas. They share this package and know nothing of each other. It has no `engine.py`: it is not an engine.
"""
