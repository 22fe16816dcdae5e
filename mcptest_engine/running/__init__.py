"""From a suite to a run record: the plan, the runner, watch."""
