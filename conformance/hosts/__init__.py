"""The blocking twin where such programs really run: notebooks, web servers, forked workers."""
