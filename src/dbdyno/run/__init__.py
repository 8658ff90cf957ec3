"""Plan to run: starts the driver and the sampler, writes the record."""
