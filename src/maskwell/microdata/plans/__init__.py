"""Plans of a release: what is asked for, as values and as a TOML file."""
