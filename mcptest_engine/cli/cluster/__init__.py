"""`mcptest run --executor dask`: a large suite on the workers of a Dask cluster, as shards whose records become one."""
