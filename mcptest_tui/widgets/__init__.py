"""Widgets take plain data and post Messages; none knows another."""
