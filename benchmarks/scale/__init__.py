"""How far the coordinator and the planner go, and how their costs grow."""
