"""The most likely shares: the search for them and the certificate of how far it can be from the maximum."""
