"""What the workbench looks like, and the style sheet that says so."""
