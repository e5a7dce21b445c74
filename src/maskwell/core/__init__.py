"""Values that every room shares: categories, reports, counts, exact numbers and random words."""
