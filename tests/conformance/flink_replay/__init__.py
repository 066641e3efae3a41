"""Replays what Flink's own classes answered against lockgate's."""
