"""dyno: a dynamometer for databases."""

import os

__version__ = "0.1.0"

# Small matrices gain nothing from threads, and a library's threads that wait by spinning take the cores of the server
# under test. It must be said before numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
