"""The style sheets of the workbench."""
