"""The child of a user interface that writes suites too: the worker of `running` with the commands of authoring."""
