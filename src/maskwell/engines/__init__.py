"""Where rows live: adapters for tables and columns of other libraries, loaded on first use."""
