"""The central types. They import only each other, do no input or output, and are frozen and serialisable."""
