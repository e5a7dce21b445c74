"""Results in words: each file turns the results of one idea into a :class:`~maskwell.reports.report.Report`."""
