"""The shapes that applications give their servers, as tables, and the reader of one entry."""
