"""What a release does with rows: recodes them, follows their unchanged columns, and draws the released ones."""
