"""From a record to its findings: stalls, phases, and the causes that diagnoses name."""
