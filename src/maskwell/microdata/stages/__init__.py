"""From a plan and the counts of a file to the randomizations that carry it out."""
