"""A model that uses servers: the loop of its turns, what targets see of it, and the metrics of its choice of tools."""
