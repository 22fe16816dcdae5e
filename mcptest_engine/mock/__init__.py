"""The mock server: a manifest served over stdio or HTTP, with faults on request."""
