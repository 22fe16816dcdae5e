"""Safety of tools: which may be called, the security scan, the quality of descriptions, and changes of catalogs."""
