"""What a release is published as: the folder, its receipts, codebook and metadata, and what must not be in it."""
