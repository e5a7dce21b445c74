"""The command line, one file a command: parse, call the verb, print its report."""
