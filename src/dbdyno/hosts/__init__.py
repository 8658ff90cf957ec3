"""What the machine is: one probe a file, reading and parsing apart."""
