"""RestBench offline: its data, corrected gold paths, simulated services and the checks that judge an episode."""
