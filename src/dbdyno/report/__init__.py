"""Records to HTML and text: pure functions of run and study folders."""
