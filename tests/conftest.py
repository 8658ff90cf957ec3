"""Common to all tests."""

# First of all, because it limits the threads of numpy, which must be done before numpy is loaded.
import dbdyno  # noqa: F401
