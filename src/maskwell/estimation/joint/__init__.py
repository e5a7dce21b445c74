"""Several variables together: tables, conditional shares, odds ratios and tests of independence."""
