"""One package per published table: config, data, run, scoring, report; and the `toolkit` command."""
