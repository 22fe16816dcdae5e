"""Values everything speaks in: errors, results, events, targets, redaction."""
