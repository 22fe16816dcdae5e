"""Models that are asked: one provider a module, each behind its official SDK, which is imported when it is called."""
