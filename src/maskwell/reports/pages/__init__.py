"""Files for people: pages for a browser, tables for a paper."""
