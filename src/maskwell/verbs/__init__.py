"""One verb for each command: a table, a file or counts in, a result out. Joins what the rooms below offer."""
