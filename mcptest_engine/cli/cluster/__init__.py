"""`mcptest run --executor dask`: run a large suite on a Dask cluster, in shards whose records are merged."""
